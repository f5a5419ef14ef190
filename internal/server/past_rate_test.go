package server

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// The log reports a filter past its error rate once. The metrics, INFO, the HTTP API, its
// page and the overview report it until it is deleted.
func TestPastErrorRate(t *testing.T) {
	var mu sync.Mutex
	var told []string
	s := start(t, func(c *Config) {
		c.Events = func(level Level, message string, pairs ...any) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(level, message, pairs))
		}
	})
	warnings := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, text := range told {
			if strings.Contains(text, "past its error rate") {
				n++
			}
		}
		return n
	}
	web := s.HTTP(HTTPConfig{})
	get := func(path string) string {
		t.Helper()
		out := httptest.NewRecorder()
		web.ServeHTTP(out, localRequest("GET", "http://127.0.0.1"+path, nil))
		if out.Code != 200 {
			t.Fatalf("%s: %d %s", path, out.Code, out.Body)
		}
		return out.Body.String()
	}
	look := func() {
		s.clock.advance(time.Hour)
		s.dashboard.Keep()
	}
	type state struct {
		Errors struct {
			Now, Asked float64
			Past       bool
		}
	}
	expect := func(past bool) {
		t.Helper()
		look()
		n := 0
		if past {
			n = 1
		}
		if text := get("/metrics"); !strings.Contains(text, fmt.Sprintf("seen_filters_past_error_rate %d\n", n)) ||
			!strings.Contains(text, `seen_filter_asked_error_rate{filter="both"} 0.01`) {
			t.Errorf("the metrics lack filters past their error rate: %d", n)
		}
		if got := s.dial(t).do("INFO", "stats").Text; !strings.Contains(got, fmt.Sprintf("filters_past_error_rate:%d\r\n", n)) {
			t.Errorf("INFO: %s", got)
		}
		var st state
		if err := json.Unmarshal([]byte(get("/v1/filters/both")), &st); err != nil || st.Errors.Past != past || st.Errors.Asked != 0.01 || st.Errors.Now > 0.0105 != past {
			t.Errorf("the API says %+v, %v", st, err)
		}
		if text := get("/filter?name=both"); strings.Contains(text, "This filter is past its error rate") != past {
			t.Errorf("the page of the filter: past is not %v", past)
		}
		if text := get("/"); strings.Contains(text, `<strong class="mark bad">error rate</strong>`) != past {
			t.Errorf("the overview: past is not %v", past)
		}
	}
	c := s.dial(t)
	for _, name := range []string{"a", "b", "both"} {
		c.do("BF.RESERVE", name, "0.01", "1000", "NONSCALING")
	}
	for _, name := range []string{"a", "b"} {
		for i := range 1000 {
			c.do("BF.ADD", name, fmt.Sprint(name, i))
		}
	}
	expect(false)
	if n := warnings(); n != 0 {
		t.Errorf("%d warnings about filters at their capacity: %q", n, told)
	}
	c.do("BF.MERGE", "both", "a", "b")
	s.clock.advance(time.Minute) // for the overview
	expect(true)
	expect(true)
	if n := warnings(); n != 1 {
		t.Errorf("%d warnings, want 1: %q", n, told)
	}
	// A filter that stays past its rate is not reported again; one that is made anew is.
	c.do("BF.ADD", "a", "a0")
	look()
	c.do("DEL", "both")
	look()
	if n := s.dashboard.PastRate(); n != 0 {
		t.Errorf("%d filters are past their error rate after the only one was deleted", n)
	}
	c.do("BF.RESERVE", "both", "0.01", "1000", "NONSCALING")
	c.do("BF.MERGE", "both", "a", "b")
	look()
	if n := warnings(); n != 2 {
		t.Errorf("%d warnings, want 2: %q", n, told)
	}
	// Many at once do not flood the log.
	const named = 10 // by one look
	for i := range 3 * named {
		name := fmt.Sprint("many", i)
		c.do("BF.RESERVE", name, "0.01", "1000", "NONSCALING")
		c.do("BF.MERGE", name, "a", "b")
	}
	look()
	if n, all := warnings(), s.dashboard.PastRate(); n != 2+named || all != 1+3*named {
		t.Errorf("%d warnings about %d filters, want %d", n, all, 2+named)
	}
}
