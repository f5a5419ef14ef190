package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The form creates the filter that it describes, and says what is wrong with it.
func TestCreate(t *testing.T) {
	source := &fake{keys: map[string]bool{}}
	b := filterBrowser(t, source)
	page, proof := b.get("/create?n=20000&p=0.01&type=fixed")
	for _, want := range []string{`value="20000"`, `value="0.01"`, `<option value="fixed" selected>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the form has no %s", want)
		}
	}
	for _, c := range []struct {
		name, n, p, kind string
		status           int
		want             string
	}{
		{"urls", "20k", "1%", "bloom", 303, "/filter?done=created&name=urls"},
		{"counts", "", "0.001", "countmin", 303, "/filter?done=created&name=counts"},
		{"best", "50", "", "topk", 303, "/filter?done=created&name=best"},
		{strings.Repeat("x", maxLinked+1), "50", "0.1", "fixed", 303, "/?done=created"},
		{"", "1", "0.1", "bloom", 400, "Give the filter a name."},
		{"a", "", "0.1", "bloom", 400, "Keys, n: "},
		{"a", "0", "0.1", "cuckoo", 400, "it must be at least 1"},
		{"a", "many", "0.1", "fixed", 400, "is not a number"},
		{"a", "10", "2", "bloom", 400, "Error rate, p: "},
		{"a", "10", "", "bloom", 400, "Error rate, p: "},
		{"taken", "10", "0.1", "bloom", 409, "There is already a filter."},
	} {
		form := url.Values{"name": {c.name}, "n": {c.n}, "p": {c.p}, "type": {c.kind}, "csrf": {proof}}
		a := b.do("POST", "/create", form)
		got := text(t, a) + a.Header.Get("Location")
		if a.StatusCode != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%.20q %q %q %s: %s %.300s", c.name, c.n, c.p, c.kind, a.Status, got)
		}
		if c.status != 303 && (!strings.Contains(got, `name="name" value="`+c.name+`"`) || !strings.Contains(got, `<option value="`+c.kind+`" selected>`)) {
			t.Errorf("the form has lost what was written: %s", got)
		}
		form.Del("csrf")
		if a := b.do("POST", "/create", form); a.StatusCode != http.StatusForbidden {
			t.Errorf("without a proof: %s", a.Status)
		}
	}
	if want := (NewFilter{"urls", "bloom", 20000, 0.01}); len(source.created) != 4 || source.created[0] != want {
		t.Errorf("created %+v", source.created)
	}
	source.reader = true
	if a := b.do("GET", "/create", nil); a.StatusCode != http.StatusForbidden {
		t.Errorf("a reader: %s", a.Status)
	}
}

// The first page of an empty server says what to do: with a form for those who may create a
// filter, and without one for others.
func TestFirstRun(t *testing.T) {
	for _, c := range []struct {
		reader      bool
		has, hasNot []string
	}{
		{false, []string{"There are no filters yet", `action="/create"`, "BF.ADD"}, []string{"that you may read", `role="search"`}},
		{true, []string{"There are no filters that you may read", "Ask the administrator"}, []string{"<form", "BF.ADD"}},
	} {
		page, _ := filterBrowser(t, &fake{reader: c.reader}).get("/")
		for _, want := range c.has {
			if !strings.Contains(page, want) {
				t.Errorf("reader %v: the page has no %q", c.reader, want)
			}
		}
		for _, bad := range c.hasNot {
			if strings.Contains(page, bad) {
				t.Errorf("reader %v: the page has %q", c.reader, bad)
			}
		}
	}
	filters := Overview{Filters: many(3)}
	for reader, want := range map[bool]bool{false: true, true: false} {
		page, _ := filterBrowser(t, &fake{reader: reader, overview: filters}).get("/")
		if strings.Contains(page, `href="/create"`) != want || strings.Contains(page, "There are no filters") {
			t.Errorf("reader %v: the page with filters has a link to the form: %v", reader, !want)
		}
		page, _ = filterBrowser(t, &fake{reader: reader}).get("/plan?n=1M&p=0.01")
		if strings.Contains(page, "/create?n=1000000&amp;p=0.01&amp;type=fixed") != want || strings.Contains(page, "type=bloom") != want {
			t.Errorf("reader %v: the planner offers to create filters: %v", reader, !want)
		}
	}
}

// There is a link to the log-in only if a log-in may give more rights.
func TestLogInLink(t *testing.T) {
	for _, c := range []struct {
		open, reader bool
		path         string
		want         bool
	}{
		{true, false, "/", false}, {true, true, "/", true}, {false, false, "/login", false},
	} {
		b := newBrowser(t, New(Config{Source: &fake{open: c.open, reader: c.reader, password: "sesame"}}))
		if page, _ := b.get(c.path); strings.Contains(page, `href="/login"`) != c.want {
			t.Errorf("%+v: %v", c, !c.want)
		}
	}
}

// The tiles of the alerts lead to the filters that have them.
func TestTilesAreLinks(t *testing.T) {
	b := filterBrowser(t, &fake{overview: Overview{Filters: many(700)}})
	page, _ := b.get("/?q=filter&sort=items")
	for query, want := range map[string]int{"marked=full&amp;q=filter&amp;sort=items": 6, "marked=near&amp;q=filter&amp;sort=items": 127, "marked=rate&amp;q=filter&amp;sort=items": 100} {
		if !strings.Contains(page, `href="/?`+query+`"`) {
			t.Errorf("no link to %s", query)
		}
		q, err := url.ParseQuery(strings.ReplaceAll(query, "&amp;", "&"))
		if err != nil {
			t.Fatal(err)
		}
		if p := newOverviewPage(Overview{Filters: many(700)}, newChoice(q)); p.Totals.Count != want {
			t.Errorf("%s: %d filters, want %d", query, p.Totals.Count, want)
		}
	}
}

// The comparison offers Bloom filters, first those that can be compared with the one chosen.
func TestOffers(t *testing.T) {
	filters := []*Filter{
		{Name: "a", Type: "bloom", Items: 5, Capacity: 100, Asked: 0.01}, {Name: "z", Type: "bloom", Capacity: 1000, Asked: 0.01},
		{Name: "b", Type: "bloom", Kind: "window", Capacity: 1000, Asked: 0.01}, {Name: "c", Type: "cuckoo"}, {Name: "\xff", Type: "bloom"},
	}
	names := func(first string) string {
		all := ""
		for _, o := range offers(filters, first) {
			all += o.Name
		}
		return all
	}
	if got := names("") + " " + names("z"); got != "az za" {
		t.Errorf("%q", got)
	}
	page, _ := filterBrowser(t, &fake{keys: map[string]bool{}, overview: Overview{Filters: filters}}).get("/compare")
	if want := `<option value="a">5 of 100 keys, error rate 0.01</option>`; !strings.Contains(page, want) {
		t.Errorf("the page does not offer %s", want)
	}
}
