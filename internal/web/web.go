package web

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"seen/internal/fair"
)

//go:embed static
var static embed.FS

// Config says what the pages show.
type Config struct {
	// Source is the server; with nil, only the pages that need no server are served.
	Source Source
	// Known reports whether a Host header certainly names this server. Requests without a
	// password must use such a name: if every name were allowed, a web page could resolve
	// its own name to this server and read everything. nil allows every name.
	Known func(host string) bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Waits reports for how long the client of a request has been slow, and whether that
	// is too long. ok is false while the client is not slow. nil means never.
	Waits func(r *http.Request, now time.Time) (since time.Duration, overdue, ok bool)
	// Budget pays for forms in memory; nil means 1 GiB.
	Budget *fair.Budget
	// Every is the time between two live events of a page; 0 means 2 s.
	Every time.Duration
}

// site serves the pages.
type site struct {
	Config
	sessions *sessions
	watchers *fair.Places // for streams of live events
	working  *fair.Places // for other GET requests
	sending  *fair.Places // for forms of visitors, which may be slow
	knocking *fair.Places // for forms of other clients, who log in
	shared   shared
}

// maxWatchers bounds the streams of live events at the same time.
const maxWatchers = 256

// maxWorking bounds the other requests of each kind at the same time, so that the pages
// leave the processor to the filters.
const maxWorking = 32

func newSite(c Config) *site {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Waits == nil {
		c.Waits = func(*http.Request, time.Time) (time.Duration, bool, bool) { return 0, false, false }
	}
	if c.Budget == nil {
		c.Budget = fair.NewBudget(1 << 30)
	}
	places := func(n int) *fair.Places { return fair.NewPlaces(n, 0) }
	return &site{Config: c, sessions: newSessions(), watchers: places(maxWatchers), working: places(maxWorking), sending: places(maxWorking), knocking: places(maxWorking)}
}

// New returns a handler for the requests for pages.
func New(c Config) http.Handler {
	if c.Known == nil {
		c.Known = func(string) bool { return true }
	}
	c.Every = cmp.Or(c.Every, 2*time.Second)
	s := newSite(c)
	mux := http.NewServeMux()
	files, _ := fs.Sub(static, "static") // the path is valid
	mux.Handle("GET /static/", http.StripPrefix("/static/", cached(http.FileServerFS(files))))
	// Pages that take time to make need a visitor.
	enter := s.page
	if c.Source == nil {
		enter = s.open
	}
	mux.HandleFunc("GET /plan", enter(plan))
	mux.HandleFunc("GET /plan/chart.svg", enter(planChart))
	mux.HandleFunc("GET /how", enter(how))
	mux.HandleFunc("GET /how/fill.svg", enter(howFill))
	if c.Source == nil {
		mux.HandleFunc("GET /{$}", s.open(func(r *request) error { return r.redirect("/plan") }))
	} else {
		mux.HandleFunc("GET /{$}", s.page(overview))
		mux.HandleFunc("GET /events", s.page(overviewEvents))
		mux.HandleFunc("GET /filter", s.page(showFilter))
		mux.HandleFunc("GET /filter/events", s.page(filterEvents))
		mux.HandleFunc("GET /filter/chart.svg", s.page(filterChart))
		mux.HandleFunc("GET /filter/bits.png", s.page(filterBits))
		mux.HandleFunc("GET /filter/download", s.page(download))
		mux.HandleFunc("GET /compare", s.page(compare))
		mux.HandleFunc("GET /create", s.page(showCreate))
		mux.HandleFunc("POST /create", s.page(createFilter))
		mux.HandleFunc("POST /filter/check", s.page(checkKeys))
		mux.HandleFunc("POST /filter/add", s.page(addKeys))
		mux.HandleFunc("POST /filter/upload", s.page(upload))
		mux.HandleFunc("POST /filter/clear", s.page(clearFilter))
		mux.HandleFunc("POST /filter/expire", s.page(expireFilter))
		mux.HandleFunc("POST /filter/delete", s.page(deleteFilter))
		mux.HandleFunc("GET /login", s.open(askLogin))
		mux.HandleFunc("POST /login", s.open(login))
		mux.HandleFunc("POST /logout", s.open(logout))
	}
	mux.HandleFunc("/", s.open(func(r *request) error {
		return &Refused{http.StatusNotFound, "There is no such page."}
	}))
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		Protect(out.Header())
		mux.ServeHTTP(out, r)
	})
}

