package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"seen/cluster"
	"seen/internal/figure"
	"seen/internal/planner"
)

// planBrowser is at the pages that need no server.
func planBrowser(t *testing.T) *browser { return newBrowser(t, New(Config{})) }

// The page has the numbers of the planner, and its commands and code to copy.
func TestPlan(t *testing.T) {
	b := planBrowser(t)
	for query, w := range map[string]planner.Wish{
		"n=10M&p=1e-4": {N: 10_000_000, Rate: 1e-4}, "n=1000&memory=4KiB": {N: 1000, Memory: 4096}, "memory=1GiB&p=0.1%25": {Memory: 1 << 30, Rate: 0.001},
		"n=5k": {N: 5000, Rate: planner.DefaultRate},
	} {
		page, _ := b.get("/plan?" + query)
		for _, r := range planner.Rows(w, planner.Types) {
			wants := []string{">" + r.Name() + "<"}
			if r.Error != "" {
				wants = []string{"not possible"}
			} else {
				b.copies(query, &r)
				wants = append(wants, figure.Comma(r.N), figure.Bytes(r.Bytes), figure.Rate(figure.ThreeDigits(r.ErrorRate)))
			}
			for _, want := range wants {
				if !strings.Contains(page, want) {
					t.Errorf("%s: the page has no %q", query, want)
				}
			}
		}
	}
	if page, _ := b.get("/plan?n=1M&p=0.01&shape=classic"); strings.Contains(page, "<th scope=\"row\">blocked</th>") || !strings.Contains(page, "seen build -o SET --type classic -n 1M -p 0.01 FILE") {
		t.Error("one type is planned as all are, or cannot be copied")
	}
	if page, _ := b.get("/plan?n=1M&p=0.01"); strings.Contains(page, "Create this") {
		t.Error("a filter can be created without a server")
	}
}

// copies holds the blocks of a row against the planner: each has a link, and is alone on its
// page.
func (b *browser) copies(query string, r *planner.Row) {
	b.t.Helper()
	for what, text := range map[string]string{"command": r.Command, "go": r.Go, "redis": r.Redis} {
		if text == "" {
			continue
		}
		page, _ := b.get("/plan?" + query + "&" + url.Values{"copy": {r.Name()}, "for": {what}}.Encode())
		if want := "<pre>" + strings.NewReplacer(`"`, "&#34;", "+", "&#43;").Replace(text) + "</pre>"; strings.Count(page, "<pre>") != 1 || !strings.Contains(page, want) {
			b.t.Errorf("%s: %d blocks to copy, want one: %s", query, strings.Count(page, "<pre>"), want)
		}
		if link := "for=" + what; !strings.Contains(page, link) {
			b.t.Errorf("%s: no link to %s of %s", query, what, r.Name())
		}
	}
}

// The page reports invalid input and does not change it.
func TestPlanProblems(t *testing.T) {
	b := planBrowser(t)
	for query, want := range map[string]string{
		"n=x": "is not a number", "n=0": "at least 1", "p=2&n=1": "outside 0 to 1", "memory=x": "is not a size", "memory=0": "at least 1 byte",
		"n=1&p=0.1&memory=1k": "leave one empty", "p=0.1": "give the number of keys", "n=": "give the number of keys", "n=" + url.QueryEscape("<script>"): "&lt;script&gt;",
	} {
		a := b.do("GET", "/plan?"+query, nil)
		page := text(t, a)
		if a.StatusCode != http.StatusBadRequest || !strings.Contains(page, want) || strings.Contains(page, "<script>") {
			t.Errorf("%s: %s, want %q", query, a.Status, want)
		}
	}
	if page, _ := b.get("/plan?n=1T&p=1e-9&shape=exact"); !strings.Contains(page, "not possible") {
		t.Error("what is impossible is not told")
	}
	for query, status := range map[string]int{
		"n=1M&p=0.01&show=n": 200, "n=1M&p=0.01&show=k": 200, "n=1M&p=0.01&show=x": 404, "n=1M&p=0.01&shape=exact&show=k": 404, "n=x&show=n": 400, "n=1T&p=1e-9&shape=exact&show=n": 404,
	} {
		if a := b.do("GET", "/plan/chart.svg?"+query, nil); a.StatusCode != status {
			t.Errorf("%s: %s", query, a.Status)
		}
	}
}

// A filter that grows keeps its rate and takes memory; the other does not.
func TestPlanGrowth(t *testing.T) {
	p := newPlanPage(url.Values{"n": {"1M"}, "p": {"1e-3"}})
	p.complete()
	if len(p.Growth) != 5 {
		t.Fatalf("%d rows", len(p.Growth))
	}
	for i, g := range p.Growth {
		scalable, blocked := g.Cells[0], g.Cells[1]
		if scalable.Rate > 1e-3 || blocked.Bytes != p.Growth[0].Cells[1].Bytes || i > 0 && (scalable.Bytes <= p.Growth[i-1].Cells[0].Bytes || blocked.Rate <= p.Growth[i-1].Cells[1].Rate) {
			t.Errorf("times %d: %+v", g.Times, g.Cells)
		}
	}
	for _, row := range p.Fleet {
		want, err := cluster.PlanFor(cluster.Config{Capacity: 1_000_000, ErrorRate: 1e-3}, row.Nodes)
		if err != nil || row.Plan != want {
			t.Errorf("%d nodes: %+v, cluster says %+v, %v", row.Nodes, row.Plan, want, err)
		}
	}
	if len(p.Fleet) != len(fleetNodes) || p.NoFleet != "" {
		t.Errorf("%d fleets, %s", len(p.Fleet), p.NoFleet)
	}
}

// Without a server there are its own pages, and none about filters.
func TestWithoutData(t *testing.T) {
	b := planBrowser(t)
	if a := b.do("GET", "/", nil); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/plan" {
		t.Errorf("/: %s", a.Status)
	}
	for _, path := range []string{"/filter?name=a", "/compare", "/login", "/events"} {
		if a := b.do("GET", path, nil); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
	if page, _ := b.get("/plan"); strings.Contains(page, "/login") || strings.Contains(page, ">Filters<") {
		t.Error("the menu leads to what is not there")
	}
}
