package server

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"seen/internal/web"
)

// run runs a command as somebody without a connection, and fails the test if it
// fails.
func (s *testServer) run(t testing.TB, words ...string) {
	t.Helper()
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	v, err := s.newLocalClient(s.acl.Default).Ask(args...)
	if err != nil || strings.HasPrefix(v.String(), "ERR") {
		t.Fatalf("%q: %v %v", words, v, err)
	}
}

// keys returns a command with n keys.
func keysOf(command string, from, n int) []string {
	words := strings.Fields(command)
	for i := range n {
		words = append(words, fmt.Sprint("key ", from+i))
	}
	return words
}

// The overview has the same numbers for each filter as the commands.
func TestOverviewSaysWhatCommandsSay(t *testing.T) {
	s := start(t)
	s.run(t, "BF.RESERVE", "fixed", "0.01", "1000", "NONSCALING")
	s.run(t, "BF.RESERVE", "theirs", "0.01", "1000", "LAYOUT", "redisbloom")
	s.run(t, "BF.WINDOW", "window", "0.01", "1000", "1h")
	s.run(t, "CF.RESERVE", "cuckoo", "1000")
	s.run(t, "CMS.INITBYDIM", "counts", "100", "5")
	s.run(t, "TOPK.RESERVE", "best", "5")
	for _, name := range []string{"fixed", "theirs", "window", "grown"} {
		s.run(t, keysOf("BF.MADD "+name, 0, 850)...)
		s.run(t, keysOf("BF.MEXISTS "+name, 425, 850)...)
	}
	s.run(t, keysOf("CF.INSERT cuckoo ITEMS", 0, 500)...)
	s.run(t, "CMS.INCRBY", "counts", "a", "5")
	s.run(t, "TOPK.ADD", "best", "a", "b", "a")
	v := visitorOf(t, s)
	s.clock.advance(10 * time.Second)
	o, err := v.Overview()
	if err != nil || len(o.Filters) != 7 {
		t.Fatalf("%d filters, %v", len(o.Filters), err)
	}
	api := s.HTTP(HTTPConfig{})
	for _, f := range o.Filters {
		out := httptest.NewRecorder()
		api.ServeHTTP(out, localRequest("GET", "http://127.0.0.1/v1/filters/"+f.Name, nil))
		var state struct {
			Type string
			Info map[string]float64
		}
		if err := json.Unmarshal(out.Body.Bytes(), &state); err != nil {
			t.Fatal(err)
		}
		items, capacity := state.Info["number_of_items_inserted"], state.Info["capacity"]
		switch state.Type {
		case "countmin":
			items = state.Info["count"]
		case "topk":
			items, capacity = 2, state.Info["k"]
		case "cuckoo":
			capacity = state.Info["number_of_buckets"] * state.Info["bucket_size"]
		}
		if f.Type != state.Type || float64(f.Items) != items || float64(f.Capacity) != capacity {
			t.Errorf("%+v, the API says %+v", f, state)
		}
		if f.Type == "bloom" {
			// Half of the checked keys had been added; the rate is an average of 85/s over 10 s.
			if math.Abs(f.Hits-0.5) > 0.02 || math.Abs(f.Checks-85*(1-1/math.E)) > 0.01 || f.Adds != f.Checks {
				t.Errorf("%s: %v adds/s, %v checks/s, found %v", f.Name, f.Adds, f.Checks, f.Hits)
			}
			if !(f.Rate > 0 && f.Rate < f.Asked) || f.Asked != 0.01 {
				t.Errorf("%s: error rate %v of %v", f.Name, f.Rate, f.Asked)
			}
		}
		if f.Marked() != (f.Name == "fixed") {
			t.Errorf("%+v is marked: %v", f, f.Marked())
		}
	}
	// Rates sink without traffic, and the next look sees changes.
	s.run(t, keysOf("BF.MADD fixed", 850, 200)...)
	s.run(t, "DEL", "grown")
	s.clock.advance(time.Minute)
	s.dashboard.Keep() // no page needs the list
	if o, _ := v.Overview(); len(o.Filters) != 6 {
		t.Errorf("%d filters", len(o.Filters))
	} else {
		for _, f := range o.Filters {
			if f.Name == "fixed" && (f.Items != 1000 || !f.Full() || f.Checks > 1) {
				t.Errorf("%+v", f)
			}
		}
	}
}

