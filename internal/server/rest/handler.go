package rest

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
)

// Config says whom a handler answers, and what it gets from the server.
type Config struct {
	// Hosts are names by which requests may address the server where they need no
	// password, besides localhost and IP addresses. With any name, a web page could
	// have its own name lead here and read everything.
	Hosts []string
	// Debug serves profiles under /debug/pprof.
	Debug bool

	// Login returns a Speaker for a name and a password, or, if given is false, for
	// a client without them. An error is a *LoginError, or that of the request's context.
	Login func(r *http.Request, name, password string, given bool) (Speaker, error)
	// Ready returns why the server cannot serve, nil if it can.
	Ready func() error
	// ErrorRates returns the error rates of the Bloom filter of a name, nil if there is
	// no such filter. It is called for clients that may read the filter.
	ErrorRates func(name string) *ErrorRates
	// Metrics answers /metrics.
	Metrics http.Handler
	// Pages answers what is neither of the API nor for health and metrics.
	Pages http.Handler
	// Budget pays for the bodies that are in memory.
	Budget *fair.Budget
	// Now is the clock.
	Now func() time.Time
}

// A Speaker runs commands with the rights of a user. It is for one goroutine.
type Speaker interface {
	// Ask runs one command and returns its reply, of version 3 of the protocol, once
	// it is durable.
	Ask(args ...[]byte) (resp.Value, error)
}

// LoginError says why a request was not let in.
type LoginError struct {
	Status int    // of HTTP: 401 for a password that is wrong or missing, 403, or 429
	Wait   int    // seconds until the next attempt, with status 429
	Text   string // for people
}

func (e *LoginError) Error() string { return e.Text }

// MaxRequests bounds the requests that are worked on at the same time, and so
// their memory.
const MaxRequests = 64

// maxLooking bounds the requests for metrics.
const maxLooking = 4

// handler answers the requests of a Config.
type handler struct {
	Config
	slots   *fair.Places // for requests
	looking *fair.Places // reserved for metrics
}

// New returns what answers requests of HTTP.
func New(c Config) http.Handler {
	w := &handler{Config: c, slots: fair.NewPlaces(MaxRequests, 0), looking: fair.NewPlaces(maxLooking, 0)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(out http.ResponseWriter, _ *http.Request) { plain(out, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(out http.ResponseWriter, _ *http.Request) {
		if err := w.Ready(); err != nil {
			plain(out, http.StatusServiceUnavailable, err.Error())
			return
		}
		plain(out, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", w.guard(w.looking, w.seesServer(w.Metrics)))
	if w.Debug {
		for path, h := range map[string]http.HandlerFunc{
			"/debug/pprof/": pprof.Index, "/debug/pprof/profile": pprof.Profile,
			"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
		} {
			mux.Handle("GET "+path, w.guard(w.slots, w.seesServer(h)))
		}
	}
	mux.Handle("/", w.Pages)
	// Web pages of other sites are kept from changing anything here.
	return http.NewCrossOriginProtection().Handler(w.routes(mux))
}

// request is a request of somebody who was let in.
type request struct {
	*http.Request
	out    http.ResponseWriter
	budget *fair.Holder // pays for what of the request is in memory
	Speaker
}

// guard lets in who may, a limited number at a time.
func (w *handler) guard(slots *fair.Places, serve func(*request)) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		r := &request{Request: in, out: out}
		name, password, given := credentials(in)
		var err error
		if r.Speaker, err = w.Login(in, name, password, given); err != nil {
			r.refuseLogin(err)
			return
		}
		if !given && !KnownHost(in.Host, w.Hosts) {
			r.fail(http.StatusMisdirectedRequest, fmt.Sprintf("the name %q is not one of this server; ask by IP address or localhost, or start it with --http-host", in.Host))
			return
		}
		guest := guestOf(out, in)
		if guest.conn != nil {
			guest.conn.known.Store(true)
		}
		place, err := slots.Take(fair.KeyOf(in.RemoteAddr), guest, w.Now())
		if err != nil {
			out.Header().Set("Retry-After", "1")
			r.fail(http.StatusServiceUnavailable, fmt.Sprintf("%d requests are being worked on; try again", slots.Len()))
			return
		}
		defer place.Leave()
		r.budget = w.Budget.Holder(nil, guest.Evict)
		defer r.budget.Close()
		serve(r)
	})
}

// refuseLogin answers a request of which nobody knows whose it is.
func (r *request) refuseLogin(err error) {
	var refused *LoginError
	if !errors.As(err, &refused) { // the client has gone
		r.fail(http.StatusServiceUnavailable, err.Error())
		return
	}
	switch refused.Status {
	case http.StatusUnauthorized:
		r.out.Header().Set("WWW-Authenticate", `Bearer realm="seen"`)
		r.out.Header().Add("WWW-Authenticate", `Basic realm="seen"`)
	case http.StatusTooManyRequests:
		r.out.Header().Set("Retry-After", strconv.Itoa(refused.Wait))
	}
	r.fail(refused.Status, refused.Text)
}

// defaultUser is the name of the user of a password that comes without a name.
const defaultUser = "default"

// credentials returns what the request says about who sends it. A bearer token is
// the password of the default user.
func credentials(r *http.Request) (name, password string, given bool) {
	if name, password, ok := r.BasicAuth(); ok {
		return name, password, true
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(kind, "Bearer") {
		return defaultUser, strings.TrimSpace(token), true
	}
	return defaultUser, "", false
}

// KnownHost reports whether a Host header names this server for certain, by one of names,
// as localhost or by an address: an address cannot be made to lead elsewhere as a name can.
func KnownHost(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.EqualFold(host, "localhost") || net.ParseIP(host) != nil ||
		slices.ContainsFunc(names, func(h string) bool { return strings.EqualFold(h, host) })
}

// seesServer lets in who may ask for the state of the server.
func (w *handler) seesServer(next http.Handler) func(*request) {
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
