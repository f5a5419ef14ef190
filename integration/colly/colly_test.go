package colly

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gocolly/colly/v2"

	"seen/bloom"
	"seen/keys"
	"seen/once"
)

const pages = 400

// site is a web site whose pages have many links and cycles. It counts how often each
// page is fetched.
type site struct {
	*httptest.Server
	mu      sync.Mutex
	fetched map[string]int
}

func newSite(t *testing.T, link func(base string, page int) string) *site {
	s := &site{fetched: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.fetched[r.URL.Path]++
		s.mu.Unlock()
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/page/%d", &n); err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range 10 {
			fmt.Fprintf(w, "<a href=%q>page</a>\n", link(s.URL, (n*3+i*i+1)%pages))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func plain(base string, page int) string { return fmt.Sprintf("%s/page/%d", base, page) }

// check checks that each page was fetched once.
func (s *site) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for page := range pages {
		if n := s.fetched[fmt.Sprintf("/page/%d", page)]; n != 1 {
			t.Errorf("page %d was fetched %d times", page, n)
		}
	}
	if len(s.fetched) != pages {
		t.Errorf("%d pages of %d", len(s.fetched), pages)
	}
}

func memory(t *testing.T) once.Memory {
	t.Helper()
	f, err := bloom.NewShared(bloom.Config{Capacity: 10 * pages, ErrorRate: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	return once.Local(f)
}

// follow makes a collector visit all links. Errors of a visit fail the test, except that
// the page was visited before.
func follow(t *testing.T, c *colly.Collector) {
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		var visited *colly.AlreadyVisitedError
		if err := e.Request.Visit(e.Attr("href")); err != nil && !errors.As(err, &visited) {
			t.Errorf("%s: %v", e.Attr("href"), err)
		}
	})
	c.OnError(func(r *colly.Response, err error) { t.Errorf("%s: %v", r.Request.URL, err) })
}

// Collectors that share a Memory share a crawl.
func TestStorage(t *testing.T) {
	s := newSite(t, plain)
	visited := memory(t)
	var wg sync.WaitGroup
	for range 4 {
		c := colly.NewCollector(colly.Async(true))
		if err := c.SetStorage(NewStorage(t.Context(), visited)); err != nil {
			t.Fatal(err)
		}
		follow(t, c)
		wg.Go(func() {
			var visited *colly.AlreadyVisitedError
			if err := c.Visit(s.URL + "/page/0"); err != nil && !errors.As(err, &visited) {
				t.Error(err)
			}
			c.Wait()
		})
	}
	wg.Wait()
	s.check(t)
}

// If IsVisited returned false to two collectors, only one of them makes the request.
func TestVisitedIsExact(t *testing.T) {
	visited := memory(t)
	a, b := NewStorage(t.Context(), visited), NewStorage(t.Context(), visited)
	for _, s := range []*Storage{a, b} {
		if err := s.Init(); err != nil {
			t.Fatal(err)
		}
		if is, err := s.IsVisited(7); is || err != nil {
			t.Fatal(is, err)
		}
	}
	if err := a.Visited(7); err != nil {
		t.Fatal(err)
	}
	var ours *VisitedError
	var theirs *colly.AlreadyVisitedError
	if err := b.Visited(7); !errors.As(err, &ours) || ours.ID != 7 || !errors.As(err, &theirs) || theirs.Error() == "" || !strings.Contains(err.Error(), "0000000000000007") {
		t.Errorf("the second: %v", err)
	}
	if is, err := b.IsVisited(7); !is || err != nil {
		t.Errorf("visited: %v, %v", is, err)
	}
	// Colly makes a redirected request of a Retry although IsVisited returned true.
	if err := b.Visited(7); err != nil {
		t.Errorf("a redirect of a repetition: %v", err)
	}
	if len(a.asked)+len(b.asked) > 0 {
		t.Errorf("left over: %v, %v", a.asked, b.asked)
	}
}

// A fetch that fails after a redirect can be repeated.
func TestRetryBehindARedirect(t *testing.T) {
	var tries atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/from":
			http.Redirect(w, r, "/to", http.StatusFound)
		case tries.Add(1) == 1:
			panic(http.ErrAbortHandler) // the connection breaks without an answer
		default:
			fmt.Fprint(w, "well")
		}
	}))
	s.Config.SetKeepAlivesEnabled(false) // on a reused connection, net/http would repeat the request automatically
	s.Start()
	defer s.Close()
	c := colly.NewCollector()
	if err := c.SetStorage(NewStorage(t.Context(), memory(t))); err != nil {
		t.Fatal(err)
	}
	var body string
	c.OnResponse(func(r *colly.Response) { body = string(r.Body) })
	retried := false
	c.OnError(func(r *colly.Response, err error) {
		if !retried {
			retried = true
			if err := r.Request.Retry(); err != nil {
				t.Error(err)
			}
		}
	})
	if err := c.Visit(s.URL + "/from"); err == nil {
		t.Error("the first attempt did not fail")
	}
	if !retried || body != "well" {
		t.Errorf("retried: %v, got %q", retried, body)
	}
}

