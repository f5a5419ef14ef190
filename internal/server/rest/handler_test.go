package rest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"seen/internal/fair"
	"seen/internal/resp"
)

// fakeSpeaker answers commands by their first word and notes how many keys each had.
type fakeSpeaker struct {
	replies map[string]resp.Value
	batches []int
}

func (s *fakeSpeaker) Ask(args ...[]byte) (resp.Value, error) {
	if string(args[0]) != "BF.MEXISTS" {
		return s.replies[string(args[0])], nil
	}
	v, keys := resp.Value{Kind: resp.Array}, args[2:]
	s.batches = append(s.batches, len(keys))
	for _, key := range keys {
		e := resp.Value{Kind: resp.Int, Int: 1}
		if string(key) == "bad" {
			e = resp.Value{Kind: resp.Error, Text: "OOM no memory"}
		}
		v.Elems = append(v.Elems, e)
	}
	return v, nil
}

// testHandler returns a handler of requests that log in as s, or fail with err.
func testHandler(s Speaker, err error) http.Handler {
	return New(Config{
		Hosts: []string{"filters.example"}, Login: func(*http.Request, string, string, bool) (Speaker, error) { return s, err },
		Ready: func() error { return errors.New("not yet") }, Budget: fair.NewBudget(1 << 30), Now: time.Now,
		Pages: http.NotFoundHandler(), Metrics: http.NotFoundHandler(),
	})
}

func send(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "text/plain")
	out := httptest.NewRecorder()
	h.ServeHTTP(out, r)
	return out
}

// Keys reach the Speaker in batches, and an error says how many came before it.
func TestBatches(t *testing.T) {
	s := &fakeSpeaker{replies: map[string]resp.Value{"TYPE": {Kind: resp.Simple, Text: "MBbloom--"}}}
	h := testHandler(s, nil)
	out := send(h, "POST", "http://localhost/v1/filters/a/check", strings.Repeat("k\n", 2*batchKeys+1))
	if out.Code != 200 || !strings.HasSuffix(out.Body.String(), `"count":2049}`+"\n") || len(s.batches) != 3 || s.batches[2] != 1 {
		t.Errorf("%d %.100s in batches %v", out.Code, out.Body, s.batches)
	}
	out = send(h, "POST", "http://localhost/v1/filters/a/check", strings.Repeat("k\n", batchKeys)+"k\nbad\n")
	if out.Code != http.StatusInsufficientStorage || out.Body.String() != `{"error":"no memory","done":1025}`+"\n" {
		t.Errorf("%d %s", out.Code, out.Body)
	}
}

// A failed log-in has its status and the header that says what to do.
func TestRefusedLogins(t *testing.T) {
	for _, c := range []struct {
		err           error
		status        int
		header, value string
	}{
		{&LoginError{Status: 401}, 401, "WWW-Authenticate", `Bearer realm="seen"`},
		{&LoginError{Status: 429, Wait: 7}, 429, "Retry-After", "7"},
		{&LoginError{Status: 403, Text: "DENIED"}, 403, "Retry-After", ""},
		{errors.New("gone"), 503, "Retry-After", ""},
	} {
		out := send(testHandler(nil, c.err), "GET", "http://localhost/v1/filters", "")
		if out.Code != c.status || out.Header().Get(c.header) != c.value {
			t.Errorf("%v: %d %v", c.err, out.Code, out.Header())
		}
	}
}

// Without a password, only known names address the server.
func TestKnownHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1": true, "[::1]:80": true, "10.0.0.1:80": true, "Filters.Example:80": true,
		"evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "": false,
	} {
		if KnownHost(host, []string{"filters.example"}) != want {
			t.Errorf("%q: known is not %v", host, want)
		}
	}
	if out := send(testHandler(&fakeSpeaker{}, nil), "GET", "http://evil.example/v1/filters", ""); out.Code != http.StatusMisdirectedRequest {
		t.Errorf("an unknown name: %d %s", out.Code, out.Body)
	}
	if out := send(testHandler(nil, nil), "GET", "http://evil.example/readyz", ""); out.Code != http.StatusServiceUnavailable || out.Body.String() != "not yet\n" {
		t.Errorf("a server that is not ready: %d %s", out.Code, out.Body)
	}
}
