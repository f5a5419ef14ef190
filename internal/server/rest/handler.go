package rest

import (
	"fmt"
	"net/http"
	"net/http/pprof"
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
	h := &handler{Config: c, slots: fair.NewPlaces(MaxRequests, 0), looking: fair.NewPlaces(maxLooking, 0)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(out http.ResponseWriter, _ *http.Request) { plain(out, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(out http.ResponseWriter, _ *http.Request) {
		if err := h.Ready(); err != nil {
			plain(out, http.StatusServiceUnavailable, err.Error())
			return
		}
		plain(out, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", h.guard(h.looking, h.seesServer(h.Metrics)))
	if h.Debug {
		for path, serve := range map[string]http.HandlerFunc{
			"/debug/pprof/": pprof.Index, "/debug/pprof/profile": pprof.Profile,
			"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
		} {
			mux.Handle("GET "+path, h.guard(h.slots, h.seesServer(serve)))
		}
	}
	mux.Handle("/", h.Pages)
	// Web pages of other sites are kept from changing anything here.
	return http.NewCrossOriginProtection().Handler(h.routes(mux))
}

// request is a request of somebody who was let in.
type request struct {
	*http.Request
	out    http.ResponseWriter
	budget *fair.Holder // pays for what of the request is in memory
	Speaker
}

// guard lets in who may, a limited number at a time.
func (h *handler) guard(slots *fair.Places, serve func(*request)) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		r := &request{Request: in, out: out}
		name, password, given := credentials(in)
		var err error
		if r.Speaker, err = h.Login(in, name, password, given); err != nil {
			r.refuseLogin(err)
			return
		}
		if !given && !KnownHost(in.Host, h.Hosts) {
			r.fail(http.StatusMisdirectedRequest, fmt.Sprintf("this server does not know the name %q; use its IP address or localhost, or add the name to its setting http-host", in.Host))
			return
		}
		guest := guestOf(out, in)
		if guest.conn != nil {
			guest.conn.known.Store(true)
		}
		place, err := slots.Take(fair.KeyOf(in.RemoteAddr), guest, h.Now())
		if err != nil {
			out.Header().Set("Retry-After", "1")
			r.fail(http.StatusServiceUnavailable, fmt.Sprintf("the server is busy with %d other requests; try again", slots.Len()))
			return
		}
		defer place.Leave()
		r.budget = h.Budget.Holder(nil, guest.Evict)
		defer r.budget.Close()
		serve(r)
	})
}

// seesServer lets in who may ask for the state of the server.
func (h *handler) seesServer(next http.Handler) func(*request) {
	return func(r *request) {
		if _, ok := r.must("INFO", "server"); ok {
			next.ServeHTTP(r.out, r.Request)
		}
	}
}
