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
	switch {
	case err != nil:
		r.fail(http.StatusInternalServerError, err.Error())
	case v.Kind == resp.Error:
		r.fail(Status(v.Text))
	}
	return v, err == nil && v.Kind != resp.Error
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

// statuses are the HTTP statuses of errors by how these begin.
var statuses = []struct {
	prefix string
	status int
}{
	{"ERR item exists", http.StatusConflict},
	{"ERR not found", http.StatusNotFound},
	{"ERR non scaling filter is full", http.StatusInsufficientStorage},
	{"ERR Insufficient memory", http.StatusInsufficientStorage},
	{"ERR ", http.StatusBadRequest},
	{"OOM ", http.StatusInsufficientStorage},
	{"WRONGTYPE ", http.StatusConflict},
	{"NOAUTH ", http.StatusUnauthorized},
	{"WRONGPASS ", http.StatusUnauthorized},
	{"NOPERM ", http.StatusForbidden},
	{"MISCONF ", http.StatusServiceUnavailable},
	{"LOADING ", http.StatusServiceUnavailable},
}

// Status turns the error of a command into an HTTP status and a text without the error
// code in front.
func Status(text string) (status int, rest string) {
	for _, s := range statuses {
		if strings.HasPrefix(text, s.prefix) {
			_, rest, _ = strings.Cut(text, " ")
			return s.status, rest
		}
	}
	if text == "Filter is full" || text == "Maximum expansions reached" {
		return http.StatusInsufficientStorage, text
	}
	return http.StatusBadRequest, text
}
