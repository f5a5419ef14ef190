package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"seen/internal/fair"
	"seen/internal/resp"
	"seen/internal/web"
)

// HTTPConfig says how the HTTP side of a server behaves.
type HTTPConfig struct {
	// Hosts are names by which requests may address the server where they need no
	// password, besides localhost and IP addresses. With any name, a web page could
	// have its own name lead here and read everything.
	Hosts []string
	// Debug serves profiles under /debug/pprof.
	Debug bool
}

// HTTP returns what answers requests of HTTP: metrics, health, the JSON side and the
// pages for browsers.
func (s *Server) HTTP(c HTTPConfig) http.Handler {
	w := &httpSide{server: s, config: c, login: s.speaker, metrics: s.config.Metrics.handler(s), ready: func() error {
		if s.closing() {
			return errors.New("the server is about to end")
		}
		return s.store.Failed()
	}}
	w.pages = web.New(web.Config{
		Source: &pages{s, &s.board}, Known: w.knows, Now: s.config.Now, Budget: s.buffers,
		Waits: func(r *http.Request, now time.Time) (time.Duration, bool, bool) {
			return s.guestOf(nil, r).Waits(now)
		},
	})
	return w.handler()
}

// maxHTTPRequests bounds the requests that are worked on at the same time, and so
// their memory.
const maxHTTPRequests = 64

// maxLooking bounds the requests for metrics.
const maxLooking = 4

// speaker runs commands with the rights of somebody.
type speaker interface {
	// ask runs one command and returns its reply, of version 3 of the protocol, once
	// it is durable.
	ask(args ...[]byte) (resp.Value, error)
}

// httpSide is the HTTP side of a server.
type httpSide struct {
	server *Server
	config HTTPConfig

	// login returns who speaks with a name and a password, or without them, or why
	// nobody does.
	login func(r *http.Request, name, password string, given bool) (speaker, error)
	// ready returns why the server cannot serve, nil if it can.
	ready func() error
	// metrics answers /metrics.
	metrics http.Handler
	// pages answers browsers.
	pages http.Handler

	slots   *fair.Places // for requests
	looking *fair.Places // reserved for metrics
}

// handler returns what answers the requests.
func (w *httpSide) handler() http.Handler {
	w.slots, w.looking = fair.NewPlaces(maxHTTPRequests, 0), fair.NewPlaces(maxLooking, 0)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(out http.ResponseWriter, _ *http.Request) { plain(out, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(out http.ResponseWriter, _ *http.Request) {
		if err := w.ready(); err != nil {
			plain(out, http.StatusServiceUnavailable, err.Error())
			return
		}
		plain(out, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", w.guard(w.looking, w.seesServer(w.metrics)))
	if w.config.Debug {
		for path, h := range map[string]http.HandlerFunc{
			"/debug/pprof/": pprof.Index, "/debug/pprof/profile": pprof.Profile,
			"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
		} {
			mux.Handle("GET "+path, w.guard(w.slots, w.seesServer(h)))
		}
	}
	mux.Handle("/", w.pages)
	// Web pages of other sites are kept from changing anything here.
	guarded := http.NewCrossOriginProtection().Handler(w.routes(mux))
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		web.Protect(out.Header()) // also of what is refused or led elsewhere
		guarded.ServeHTTP(out, r)
	})
}

// request is a request of somebody who was let in.
type request struct {
	*http.Request
	out    http.ResponseWriter
	budget *fair.Holder // pays for what of the request is in memory
	speaker
}

// guard lets in who may, a limited number at a time.
func (w *httpSide) guard(slots *fair.Places, serve func(*request)) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		r := &request{Request: in, out: out}
		name, password, given := credentials(in)
		var err error
		if r.speaker, err = w.login(in, name, password, given); err != nil {
			r.refuseLogin(err)
			return
		}
		if !given && !w.knows(in.Host) {
			r.fail(http.StatusMisdirectedRequest, fmt.Sprintf("the name %q is not one of this server; ask by IP address or localhost, or start it with --http-host", in.Host))
			return
		}
		guest := w.server.guestOf(out, in)
		if guest.conn != nil {
			guest.conn.known.Store(true)
		}
		place, err := slots.Take(fair.KeyOf(in.RemoteAddr), guest, w.server.config.Now())
		if err != nil {
			out.Header().Set("Retry-After", "1")
			r.fail(http.StatusServiceUnavailable, fmt.Sprintf("%d requests are being worked on; try again", slots.Len()))
			return
		}
		defer place.Leave()
		r.budget = w.server.buffers.Holder(nil, guest.Evict)
		defer r.budget.Close()
		serve(r)
	})
}

// refuseLogin answers a request of which nobody knows whose it is.
func (r *request) refuseLogin(err error) {
	var tooMany *tooManyFailures
	switch {
	case errors.As(err, &tooMany):
		r.out.Header().Set("Retry-After", strconv.Itoa(tooMany.seconds()))
		r.fail(http.StatusTooManyRequests, err.Error())
	case errors.Is(err, errFar):
		r.fail(http.StatusForbidden, denied)
	case errors.Is(err, errWrong):
		r.out.Header().Set("WWW-Authenticate", `Bearer realm="seen"`)
		r.out.Header().Add("WWW-Authenticate", `Basic realm="seen"`)
		r.fail(http.StatusUnauthorized, "a password is needed: Authorization: Bearer PASSWORD, or Basic with user and password")
	default: // the client has gone
		r.fail(http.StatusServiceUnavailable, err.Error())
	}
}

// credentials returns what the request says about who sends it. A bearer token is
// the password of the default user.
func credentials(r *http.Request) (name, password string, given bool) {
	if name, password, ok := r.BasicAuth(); ok {
		return name, password, true
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(kind, "Bearer") {
		return defaultUserName, strings.TrimSpace(token), true
	}
	return defaultUserName, "", false
}

// knows reports whether a Host header names this server for certain: an address
// cannot be made to lead elsewhere as a name can.
func (w *httpSide) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.EqualFold(host, "localhost") || net.ParseIP(host) != nil ||
		slices.ContainsFunc(w.config.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// seesServer lets in who may ask for the state of the server.
func (w *httpSide) seesServer(next http.Handler) func(*request) {
	return func(r *request) {
		if _, ok := r.must("INFO", "server"); ok {
			next.ServeHTTP(r.out, r.Request)
		}
	}
}

// must runs a command. If it fails, it answers the request and returns false.
func (r *request) must(args ...string) (resp.Value, bool) {
	words := make([][]byte, len(args))
	for i, a := range args {
		words[i] = []byte(a)
	}
	v, err := r.ask(words...)
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
	status, text := commandFailure(v.Text)
	r.fail(status, text)
}

// commandFailure turns the error of a command into a status of HTTP and a text
// without the code in front.
func commandFailure(text string) (status int, rest string) {
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

// failure is the body of an answer that reports an error.
type failure struct {
	Error string `json:"error"`
	Done  *int   `json:"done,omitempty"` // keys that were dealt with before it
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