// Protect sets headers that forbid the browser everything that the pages do not need.
func Protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// cached lets browsers keep static files for a short time: they change only with the program.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Cache-Control", "max-age=600")
		next.ServeHTTP(out, r)
	})
}

// request is a request for a page.
type request struct {
	*http.Request
	*site
	out      http.ResponseWriter
	place    *fair.Place
	budget   *fair.Holder // pays for a form in memory
	visitor  Visitor      // nil: the client must log in
	anybody  Visitor      // the visitor without a password, if the host name were known
	refusal  error        // why a request without a password is refused
	token    string
	message  string          // what was done, for the page
	answered bool            // the answer has begun
	file     *multipart.Part // of an upload
}

// errAnswered says that the request already has its answer.
var errAnswered = errors.New("answered")

// open serves a page for all clients.
func (s *site) open(serve func(*request) error) http.HandlerFunc {
	return func(out http.ResponseWriter, in *http.Request) {
		r := &request{Request: in, site: s, out: out, token: cookieToken(in)}
		if s.Source != nil {
			r.visitor = s.sessions.visitor(r.token, s.Now())
			if r.visitor == nil {
				r.anybody, r.refusal = s.Source.Anybody(in)
				if s.Known(in.Host) {
					r.visitor = r.anybody
				}
			}
		}
		err := r.admit()
		if err == nil {
			defer func() { r.place.Leave() }() // the place that it has by then
			r.budget = s.Budget.Holder(nil, (&guest{r}).Evict)
			defer r.budget.Close()
			err = r.fromUs()
		}
		if err == nil {
			if r.token == "" {
				r.token = newToken()
				setCookie(out, in, r.token)
			}
			err = serve(r)
		}
		if err == nil || err == errAnswered {
			return
		}
		if r.answered {
			// Close the connection, so that a part of a file cannot look like the whole file.
			panic(http.ErrAbortHandler)
		}
		r.fail(err)
	}
}

// admit gives the request a place. If all are taken, a slow request or one of an address
// with most places loses its own. Slow forms take no places of other requests, and clients
// who have not logged in take no places of visitors.
func (r *request) admit() (err error) {
	var slots *fair.Places
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		slots = r.working
	case r.visitor != nil:
		slots = r.sending
	default:
		slots = r.knocking
		_ = http.NewResponseController(r.out).SetReadDeadline(time.Now().Add(knockTime)) // a recorder in a test has none
	}
	if r.place, err = slots.Take(fair.KeyOf(r.RemoteAddr), &guest{r}, time.Now()); err != nil {
		r.out.Header().Set("Retry-After", "1")
		return &Refused{http.StatusServiceUnavailable, fmt.Sprintf("The server is busy with %d other pages. Try again.", slots.Len())}
	}
	return nil
}

// page serves a page for visitors. Other clients are redirected to the log-in.
func (s *site) page(serve func(*request) error) http.HandlerFunc {
	return s.open(func(r *request) error {
		switch {
		case r.visitor != nil:
			return serve(r)
		case r.refusal != nil:
			return r.refusal
		case r.anybody != nil:
			return &Refused{http.StatusMisdirectedRequest, fmt.Sprintf("This server does not know the name %q. Use its IP address or localhost, or add the name to its setting http-host.", r.Host)}
		case r.Method != http.MethodGet:
			return &Refused{http.StatusUnauthorized, "You are no longer logged in."}
		}
		if next := url.QueryEscape(r.URL.RequestURI()); len(next) <= maxNext {
			return r.redirect("/login?next=" + next)
		}
		return r.redirect("/login")
	})
}

const (
	// maxForm bounds the body of a form without a file.
	maxForm = 4 << 20
	// maxFile bounds an uploaded file.
	maxFile = 1 << 30
	// maxField bounds a field of a form with a file, and the whole form of a client who
	// has not logged in.
	maxField = 64 << 10
	// maxFields bounds the number of fields before the file.
	maxFields = 8
	// maxNext bounds the address of the page that is shown after the log-in.
	maxNext = 4 << 10
	// knockTime is how long a client may take to send the form of the log-in.
	knockTime = 10 * time.Second
)

