package web

import (
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

// Config says what the pages show, and of whom.
type Config struct {
	// Source is the server; nil serves the pages that need none.
	Source Source
	// Known reports whether a Host header names this server for certain. Visitors who
	// need no password are let in under such names only: with any name, the page of
	// somebody else could have its own name lead here and read everything. nil takes
	// every name.
	Known func(host string) bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Waits reports, for a request, since when its client keeps it waiting and whether
	// that is too long; ok is false while it does not. nil says that it never does.
	Waits func(r *http.Request, now time.Time) (since time.Duration, overdue, ok bool)
	// Budget pays for forms that are held in memory; nil is one of 1 GiB.
	Budget *fair.Budget
	// Every is the time between two states that a page is told; 0 stands for 2 s.
	Every time.Duration
}

// site is the pages of a Config.
type site struct {
	Config
	sessions *sessions
	watchers *fair.Places // of those who follow a page
	working  *fair.Places // of other requests that only ask
	sending  *fair.Places // of visitors who send a form, perhaps slowly
	knocking *fair.Places // of others who send one, to log in
	shared   shared
}

// maxWatchers bounds the pages that are kept up to date at the same time.
const maxWatchers = 256

// maxWorking bounds the other requests of each kind that are worked on at the same time,
// so that pages do not take what the filters are asked with.
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

// New returns what answers requests for pages.
func New(c Config) http.Handler {
	if c.Known == nil {
		c.Known = func(string) bool { return true }
	}
	if c.Every == 0 {
		c.Every = 2 * time.Second
	}
	s := newSite(c)
	mux := http.NewServeMux()
	files, _ := fs.Sub(static, "static") // the path is valid
	mux.Handle("GET /static/", http.StripPrefix("/static/", cached(http.FileServerFS(files))))
	// What takes time is for those only who may come in.
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

// Protect forbids the browser whatever the pages do not need.
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

// cached lets browsers keep what changes with the program only, for a short time.
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
	slots    *fair.Places // one of which the request holds
	place    *fair.Place
	budget   *fair.Holder // pays for a form that is held in memory
	visitor  Visitor      // nil: nobody has come in
	anybody  Visitor      // who may come in without a password, under a name that is known
	refusal  error        // why a visitor without a password may not come in
	token    string
	message  string          // what was done, for the page
	answered bool            // the answer has begun
	file     *multipart.Part // of a form with one
}

// errAnswered says that the request has its answer already.
var errAnswered = errors.New("answered")

// open serves a page that everybody may see.
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
			defer func() { r.place.Leave() }() // of those that it has then
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
			// What has begun is cut off, so that nobody takes half of a file for all of it.
			panic(http.ErrAbortHandler)
		}
		r.fail(err)
	}
}

// admit gives the request a slot, unless all are taken. Who sends something slowly keeps
// nobody from looking, and who has not come in keeps nobody who has.
func (r *request) admit() error {
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		r.slots = r.working
	case r.visitor != nil:
		r.slots = r.sending
	default:
		r.slots = r.knocking
		_ = http.NewResponseController(r.out).SetReadDeadline(time.Now().Add(knockTime)) // a recorder in a test has none
	}
	return r.enter()
}

// enter gives the request a place among its slots, if need be that of a slow request or
// of an address that has most of them.
func (r *request) enter() (err error) {
	if r.place, err = r.slots.Take(fair.KeyOf(r.RemoteAddr), &guest{r}, time.Now()); err != nil {
		r.out.Header().Set("Retry-After", "1")
		return &Refused{http.StatusServiceUnavailable, fmt.Sprintf("The server is busy with %d other pages. Try again.", r.slots.Len())}
	}
	return nil
}

// page serves a page for visitors. Others are sent to where they can log in.
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
	// maxFile bounds a file that is sent.
	maxFile = 1 << 30
	// maxField bounds a field of a form with a file, and all that strangers send.
	maxField = 64 << 10
	// maxFields bounds the number of fields before the file.
	maxFields = 8
	// maxNext bounds the address of the page that is shown after the login.
	maxNext = 4 << 10
	// knockTime is how long strangers may take to send the form of the login.
	knockTime = 10 * time.Second
)

// most is the limit of a body, less for those who have not come in.
func (r *request) most(n int64) int64 {
	if r.visitor == nil {
		return maxField
	}
	return n
}

// fromUs refuses changes that do not come from a form of ours.
func (r *request) fromUs() error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		// FormValue would read a body with a file, whatever its length.
		r.Form, r.PostForm, r.Body = r.URL.Query(), url.Values{}, http.NoBody
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" { // what cannot be read is no such type
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

// readFile reads the fields of a form up to its file, which is left to be read as it
// comes.
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

// redirect sends the browser to another page of ours.
func (r *request) redirect(to string) error {
	r.out.Header().Set("Location", to)
	r.out.WriteHeader(http.StatusSeeOther)
	return errAnswered
}

// ownPath returns a path that was told if it leads to a page of ours, else that of the
// overview.
func ownPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// loginPage is what the form of the login shows.
type loginPage struct {
	Next, User, Problem string
}

func askLogin(r *request) error {
	return r.render(http.StatusOK, "login", "Log in", loginPage{Next: ownPath(r.FormValue("next"))})
}

func login(r *request) error {
	next, user := ownPath(r.PostForm.Get("next")), r.PostForm.Get("user")
	if user == "" {
		user = "default"
	}
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
