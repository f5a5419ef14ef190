package server

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// scrape returns the metrics of a server.
func scrape(t *testing.T, s *testServer) string {
	t.Helper()
	out := httptest.NewRecorder()
	s.HTTP(HTTPConfig{}).ServeHTTP(out, localRequest("GET", "http://127.0.0.1/metrics", nil))
	if out.Code != 200 {
		t.Fatalf("%d %s", out.Code, out.Body)
	}
	return out.Body.String()
}

func TestMetrics(t *testing.T) {
	m := NewMetrics("1.2.3")
	s := start(t, func(c *Config) { c.Metrics = m })
	c := s.dial(t)
	c.do("BF.RESERVE", "urls", "0.01", "1000")
	c.do("BF.MADD", "urls", "a", "b", "c")
	c.do("BF.ADD", "urls")
	c.do("CF.ADD", `say "hi"`, "a")
	m.Fsync(3 * time.Millisecond)
	m.Checkpoint(time.Second, 77)
	m.Error()
	text := scrape(t, s)
	for _, want := range []string{
		`seen_build_info{version="1.2.3"} 1`,
		"seen_filters 2\n",
		`seen_filter_added{filter="urls"} 3`,
		`seen_filter_capacity{filter="urls"} 1000`,
		`seen_filter_fill_ratio{filter="urls"} 0.0`,
		`seen_filter_error_rate{filter="urls"} `,
		`seen_filter_bytes{filter="say \"hi\"",type="MBbloomCF"} `,
		"seen_filters_not_shown 0\n",
		"seen_connections 1\n",
		`seen_commands_total{command="bf.madd"} 1`,
		`seen_command_failures_total{command="bf.add"} 1`,
		`seen_command_duration_seconds_count{family="bf"} 2`,
		`seen_command_duration_seconds_count{family="cf"} 1`,
		"seen_fsync_duration_seconds_count 1\n",
		"seen_checkpoint_bytes_total 77\n",
		"seen_background_errors_total 1\n",
		"seen_writable 1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// Clients choose the names and the number of filters, but not the number of time series.
func TestMetricsAreBounded(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	const filters = maxFilterSeries + 150
	for i := range filters {
		c.do("BF.RESERVE", fmt.Sprint("f", i), "0.01", "10")
	}
	c.do("BF.RESERVE", "large", "0.01", "1000000")
	c.do("BF.RESERVE", strings.Repeat("x", maxFilterLabel+1), "0.01", "10000000")
	c.do("BF.RESERVE", "\xff", "0.01", "10000000")
	text := scrape(t, s)
	if n := strings.Count(text, "\nseen_filter_bytes{"); n != maxFilterSeries {
		t.Errorf("%d filters have series, want %d", n, maxFilterSeries)
	}
	if !strings.Contains(text, `seen_filter_bytes{filter="large"`) {
		t.Error("the largest filter has none")
	}
	if want := fmt.Sprintf("seen_filters_not_shown %d\n", filters+3-maxFilterSeries); !strings.Contains(text, want) {
		t.Errorf("there is no %s", want)
	}
}
