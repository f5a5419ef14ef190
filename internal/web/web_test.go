package web

import (
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// browser keeps cookies, and does not follow redirects.
type browser struct {
	t      *testing.T
	site   http.Handler
	cookie map[string]string
	host   string
	tls    bool
}

func newBrowser(t *testing.T, site http.Handler) *browser {
	return &browser{t: t, site: site, cookie: map[string]string{}, host: "127.0.0.1:6390"}
}

func (b *browser) do(method, path string, form url.Values) *http.Response {
	b.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Host = b.host
	if b.tls {
		r.TLS = &tls.ConnectionState{}
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range b.cookie {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	out := httptest.NewRecorder()
	b.site.ServeHTTP(out, r)
	answer := out.Result()
	for _, c := range answer.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != b.tls || b.tls != strings.HasPrefix(c.Name, "__Host-") {
			b.t.Errorf("%s %s: cookie %v", method, path, c)
		}
		b.cookie[c.Name] = c.Value
	}
	return answer
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var proofField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// get returns a page and the proof in its forms.
func (b *browser) get(path string) (page, proof string) {
	b.t.Helper()
	answer := b.do("GET", path, nil)
	page = text(b.t, answer)
	if answer.StatusCode != http.StatusOK {
		b.t.Fatalf("GET %s: %s %s", path, answer.Status, page)
	}
	if m := proofField.FindStringSubmatch(page); m != nil {
		proof = m[1]
	}
	return page, proof
}

func (b *browser) login(password string) *http.Response {
	b.t.Helper()
	_, proof := b.get("/login?next=/%3Fsort%3Drate")
	return b.do("POST", "/login", url.Values{"csrf": {proof}, "user": {"ann"}, "password": {password}, "next": {"/?sort=rate"}})
}

func TestLogin(t *testing.T) {
	for _, secure := range []bool{false, true} {
		source := &fake{password: "sesame"}
		now := time.Date(2024, 5, 17, 12, 0, 0, 0, time.UTC)
		b := newBrowser(t, New(Config{Source: source, Now: func() time.Time { return now }}))
		b.tls = secure
		lost := func(why string) {
			t.Helper()
			if a := b.do("GET", "/?sort=rate", nil); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/login?next=%2F%3Fsort%3Drate" {
				t.Errorf("%s: %s to %q", why, a.Status, a.Header.Get("Location"))
			}
		}
		lost("without a log-in")
		if a := b.login("wrong"); a.StatusCode != http.StatusUnauthorized || !strings.Contains(text(t, a), "password is wrong") {
			t.Errorf("a wrong password: %s", a.Status)
		}
		lost("a wrong password")
		before := fmt.Sprint(b.cookie)
		if a := b.login("sesame"); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/?sort=rate" {
			t.Fatalf("the right password: %s to %q", a.Status, a.Header.Get("Location"))
		}
		if fmt.Sprint(b.cookie) == before {
			t.Error("the token of before the login is that of the session")
		}
		page, proof := b.get("/")
		if !strings.Contains(page, "<span>ann</span>") {
			t.Error("the page does not say who has logged in")
		}
		now = now.Add(sessionIdle - time.Second)
		b.get("/")
		if a := b.do("POST", "/logout", url.Values{"csrf": {proof}}); a.StatusCode != http.StatusSeeOther {
			t.Errorf("logout: %s", a.Status)
		}
		lost("after the logout")
		b.login("sesame")
		now = now.Add(sessionIdle + time.Second)
		lost("idle for too long")
		b.login("sesame")
		b.get("/")
		source.password = "other"
		lost("the password has changed")
	}
}

// A change without the proof that the form is ours does nothing.
func TestProof(t *testing.T) {
	source := &fake{password: "sesame"}
	site := New(Config{Source: source})
	b, other := newBrowser(t, site), newBrowser(t, site)
	b.login("sesame")
	_, foreign := other.get("/login")
	page, own := b.get("/")
	for _, proof := range []string{"", "x", foreign} {
		a := b.do("POST", "/logout", url.Values{"csrf": {proof}})
		if a.StatusCode != http.StatusForbidden || !strings.Contains(text(t, a), "Nothing was changed") {
			t.Errorf("proof %q: %s", proof, a.Status)
		}
	}
	if b.get("/"); page == "" {
		t.Error("the session has ended")
	}
	b.cookie = map[string]string{}
	if a := b.do("POST", "/logout", url.Values{"csrf": {own}}); a.StatusCode != http.StatusForbidden {
		t.Errorf("a proof without its cookie: %s", a.Status)
	}
	if a := b.do("POST", "/login", url.Values{"csrf": {strings.Repeat("x", maxField)}}); a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form: %s", a.Status)
	}
}

