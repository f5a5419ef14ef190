package server

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Every name of a filter can be reached over HTTP, in the path and as a parameter, and
// none leads to another filter.
func TestEveryNameCanBeReached(t *testing.T) {
	s := start(t)
	address := "http://" + s.serveHTTP(t, false)
	// A client that does not change addresses and does not follow redirects.
	web := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	do := func(method, path, body string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(context.Background(), method, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		kind := "text/plain"
		if method == http.MethodPut {
			kind = "application/json"
		}
		r.Header.Set("Content-Type", kind)
		reply, err := web.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		return reply.StatusCode
	}
	every := func(name string) string { // every byte escaped
		var b strings.Builder
		for i := range len(name) {
			b.WriteString("%" + string("0123456789ABCDEF"[name[i]>>4]) + string("0123456789ABCDEF"[name[i]&15]))
		}
		return b.String()
	}
	c := s.dial(t)
	c.want("+OK", "BF.RESERVE", "b", "0.01", "100")
	names := []string{"", ".", "..", "/", "//", "a/b", "a/../b", "../b", "./b", "b/", "/b", "b/add", "add", "check", "%", "%2F", "%252e", "a b", "a+b", "a?b=c#d", "a;b&c",
		"\x00", "a\x00b", "\xff\xfe", "ä\u2028", "\r\n", "name", "-", strings.Repeat("x", 5000)}
	for _, name := range names {
		for _, form := range []func(word string) string{
			func(word string) string { return "/v1/filter" + word + "?name=" + url.QueryEscape(name) },
			func(word string) string { return "/v1/filters/" + every(name) + word },
			func(word string) string { return "/v1/filters/" + url.PathEscape(name) + word },
		} {
			if status := do("PUT", form(""), `{"capacity": 100, "error_rate": 0.01}`); status != 201 {
				t.Errorf("%q: PUT %s: %d", name, form(""), status)
				continue
			}
			if status := do("POST", form("/add"), "k"); status != 200 {
				t.Errorf("%q: add: %d", name, status)
			}
			if status := do("POST", form("/check"), "k"); status != 200 {
				t.Errorf("%q: check: %d", name, status)
			}
			if status := do("GET", form(""), ""); status != 200 {
				t.Errorf("%q: GET: %d", name, status)
			}
			c.want(":1", "BF.EXISTS", name, "k")
			c.want(":2", "DBSIZE")
			if status := do("DELETE", form(""), ""); status != 204 {
				t.Errorf("%q: DELETE: %d", name, status)
			}
			c.want(":0", "EXISTS", name)
		}
	}
	c.want(":0", "BF.CARD", "b")
	for _, path := range []string{"/v1", "/v1/", "/v1/x", "/v1/filters/b/x/y"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			r, err := http.NewRequestWithContext(context.Background(), method, address+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := web.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(reply.Body)
			reply.Body.Close()
			if kind := reply.Header.Get("Content-Type"); err != nil || kind != "application/json" || !strings.HasPrefix(string(body), `{"error":`) || reply.StatusCode < 400 {
				t.Errorf("%s %s: %s, %s %s", method, path, reply.Status, kind, body)
			}
		}
	}
	for path, want := range map[string]int{
		"/v1/filters/b/": 404, "/v1/filters/b/add/": 404, "/v1/filters/b/x": 404, "/v1/filters/b/add/x": 404, "/v1/": 404, "/v1/x": 404, "/v1/filter": 400, "/v1/filter?name=b&name=c": 400,
		"/v1/filter/?name=b": 404, "/v1/filters/b/add": 405, "/v1/filters": 200, "/v1/filters/b": 200,
	} {
		if status := do("GET", path, ""); status != want {
			t.Errorf("GET %s: %d, want %d", path, status, want)
		}
	}
	if status := do("POST", "/v1/filters/a%2F..%2Fb/add?create=false", "k"); status != 404 {
		t.Errorf("a name with dots: %d", status)
	}
	c.want(":0", "BF.CARD", "b")
}
