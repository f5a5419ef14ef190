package web

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// perPage is the number of filters on a page of the overview.
const perPage = 100

// column is a column of the overview, which can be sorted by it.
type column struct {
	Key, Title string
	Number     bool // sorted with the largest first
	compare    func(a, b *Filter) int
}

var columns = []column{
	{"name", "Name", false, func(a, b *Filter) int { return strings.Compare(a.Name, b.Name) }},
	{"type", "Type", false, func(a, b *Filter) int { return strings.Compare(a.Type+a.Kind, b.Type+b.Kind) }},
	{"items", "Keys", true, func(a, b *Filter) int { return cmp.Compare(a.Items, b.Items) }},
	{"load", "Capacity used", true, func(a, b *Filter) int { return cmp.Compare(a.Load(), b.Load()) }},
	{"rate", "Error rate", true, func(a, b *Filter) int { return cmp.Compare(a.Rate, b.Rate) }},
	{"memory", "Memory", true, func(a, b *Filter) int { return cmp.Compare(a.Bytes, b.Bytes) }},
	{"adds", "Adds/s", true, func(a, b *Filter) int { return cmp.Compare(a.Adds, b.Adds) }},
	{"checks", "Checks/s", true, func(a, b *Filter) int { return cmp.Compare(a.Checks, b.Checks) }},
	{"hits", "Found", true, func(a, b *Filter) int { return cmp.Compare(a.Hits, b.Hits) }},
}

// choice says which filters the overview shows, and in which order.
type choice struct {
	Search, Type, Sort string
	Up                 bool   // in reverse order
	Marked             string // only filters with this alert; "": all filters
	Number             int    // of the page, from 1
}

// alert is a choice of filters by their alerts.
type alert struct {
	Name, Title string
	has         func(f *Filter) bool
}

// alerts are the choices. The first is for all alerts.
var alerts = []alert{
	{"1", "any", (*Filter).Marked},
	{"full", "full", (*Filter).Full},
	{"near", "over 80 % full", (*Filter).Near},
	{"rate", "past the error rate", func(f *Filter) bool { return f.PastRate }},
}

// alertOf returns the place of the alert with a name, -1 if there is none.
func alertOf(name string) int {
	return slices.IndexFunc(alerts, func(a alert) bool { return a.Name == name })
}

// filterTypes are the types that can be chosen.
var filterTypes = []string{"bloom", "cuckoo", "countmin", "topk"}

func newChoice(q url.Values) choice {
	c := choice{Search: q.Get("q"), Type: q.Get("type"), Sort: q.Get("sort"), Up: q.Get("up") != "", Marked: q.Get("marked")}
	if alertOf(c.Marked) < 0 {
		c.Marked = ""
	}
	if !slices.Contains(filterTypes, c.Type) {
		c.Type = ""
	}
	if !slices.ContainsFunc(columns, func(col column) bool { return col.Key == c.Sort }) {
		c.Sort = "name"
	}
	c.Number, _ = strconv.Atoi(q.Get("page")) // the first page if it is not a number
	c.Number = max(c.Number, 1)
	return c
}

// query returns the query of the choice without default values.
func (c choice) query() string {
	q := url.Values{}
	set := func(name, value string, is bool) {
		if is {
			q.Set(name, value)
		}
	}
	set("q", c.Search, c.Search != "")
	set("type", c.Type, c.Type != "")
	set("sort", c.Sort, c.Sort != "name")
	set("up", "1", c.Up)
	set("marked", c.Marked, c.Marked != "")
	set("page", strconv.Itoa(c.Number), c.Number > 1)
	return q.Encode()
}

func (c choice) wants(f *Filter) bool {
	return (c.Type == "" || f.Type == c.Type) && (c.Marked == "" || alerts[alertOf(c.Marked)].has(f)) && strings.Contains(strings.ToLower(f.Name), strings.ToLower(c.Search))
}

// header is the header of a column.
type header struct {
	column
	Query string // the address that sorts by it
	Sort  string // the current order, as a value of aria-sort
}

