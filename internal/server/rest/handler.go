package rest

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"

	"seen/internal/fair"
	"seen/internal/resp"
)

// Config is what a handler gets from the server.
type Config struct {
	// Hosts are the names, in addition to localhost and IP addresses, by which requests
	// without a password may address the server. If every name were allowed, a web page
	// could resolve its own name to this server and read everything.
	Hosts []string
	// Debug serves profiles under /debug/pprof.
	Debug bool

	// Login returns a Speaker for a name and a password or, if given is false, for a
	// client that sent neither. Its error is a *LoginError or the error of the request's
	// context.
	Login func(r *http.Request, name, password string, given bool) (Speaker, error)
	// Ready returns why the server cannot serve, nil if it can.
	Ready func() error
	// ErrorRates returns the error rates of a Bloom filter, nil if there is no filter of
	// this name. It is called only for clients that may read the filter.
	ErrorRates func(name string) *ErrorRates
	// Metrics answers /metrics.
	Metrics http.Handler
	// Pages answers all other requests.
	Pages http.Handler
	// Budget pays for bodies in memory.
	Budget *fair.Budget
	// Now is the clock.
	Now func() time.Time
}

// A Speaker runs commands with the rights of a user. It is for one goroutine.
type Speaker interface {
	// Ask runs one command and returns its reply (RESP3) once the change is durable.
	Ask(args ...[]byte) (resp.Value, error)
}

// MaxRequests bounds the requests that run at the same time, and so their memory.
const MaxRequests = 64

// maxLooking bounds the requests for metrics that run at the same time.
const maxLooking = 4

// handler answers requests.
type handler struct {
	Config
	slots   *fair.Places // for requests
	looking *fair.Places // reserved for metrics
}

// New returns a handler for all requests of the HTTP side.
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
	// Pages of other sites cannot change anything here.
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		const text = "this request comes from a page of another site, which may not change anything here"
		if _, ok := inAPI(in); ok {
			(&request{Request: in, out: out}).fail(http.StatusForbidden, text)
			return
		}
		plain(out, http.StatusForbidden, text)
	}))
	return guard.Handler(h.routes(mux))
}

// request is a request with the rights of its user.
type request struct {
	*http.Request
	out    http.ResponseWriter
	budget *fair.Holder // pays for the parts of the request that are in memory
	Speaker
}

// guard logs requests in and lets a limited number of them run at the same time.
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

// seesServer serves next to users who may run INFO.
func (h *handler) seesServer(next http.Handler) func(*request) {
	return func(r *request) {
		if _, ok := r.must("INFO", "server"); ok {
			next.ServeHTTP(r.out, r.Request)
		}
	}
}