// With canonical keys, all URLs of a page are one page.
func TestCanonicalKeys(t *testing.T) {
	var turn atomic.Int64
	s := newSite(t, func(base string, page int) string {
		u, _ := url.Parse(base)
		switch turn.Add(1) % 5 {
		case 0:
			return fmt.Sprintf("HTTP://%s/page/./%d#top", u.Host, page)
		case 1:
			return fmt.Sprintf("%s/x/../page/%d", base, page)
		case 2:
			return fmt.Sprintf("%s/%%70age/%d?utm_source=here", base, page)
		case 3:
			return fmt.Sprintf("%s/page/%d?", base, page)
		}
		return plain(base, page)
	})
	form, err := keys.NewURL(keys.URLConfig{SortQuery: true, DropTracking: true})
	if err != nil {
		t.Fatal(err)
	}
	c := colly.NewCollector(colly.Async(true), colly.AllowURLRevisit())
	c.OnRequest(New(t.Context(), memory(t), form, func(r *colly.Request, err error) { t.Errorf("%s: %v", r.URL, err) }))
	follow(t, c)
	if err := c.Visit(s.URL + "/page/0"); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	s.check(t)
}

// broken is a Memory that is not reachable.
type broken struct{}

var errBroken = errors.New("out of reach")

func (broken) Add(context.Context, ...[]byte) ([]bool, error) { return nil, errBroken }
func (broken) Has(context.Context, ...[]byte) ([]bool, error) { return nil, errBroken }

// If the Memory does not answer, no request is made.
func TestErrors(t *testing.T) {
	s := newSite(t, plain)
	c := colly.NewCollector()
	if err := c.SetStorage(NewStorage(t.Context(), broken{})); err != nil {
		t.Fatal(err)
	}
	if err := c.Visit(s.URL + "/page/1"); !errors.Is(err, errBroken) {
		t.Errorf("visit: %v", err)
	}
	if err := NewStorage(t.Context(), broken{}).Visited(1); !errors.Is(err, errBroken) {
		t.Errorf("visited: %v", err)
	}
	form, err := keys.NewURL(keys.URLConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c = colly.NewCollector(colly.AllowURLRevisit())
	var failed []error
	c.OnRequest(New(t.Context(), broken{}, form, func(_ *colly.Request, err error) { failed = append(failed, err) }))
	if err := c.Visit(s.URL + "/page/1"); err != nil {
		t.Error(err)
	}
	if err := c.Visit(s.URL + "/" + strings.Repeat("x", keys.MaxURL)); err != nil {
		t.Error(err)
	}
	if len(failed) != 2 || !errors.Is(failed[0], errBroken) || !errors.Is(failed[1], keys.ErrURL) {
		t.Errorf("failures: %v", failed)
	}
	if len(s.fetched) > 0 {
		t.Errorf("fetched without an answer: %v", s.fetched)
	}
}

func TestCookies(t *testing.T) {
	s := NewStorage(t.Context(), memory(t))
	if err := s.Init(); err != nil {
		t.Fatal(err)
	}
	u := &url.URL{Scheme: "http", Host: "example.com", Path: "/"}
	s.SetCookies(u, "a=1\nb=2")
	if got := s.Cookies(u); got != "a=1\nb=2" {
		t.Errorf("%q", got)
	}
	if err := s.Init(); err != nil || s.Cookies(u) == "" {
		t.Errorf("a second Init: %v, cookies %q", err, s.Cookies(u))
	}
	if got := s.Cookies(&url.URL{Scheme: "http", Host: "example.org", Path: "/"}); got != "" {
		t.Errorf("cookies of another host: %q", got)
	}
}
