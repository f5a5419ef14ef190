package rest

import (
	"encoding/json"
	"net/http"
	"strings"

	"seen/internal/resp"
)

// must runs a command. If it fails, it answers the request and returns false.
func (r *request) must(args ...string) (resp.Value, bool) {
	words := make([][]byte, len(args))
	for i, a := range args {
		words[i] = []byte(a)
	}
	v, err := r.Ask(words...)
	if err == nil && v.Kind == resp.Error {
		r.failWith(v)
		return v, false
	}
	if err != nil {
		r.fail(http.StatusInternalServerError, err.Error())
		return v, false
	}
	return v, true
}

// failWith answers with the error of a command.
func (r *request) failWith(v resp.Value) {
	status, text := Status(v.Text)
	r.fail(status, text)
}

// failure is the body of an answer that reports an error.
type failure struct {
	Error string `json:"error"`
	Done  *int   `json:"done,omitempty"` // keys that were processed before the error
}

func (r *request) fail(status int, text string) { r.reply(status, failure{Error: text}) }

func (r *request) reply(status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	r.header(status)
	_, _ = r.out.Write(append(b, '\n')) // the client may have gone
}

func (r *request) header(status int) {
	h := r.out.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	r.out.WriteHeader(status)
}

func plain(out http.ResponseWriter, status int, text string) {
	out.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out.Header().Set("X-Content-Type-Options", "nosniff")
	out.WriteHeader(status)
	_, _ = out.Write([]byte(text + "\n")) // the client may have gone
}

// Status turns the error of a command into an HTTP status and a text without the error
// code in front.
func Status(text string) (status int, rest string) {
	code, rest, _ := strings.Cut(text, " ")
	status = http.StatusBadRequest
	switch code {
	case "ERR":
		switch {
		case strings.HasPrefix(rest, "item exists"):
			status = http.StatusConflict
		case strings.HasPrefix(rest, "not found"):
			status = http.StatusNotFound
		case strings.HasPrefix(rest, "non scaling filter is full"):
			status = http.StatusInsufficientStorage
		case strings.HasPrefix(rest, "Insufficient memory"):
			status = http.StatusInsufficientStorage
		}
		return status, rest
	case "OOM":
		return http.StatusInsufficientStorage, rest
	case "WRONGTYPE":
		return http.StatusConflict, rest
	case "NOAUTH", "WRONGPASS":
		return http.StatusUnauthorized, rest
	case "NOPERM":
		return http.StatusForbidden, rest
	case "MISCONF", "LOADING":
		return http.StatusServiceUnavailable, rest
	}
	if text == "Filter is full" || text == "Maximum expansions reached" {
		status = http.StatusInsufficientStorage
	}
	return status, text
}