// totals are the sums over the chosen filters.
type totals struct {
	Count, All           int
	Items, Bytes         uint64
	Adds, Checks, Hits   float64
	Full, Near, PastRate int
	Server               Overview
}

// overviewPage is what the overview shows.
type overviewPage struct {
	choice
	Types   []string
	Alerts  []alert
	All     bool        // the visitor may do everything
	Create  *createForm // nil: the visitor may not create filters
	Headers []header
	Rows    []*Filter
	Totals  totals
	Pages   int
	Query   string
	First   string // addresses of other pages, "" if there are none
	Prev    string
	Next    string
	Last    string
}

func overview(r *request) error {
	page, err := r.overviewPage()
	if err != nil {
		return err
	}
	r.message = r.done()
	return r.render(http.StatusOK, "overview", "Filters", page)
}

func (r *request) overviewPage() (*overviewPage, error) {
	o, err := r.visitor.Overview()
	if err != nil {
		return nil, err
	}
	p := newOverviewPage(o, newChoice(r.URL.Query()))
	p.All = r.visitor.MayAll()
	if r.visitor.MayCreate() {
		p.Create = r.createForm(url.Values{})
	}
	return p, nil
}

// Only returns the address of the page with only the filters that have an alert.
func (p *overviewPage) Only(alert string) string {
	c := p.choice
	c.Number, c.Marked = 1, alert
	return "/?" + c.query()
}

func newOverviewPage(o Overview, c choice) *overviewPage {
	p := &overviewPage{Types: filterTypes, Alerts: alerts}
	t := &p.Totals
	t.All, t.Server = len(o.Filters)+o.Others, o
	var chosen []*Filter
	found := 0.0
	for _, f := range o.Filters {
		if !c.wants(f) {
			continue
		}
		chosen = append(chosen, f)
		t.Items, t.Bytes, t.Adds, t.Checks = t.Items+f.Items, t.Bytes+f.Bytes, t.Adds+f.Adds, t.Checks+f.Checks
		if f.Checks > 0 && !math.IsNaN(f.Hits) {
			found += f.Hits * f.Checks
		}
		switch {
		case f.Full():
			t.Full++
		case f.Near():
			t.Near++
		}
		if f.PastRate {
			t.PastRate++
		}
	}
	t.Count, t.Hits = len(chosen), math.NaN()
	if t.Checks > 0 {
		t.Hits = found / t.Checks
	}
	c.arrange(chosen)
	p.Pages = max(1, (len(chosen)+perPage-1)/perPage)
	c.Number = min(c.Number, p.Pages)
	from := (c.Number - 1) * perPage
	p.Rows = chosen[from:min(from+perPage, len(chosen))]
	p.choice, p.Query = c, c.query()
	p.link()
	return p
}

// arrange sorts the filters; equal ones by name.
func (c choice) arrange(filters []*Filter) {
	by := columns[slices.IndexFunc(columns, func(col column) bool { return col.Key == c.Sort })]
	slices.SortFunc(filters, func(a, b *Filter) int {
		n := by.compare(a, b)
		if by.Number != c.Up {
			n = -n
		}
		return cmp.Or(n, strings.Compare(a.Name, b.Name))
	})
}

// link sets the addresses of the headers and of other pages.
func (p *overviewPage) link() {
	at := func(number int) string {
		c := p.choice
		c.Number = number
		return "/?" + c.query()
	}
	if p.Number > 1 {
		p.First, p.Prev = at(1), at(p.Number-1)
	}
	if p.Number < p.Pages {
		p.Next, p.Last = at(p.Number+1), at(p.Pages)
	}
	for _, col := range columns {
		h := header{column: col, Sort: "none"}
		c := p.choice
		c.Number, c.Sort, c.Up = 1, col.Key, false
		if col.Key == p.Sort {
			c.Up = !p.Up
			if h.Sort = "ascending"; col.Number != p.Up {
				h.Sort = "descending"
			}
		}
		h.Query = "/?" + c.query()
		p.Headers = append(p.Headers, h)
	}
}

// overviewEvents keeps an overview up to date.
func overviewEvents(r *request) error {
	return r.follow("overview", func() (any, error) { return r.overviewPage() }, "rows", "totals", "none")
}
