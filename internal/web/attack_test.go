package web

import (
	"context"
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// oddNames are names of filters that a page, an address or a form could lose.
var oddNames = []string{
	`<script>alert(1)</script>`, "../../etc/passwd", `a"b'c`, "%00", "\x00", "a&name=b", "%41+ c#d?e", "a\r\nSet-Cookie: x=1", "\xff\xfe", "\xfe\xff",
	" ", "{{.}}", "&amp;", strings.Repeat("ä", 4000), strings.Repeat("x", 10<<10), strings.Repeat("x", 10<<10+1),
}

// Every address that a page has for a filter leads to that filter, whatever its name.
func TestAddressesKeepNames(t *testing.T) {
	for _, name := range oddNames[:13] {
		b := filterBrowser(t, &fake{keys: map[string]bool{"k": true}, name: name})
		page, proof := b.get("/filter?" + url.Values{"name": {name}}.Encode())
		found := 0
		for _, m := range regexp.MustCompile(`(?:href|src|action|formaction|data-live)="(/(?:filter|compare)\?[^"]*|/filter/[^"]*)"`).FindAllStringSubmatch(page, -1) {
			u, err := url.Parse(html.UnescapeString(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			found++
			if got := u.Query(); got.Get("name")+got.Get("a") != name {
				t.Errorf("%q: %s leads to %q", name, m[1], got.Get("name"))
			}
		}
		if found < 14 {
			t.Errorf("%q: only %d addresses", name, found)
		}
		a := b.do("POST", "/filter/add?"+url.Values{"name": {name}}.Encode(), url.Values{"csrf": {proof}, "keys": {"new"}})
		if u, err := a.Location(); a.StatusCode != http.StatusSeeOther || err != nil || u.Query().Get("name") != name {
			t.Errorf("%q: %s to %v, %v", name, a.Status, u, err)
		}
	}
}

// Every row has its own key, and long names do not fill the page.
func TestOddRows(t *testing.T) {
	var filters []*Filter
	for _, name := range append(oddNames, strings.Repeat("y", 1<<20)) {
		filters = append(filters, &Filter{Name: name, Type: "bloom"})
	}
	b := newBrowser(t, New(Config{Source: &fake{open: true, overview: Overview{Filters: filters}}}))
	page, _ := b.get("/")
	keys := map[string]bool{}
	for _, m := range regexp.MustCompile(`data-key="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		key := html.UnescapeString(m[1])
		if keys[key] || !utf8.ValidString(key) || strings.ContainsAny(key, "\x00\r") {
			t.Errorf("%q is the key of two rows, or no text", key)
		}
		keys[key] = true
	}
	if len(keys) != len(filters) || len(page) > 100<<10 {
		t.Errorf("%d rows for %d filters, in %d bytes", len(keys), len(filters), len(page))
	}
}

// A form with a file may have few fields before it, even if they have the same name.
func TestManyFields(t *testing.T) {
	b := filterBrowser(t, &fake{keys: map[string]bool{}})
	_, proof := b.get("/filter?name=a")
	fields := []string{"csrf", proof, "name", "a"}
	for range maxFields {
		fields = append(fields, "more", "x")
	}
	if a := b.sendFile(append(fields, "file", "x")...); a.StatusCode != http.StatusBadRequest || !strings.Contains(text(t, a), "more than 8 fields") {
		t.Error(a.Status)
	}
}

// Clients that send forms slowly or without a password do not keep others from the pages.
func TestSlowSenders(t *testing.T) {
	s := newSite(Config{Source: &fake{password: "sesame"}, Now: time.Now, Known: func(string) bool { return true }})
	held := make(chan struct{})
	var running, begun sync.WaitGroup
	serve := s.open(func(r *request) error {
		if r.URL.Path == "/slow" {
			begun.Done()
			<-held
		}
		return errAnswered
	})
	token := newToken()
	post := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", path, strings.NewReader(url.Values{"csrf": {s.sessions.proof(token)}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: cookieName, Value: token})
		out := httptest.NewRecorder()
		serve(out, r)
		return out
	}
	for range maxWorking {
		begun.Add(1)
		running.Go(func() { post("/slow") })
	}
	begun.Wait()
	if out := post("/"); out.Code != http.StatusServiceUnavailable {
		t.Errorf("one stranger too many: %d", out.Code)
	}
	v, err := s.Source.Enter(nil, "ann", "sesame")
	if err != nil {
		t.Fatal(err)
	}
	s.sessions.all[token] = &session{v, time.Now()}
	if out := post("/"); out.Code != http.StatusOK {
		t.Errorf("a visitor's form: %d", out.Code)
	}
	out := httptest.NewRecorder()
	if serve(out, httptest.NewRequest("GET", "/", nil)); out.Code != http.StatusOK {
		t.Errorf("a page: %d", out.Code)
	}
	close(held)
	running.Wait()
}

// A download that fails in the middle does not look complete.
func TestDownloadIsCut(t *testing.T) {
	server := httptest.NewServer(New(Config{Source: &fake{open: true, keys: map[string]bool{"k": true}, cut: true}}))
	defer server.Close()
	answer, err := http.Get(server.URL + "/filter/download?name=a&format=dump")
	if err == nil {
		defer answer.Body.Close()
		_, err = io.ReadAll(answer.Body)
	}
	if err == nil {
		t.Error("the browser takes it for whole")
	}
}

// Parts of a page are made once for all browsers that show it.
func TestPartsAreShared(t *testing.T) {
	var s shared
	made := 0
	parts := func() (map[string]string, error) {
		made++
		return map[string]string{"n": fmt.Sprint(made)}, nil
	}
	for range 200 {
		if text, err := s.text("ann /", time.Hour, parts); err != nil || text != `{"n":"1"}` {
			t.Fatal(text, err)
		}
	}
	if text, _ := s.text("bob /", time.Hour, parts); text != `{"n":"2"}` {
		t.Errorf("another user is shown %s", text)
	}
	if text, _ := s.text("ann /", 0, parts); text != `{"n":"3"}` {
		t.Errorf("it stays %s", text)
	}
	for i := range 10 * maxWatchers {
		_, _ = s.text(fmt.Sprint(i), time.Hour, parts)
	}
	if len(s.made) > 2*maxWatchers {
		t.Errorf("%d texts are kept", len(s.made))
	}
}

// A long address is dropped at the log-in.
func TestLongNext(t *testing.T) {
	b := newBrowser(t, New(Config{Source: &fake{password: "sesame"}}))
	if a := b.do("GET", "/?q="+strings.Repeat("x", maxNext), nil); a.Header.Get("Location") != "/login" {
		t.Errorf("to %.40s", a.Header.Get("Location"))
	}
}

// Making a page has bounds, whatever its address says.
func TestRubbishIsCheap(t *testing.T) {
	b := newBrowser(t, New(Config{}))
	start, asked := time.Now(), 0
	for _, v := range []string{"1e308", "NaN", "-1", "inf", "18446744073709551615", "5e-324", "1e15", strings.Repeat("9", 3000), "\x00<b>"} {
		for _, pattern := range []string{"/plan?n=%s", "/plan?n=10&p=%s", "/plan?memory=%s&p=0.1", "/plan/chart.svg?show=n&n=%s", "/how?m=%s&k=%s&words=%s&ask=%s", "/how?type=%s&remove=%s"} {
			a := b.do("GET", strings.ReplaceAll(pattern, "%s", url.QueryEscape(v)), nil)
			if asked++; a.StatusCode >= 500 {
				t.Errorf("%s with %.20q: %s", pattern, v, a.Status)
			}
		}
	}
	if each := time.Since(start) / time.Duration(asked); each > time.Second {
		t.Errorf("a page takes %v", each)
	}
}

// pipes is a listener whose connections are pipes, for tests in which time is not real.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newPipes() *pipes { return &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.accepted <- theirs
	return ours, nil
}

// A file may take longer than a page while it goes on.
func TestSlowFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, l := &fake{open: true, keys: map[string]bool{"k": true}, slow: 15}, newPipes()
		server := &http.Server{Handler: New(Config{Source: source}), ReadTimeout: 200 * time.Millisecond, WriteTimeout: 200 * time.Millisecond}
		go func() { _ = server.Serve(l) }() // until Close
		defer server.Close()
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{
			Jar: jar, Transport: &http.Transport{DialContext: l.dial},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		defer client.CloseIdleConnections()
		read := func(answer *http.Response, err error) (*http.Response, string) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			return answer, text(t, answer)
		}
		const url = "http://localhost"
		if _, file := read(client.Get(url + "/filter/download?name=a&format=dump")); file != "bytes of a"+strings.Repeat(".", 15) {
			t.Errorf("the download is %q", file)
		}
		_, page := read(client.Get(url + "/filter?name=a"))
		body, sent := io.Pipe()
		defer body.Close()
		form := multipart.NewWriter(sent)
		go func() {
			_ = form.WriteField("csrf", proofField.FindStringSubmatch(page)[1])
			part, err := form.CreateFormFile("file", "keys.txt")
			for i := range 15 {
				time.Sleep(20 * time.Millisecond)
				_, err = fmt.Fprintln(part, "key", i)
			}
			if err == nil {
				err = form.Close()
			}
			sent.CloseWithError(err)
		}()
		if answer, _ := read(client.Post(url+"/filter/upload?name=a", form.FormDataContentType(), body)); !strings.HasSuffix(answer.Header.Get("Location"), "new=15&of=15") {
			t.Errorf("%s to %s", answer.Status, answer.Header.Get("Location"))
		}
	})
}

// Streams of closed pages give their places back.
func TestManyWatchersLeave(t *testing.T) {
	filters := many(2000)
	source := &fake{open: true, done: make(chan struct{}), overview: Overview{Filters: filters}}
	server := httptest.NewServer(New(Config{Source: source, Every: 10 * time.Millisecond}))
	defer server.Close()
	defer close(source.done)
	for round := range 2 { // the second finds the places of the first
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				for {
					r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/events", nil)
					if err != nil {
						t.Error(err)
						return
					}
					answer, err := http.DefaultClient.Do(r)
					if err != nil {
						t.Error(err)
						return
					}
					_, err = io.ReadFull(answer.Body, make([]byte, 1000))
					_ = answer.Body.Close()
					if answer.StatusCode == http.StatusServiceUnavailable && round > 0 {
						time.Sleep(10 * time.Millisecond) // those of the first round are about to go
						continue
					}
					if err != nil || answer.StatusCode != http.StatusOK {
						t.Errorf("round %d: %s, %v", round, answer.Status, err)
					}
					return
				}
			})
		}
		all.Wait()
		leave()
		http.DefaultClient.CloseIdleConnections()
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body of a GET is read")
	return 0, io.EOF
}

// Looking for a form in the body of a GET could fill the disk.
func TestBodyOfGetIsNotRead(t *testing.T) {
	pages := New(Config{Source: &fake{password: "sesame"}})
	for _, path := range []string{"/login", "/login?next=/filter", "/", "/filter?name=a", "/planner?n=1000"} {
		r := httptest.NewRequest("GET", path, unread{t})
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		pages.ServeHTTP(httptest.NewRecorder(), r)
	}
}