// most returns the limit n of a body, or less for a client who has not logged in.
func (r *request) most(n int64) int64 {
	if r.visitor == nil {
		return maxField
	}
	return n
}

// fromUs reads the form of a request, and refuses one that is not ours.
func (r *request) fromUs() error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		// FormValue would read a body of any length.
		r.Form, r.PostForm, r.Body = r.URL.Query(), url.Values{}, http.NoBody
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" { // an invalid type is another type
		return r.readFile()
	}
	r.Body = r.budget.Reader(http.MaxBytesReader(r.out, r.Body, r.most(maxForm)))
	if err := r.ParseForm(); err != nil {
		if errors.Is(err, fair.ErrBudget) {
			return &Refused{http.StatusServiceUnavailable, "The memory for the requests of all clients is used up. Try again."}
		}
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			return &Refused{http.StatusRequestEntityTooLarge, fmt.Sprintf("The form has more than %d bytes. Upload the keys as a file.", long.Limit)}
		}
		return &Refused{http.StatusBadRequest, "The form cannot be read: " + err.Error()}
	}
	return r.checkProof(r.PostForm.Get("csrf"))
}

func (r *request) checkProof(proof string) error {
	if !r.sessions.proves(r.token, proof) {
		return &Refused{http.StatusForbidden, "This form is not from this server, or is too old. Nothing was changed. Go back, reload the page and try again."}
	}
	return nil
}

// readFile reads the fields of a form up to its file. The handler reads the file as it
// arrives.
func (r *request) readFile() error {
	r.Body = http.MaxBytesReader(r.out, r.Body, r.most(maxFile))
	parts, err := r.MultipartReader()
	if err != nil {
		return &Refused{http.StatusBadRequest, "The form cannot be read: " + err.Error()}
	}
	r.PostForm, r.Form = url.Values{}, r.URL.Query()
	for range maxFields + 1 {
		part, err := parts.NextPart()
		if err != nil {
			return &Refused{http.StatusBadRequest, "The form has no file, or is incomplete."}
		}
		if part.FormName() == "file" {
			r.file = part
			return r.checkProof(r.PostForm.Get("csrf"))
		}
		value, err := io.ReadAll(io.LimitReader(part, maxField+1))
		if err != nil || len(value) > maxField {
			return &Refused{http.StatusBadRequest, fmt.Sprintf("The form has a field of more than %d bytes, or is incomplete.", maxField)}
		}
		r.PostForm.Set(part.FormName(), string(value))
		r.Form.Set(part.FormName(), string(value))
	}
	return &Refused{http.StatusBadRequest, fmt.Sprintf("The form has more than %d fields before the file.", maxFields)}
}

// redirect sends the browser to another page.
func (r *request) redirect(to string) error {
	r.out.Header().Set("Location", to)
	r.out.WriteHeader(http.StatusSeeOther)
	return errAnswered
}

// ownPath returns path if it leads to a page of ours, else the path of the overview.
func ownPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// loginPage is what the log-in page shows.
type loginPage struct {
	Next, User, Problem string
}

func askLogin(r *request) error {
	return r.render(http.StatusOK, "login", "Log in", loginPage{Next: ownPath(r.FormValue("next"))})
}

func login(r *request) error {
	next, user := ownPath(r.PostForm.Get("next")), cmp.Or(r.PostForm.Get("user"), "default")
	v, err := r.Source.Enter(r.Request, user, r.PostForm.Get("password"))
	var refused *Refused
	switch {
	case errors.As(err, &refused):
		return r.render(refused.Status, "login", "Log in", loginPage{next, user, refused.Text})
	case err != nil:
		return err
	}
	r.sessions.end(r.token)
	setCookie(r.out, r.Request, r.sessions.begin(v, r.Now()))
	return r.redirect(next)
}

func logout(r *request) error {
	r.sessions.end(r.token)
	setCookie(r.out, r.Request, newToken())
	return r.redirect("/")
}