func TestNoOpenRedirect(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "/?q=a": "/?q=a", "/filter?name=x%2Fy": "/filter?name=x%2Fy",
		"": "/", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/", "javascript:alert(1)": "/", "evil": "/",
		"/\tevil": "/", "/a\nb": "/", "http:evil": "/", "/%zz": "/",
	} {
		if got := ownPath(path); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}

// Every answer forbids what the pages do not need, and scripts are in files.
func TestHeaders(t *testing.T) {
	b := newBrowser(t, New(Config{Source: &fake{open: true, overview: Overview{Filters: []*Filter{{Name: "a", Type: "bloom"}}}}}))
	for path, status := range map[string]int{"/": 200, "/login": 200, "/nowhere": 404, "/static/seen.js": 200, "/static/seen.css": 200, "/static/": 200} {
		a := b.do("GET", path, nil)
		if a.StatusCode != status {
			t.Errorf("%s: %s", path, a.Status)
		}
		h := a.Header
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
		if page := text(t, a); strings.HasPrefix(h.Get("Content-Type"), "text/html") && regexp.MustCompile(`<script>|<style|style=|\son[a-z]+=|https?://`).MatchString(page) {
			t.Errorf("%s has script or style of its own, or asks others: %s", path, page)
		}
	}
}

// Without a password, the pages answer only under known host names.
func TestHosts(t *testing.T) {
	source := &fake{open: true, password: "sesame"}
	b := newBrowser(t, New(Config{Source: source, Known: func(host string) bool { return host == "127.0.0.1:6390" }}))
	b.get("/")
	b.host = "evil.example"
	if a := b.do("GET", "/", nil); a.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("an unknown name: %s", a.Status)
	}
	if a := b.login("sesame"); a.StatusCode != http.StatusSeeOther {
		t.Fatal(a.Status)
	}
	b.get("/")
}

// The number of sessions is bounded, and the session in use stays.
func TestManySessions(t *testing.T) {
	s, source := newSessions(), &fake{password: "p"}
	v, err := source.Enter(nil, "ann", "p")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	first := s.begin(v, now)
	used := s.begin(v, now)
	for i := range maxSessions + 10 {
		now = now.Add(time.Millisecond)
		s.begin(v, now)
		if i%100 == 0 && s.visitor(used, now) == nil {
			t.Fatal("the session in use has ended")
		}
	}
	if len(s.all) > maxSessions || s.visitor(first, now) != nil {
		t.Errorf("%d sessions, the oldest among them: %v", len(s.all), s.visitor(first, now) != nil)
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		percent(0): "0 %", percent(0.012): "1.2 %", percent(0.5): "50 %", percent(1): "100 %", percent(math.NaN()): "–",
		perSecond(0): "0", perSecond(0.25): "0.3", perSecond(9.96): "10", perSecond(12345): "12.3k",
		shown("a b"): "a b", shown(""): `""`, shown(" a"): `" a"`, shown("\xff\n"): `"\xff\n"`, shown("ä"): "ä",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A server with a password computes nothing for clients who have not logged in.
func TestStrangers(t *testing.T) {
	b := newBrowser(t, New(Config{Source: &fake{password: "sesame"}}))
	for _, path := range []string{"/", "/plan", "/plan/chart.svg?n=1M&show=n", "/how", "/how/fill.svg", "/filter?name=a", "/compare", "/events", "/filter/events?name=a", "/filter/download?name=a&format=dump"} {
		if a := b.do("GET", path, nil); a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), "/login?next=") {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
	b.login("sesame")
	b.get("/plan")
	b.get("/how")
}

// Requests beyond the limit are refused for now, and no running request loses its place.
func TestManyRequests(t *testing.T) {
	s := newSite(Config{})
	held := make(chan struct{})
	var running, begun sync.WaitGroup
	slow := s.open(func(*request) error {
		begun.Done()
		<-held
		return errAnswered
	})
	for range maxWorking {
		begun.Add(1)
		running.Go(func() { slow(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) })
	}
	begun.Wait()
	out := httptest.NewRecorder()
	slow(out, httptest.NewRequest("GET", "/", nil))
	if out.Code != http.StatusServiceUnavailable || out.Header().Get("Retry-After") == "" {
		t.Errorf("one too many: %d %v", out.Code, out.Header())
	}
	close(held)
	running.Wait()
	if s.working.Len() != 0 {
		t.Errorf("%d slots are still taken", s.working.Len())
	}
}