// Visitors see exactly the filters that they may read.
func TestOverviewRights(t *testing.T) {
	s := start(t, func(c *Config) { c.Password = "sesame" })
	for _, name := range []string{"a:1", "a:2", "b:1"} {
		s.run(t, "BF.ADD", name, "x")
	}
	s.run(t, "CF.ADD", "a:3", "x")
	s.run(t, "ACL", "SETUSER", "ann", "on", ">one", "%R~a:*", "+@read", "-cf.info")
	s.run(t, "ACL", "SETUSER", "bob", "on", ">two", "~*", "-@all")
	p := s.dashboard
	r := localRequest("GET", "/", nil)
	enter := func(name, password string) web.Visitor {
		v, err := p.Enter(r, name, password)
		if (v == nil) == (err == nil) {
			t.Fatalf("%s: %v, %v", name, v, err)
		}
		return v
	}
	if v, err := p.Anybody(r); v != nil || err != nil || enter("ann", "two") != nil || enter("nobody", "") != nil {
		t.Error("somebody came in without the right password")
	}
	ann, bob := enter("ann", "one"), enter("bob", "two")
	o, err := ann.Overview()
	if err != nil || len(o.Filters) != 2 || o.Memory != 0 {
		t.Errorf("ann sees %d filters and %d bytes, %v", len(o.Filters), o.Memory, err)
	}
	if _, err := bob.Overview(); err == nil || err.(*web.Refused).Status != http.StatusForbidden {
		t.Errorf("bob: %v", err)
	}
	if o, err := enter("default", "sesame").Overview(); err != nil || len(o.Filters) != 4 || o.Memory == 0 {
		t.Errorf("default sees %d filters and %d bytes, %v", len(o.Filters), o.Memory, err)
	}
	if !ann.Valid() || !bob.Valid() {
		t.Error("a visitor is not valid")
	}
	s.run(t, "ACL", "SETUSER", "ann", ">three")
	s.run(t, "ACL", "DELUSER", "bob")
	s.run(t, "ACL", "SETUSER", "bob", "on", ">two")
	if ann.Valid() || bob.Valid() {
		t.Error("a session outlives its password or its user")
	}
}

// The pages are there beside the API, with the users and passwords of the server.
func TestPagesByHTTP(t *testing.T) {
	s := start(t, func(c *Config) { c.Password = "sesame" })
	s.run(t, "BF.ADD", "of mine", "x")
	site := s.HTTP(HTTPConfig{})
	cookie := ""
	do := func(method, path string, form url.Values) *httptest.ResponseRecorder {
		r := localRequest(method, "http://127.0.0.1"+path, strings.NewReader(form.Encode()))
		if method == "POST" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		r.Header.Set("Cookie", cookie)
		out := httptest.NewRecorder()
		site.ServeHTTP(out, r)
		if set := out.Result().Cookies(); len(set) > 0 {
			cookie = set[0].Name + "=" + set[0].Value
		}
		return out
	}
	if out := do("GET", "/", nil); out.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", out.Code, out.Body)
	}
	proof := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(do("GET", "/login", nil).Body.String())[1]
	if out := do("POST", "/login", url.Values{"csrf": {proof}, "password": {"sesame"}}); out.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", out.Code, out.Body)
	}
	if out := do("GET", "/", nil); out.Code != 200 || !strings.Contains(out.Body.String(), "of mine") {
		t.Errorf("%d %s", out.Code, out.Body)
	}
	if out := do("GET", "/v1/filters", nil); out.Code != http.StatusUnauthorized {
		t.Errorf("the cookie of the pages opens the API: %d", out.Code)
	}
}

// Every answer over HTTP forbids browsers what the pages do not need, including early
// refusals, redirects and the API.
func TestAllOfHTTPIsProtected(t *testing.T) {
	s := start(t)
	s.run(t, "BF.ADD", "a", "x")
	site := s.HTTP(HTTPConfig{})
	for _, c := range []struct {
		method, path, origin string
		status               int
	}{
		{"GET", "/", "", 200}, {"GET", "/healthz", "", 200}, {"GET", "/v1/filters", "", 200}, {"GET", "/v1/filters/none", "", 404}, {"GET", "/metrics", "", 200},
		{"GET", "/filter/download?name=a&format=dump", "", 200}, {"GET", "/filter/bits.png?name=a", "", 200}, {"GET", "/filter/chart.svg?name=a&show=keys", "", 200},
		{"POST", "/filter/delete?name=a", "https://evil.example", 403}, {"POST", "/filter/delete?name=a", "", 403}, {"PUT", "/filter", "", 403},
		{"GET", "//evil.example/..", "", 307}, {"GET", "/x/../y", "", 307}, {"GET", "/nowhere", "", 404},
	} {
		r := localRequest(c.method, "http://127.0.0.1"+c.path, nil)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		out := httptest.NewRecorder()
		site.ServeHTTP(out, r)
		h := out.Header()
		if out.Code != c.status || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: %d %v", c.method, c.path, out.Code, h)
		}
		if to := h.Get("Location"); strings.HasPrefix(to, "//") || strings.Contains(to, ":") {
			t.Errorf("%s leads to %s", c.path, to)
		}
	}
}
