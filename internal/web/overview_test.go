package web

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// many returns n filters of all types, some of them full, nearly full or past their error
// rates.
func many(n int) (filters []*Filter) {
	for i := range n {
		f := &Filter{
			Name: fmt.Sprintf("filter %05d", i), Type: filterTypes[i%4], Items: uint64(i % 101), Capacity: 100,
			Rate: float64(i%7) / 1000, Asked: 0.005, PastRate: i%7 == 6, Bytes: uint64(1000 + i), Adds: float64(i % 3), Checks: float64(i % 5), Hits: math.NaN(),
		}
		if f.Checks > 0 {
			f.Hits = 0.5
		}
		filters = append(filters, f)
	}
	return filters
}

func TestOverviewPages(t *testing.T) {
	o := Overview{Filters: many(1010)}
	seen := map[string]bool{}
	for q := (url.Values{"sort": {"memory"}}); ; {
		p := newOverviewPage(o, newChoice(q))
		last := uint64(math.MaxUint64)
		for _, f := range p.Rows {
			if f.Bytes >= last || seen[f.Name] {
				t.Fatalf("%s with %d bytes after %d", f.Name, f.Bytes, last)
			}
			last, seen[f.Name] = f.Bytes, true
		}
		if p.Pages != 11 || p.Totals.Count != 1010 || len(p.Rows) == 0 {
			t.Fatalf("%d pages of %d, %d rows", p.Pages, p.Totals.Count, len(p.Rows))
		}
		if p.Next == "" {
			break
		}
		u, err := url.Parse(p.Next)
		if err != nil {
			t.Fatal(err)
		}
		q = u.Query()
	}
	if len(seen) != 1010 {
		t.Errorf("%d filters on all pages", len(seen))
	}
	if p := newOverviewPage(o, newChoice(url.Values{"page": {"99"}})); p.Number != 11 || len(p.Rows) != 10 || p.Next != "" || p.Prev == "" {
		t.Errorf("page 99 is %d with %d rows", p.Number, len(p.Rows))
	}
}

func TestOverviewChoice(t *testing.T) {
	o := Overview{Filters: append(many(400), &Filter{Name: "Big", Type: "bloom", Rate: math.NaN(), Asked: math.NaN()})}
	for query, want := range map[string]int{
		"": 401, "q=bIG": 1, "q=0039": 11, "type=cuckoo": 100, "type=nothing": 401, "q=filter&type=topk": 100, "q=none": 0,
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if p := newOverviewPage(o, newChoice(q)); p.Totals.Count != want {
			t.Errorf("%s: %d filters, want %d", query, p.Totals.Count, want)
		}
	}
	p := newOverviewPage(o, newChoice(url.Values{"marked": {"1"}}))
	for _, f := range p.Rows {
		if !(f.Items >= 100 || float64(f.Items) > 80 || f.Rate > 0.005) {
			t.Errorf("%+v is marked", f)
		}
	}
	if s := p.Totals; s.Full != 3 || s.Near != 73 || s.PastRate != 57 {
		t.Errorf("%d full, %d nearly, %d above", s.Full, s.Near, s.PastRate)
	}
	for _, c := range columns {
		for _, up := range []string{"", "1"} {
			p := newOverviewPage(o, newChoice(url.Values{"sort": {c.Key}, "up": {up}}))
			for i := range p.Rows[1:] {
				n := c.compare(p.Rows[i], p.Rows[i+1])
				if c.Number != (up != "") {
					n = -n
				}
				if n > 0 {
					t.Fatalf("by %s: %q before %q", c.Key, p.Rows[i].Name, p.Rows[i+1].Name)
				}
			}
		}
	}
}

// A name that looks like HTML is shown as text.
func TestNamesAreEscaped(t *testing.T) {
	const evil = `<script>alert("1")</script>`
	b := newBrowser(t, New(Config{Source: &fake{open: true, overview: Overview{Filters: []*Filter{{Name: evil, Type: "bloom"}}}}}))
	page, _ := b.get("/?q=" + url.QueryEscape(`<script>`) + "&sort=" + url.QueryEscape(`"><b>`))
	if strings.Contains(page, "<script>") || strings.Contains(page, "<b>") || !strings.Contains(page, "&lt;script&gt;alert") {
		t.Errorf("the name is not escaped: %s", page)
	}
}

// The live events of a page have what has changed and nothing else. They end with the
// server and with the session.
func TestEvents(t *testing.T) {
	source := &fake{open: true, done: make(chan struct{}), overview: Overview{Filters: []*Filter{{Name: "a", Type: "bloom", Items: 17, Grows: true}}}}
	server := httptest.NewServer(New(Config{Source: source, Every: 5 * time.Millisecond}))
	defer server.Close()
	answer, err := http.Get(server.URL + "/events?sort=items")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatal(kind)
	}
	lines := bufio.NewScanner(answer.Body)
	next := func() (parts map[string]string) {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &parts); err != nil {
					t.Fatal(err)
				}
				return parts
			}
		}
		return nil
	}
	if first := next(); !strings.Contains(first["rows"], `title="17"`) || !strings.Contains(first["totals"], "<dd>1</dd>") {
		t.Errorf("first %q", first)
	}
	source.mu.Lock()
	source.overview.Filters = []*Filter{{Name: "a", Type: "bloom", Items: 4711, Grows: true}}
	source.mu.Unlock()
	if second := next(); !strings.Contains(second["rows"], `title="4,711"`) {
		t.Errorf("second %q", second)
	}
	close(source.done)
	if third := next(); third != nil {
		t.Errorf("after the end %q", third)
	}
}

// If the server has more filters than it lists, the page says so and links to the others by
// name.
func TestOverviewOfTheLargest(t *testing.T) {
	o := Overview{Filters: many(3), Others: 997, Partial: true}
	if p := newOverviewPage(o, newChoice(url.Values{})); p.Totals.All != 1000 || p.Totals.Count != 3 {
		t.Errorf("%+v", p.Totals)
	}
	b := newBrowser(t, New(Config{Source: &fake{open: true, overview: o}}))
	if page, _ := b.get("/"); !strings.Contains(page, "Only the largest filters are listed") {
		t.Error("the page does not say that it lists the largest filters")
	}
	if page, _ := b.get("/?q=small+one"); !strings.Contains(page, `href="/filter?name=small&#43;one"`) && !strings.Contains(page, `href="/filter?name=small+one"`) {
		t.Error("the page does not lead to a filter that is not listed")
	}
}
