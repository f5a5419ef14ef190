package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"seen/internal/store"
)

// While the disk is full, writes are refused with MISCONF, or 503 over HTTP, and reads are
// answered.
func TestFullDisk(t *testing.T) {
	full, err := store.Open(t.TempDir(), store.Options{Fsync: store.Never, Reserve: 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := full.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	s := start(t, func(c *Config) { c.Store = full })
	c := s.dial(t)
	for _, line := range []string{
		"BF.ADD a x", "BF.MADD a x", "BF.RESERVE a 0.01 100", "BF.WINDOW a 0.01 100 1h", "BF.INSERT a ITEMS x", "CF.ADD a x", "CF.ADDNX a x",
		"CF.RESERVE a 100", "CMS.INITBYDIM a 10 10", "CMS.INITBYPROB a 0.1 0.1", "TOPK.RESERVE a 3",
	} {
		if v := c.do(strings.Fields(line)...); !strings.HasPrefix(v.Text, "MISCONF ") || !strings.Contains(v.Text, "the disk is full") {
			t.Errorf("%s: %v", line, v)
		}
	}
	c.want(":0", "BF.EXISTS", "a", "x")
	c.want(":0", "DEL", "a")
	for _, r := range []*http.Request{
		localRequest("PUT", "http://localhost/v1/filters/a", strings.NewReader(`{"capacity":10,"error_rate":0.1}`)),
		localRequest("GET", "http://localhost/readyz", nil),
	} {
		r.Header.Set("Content-Type", "application/json")
		out := httptest.NewRecorder()
		s.HTTP(HTTPConfig{}).ServeHTTP(out, r)
		if out.Code != http.StatusServiceUnavailable || !strings.Contains(out.Body.String(), "the disk is full") {
			t.Errorf("%s %s: %d %s", r.Method, r.URL, out.Code, out.Body)
		}
	}
}
