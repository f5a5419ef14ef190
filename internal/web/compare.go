package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"seen/internal/figure"
)

// comparePage is what the comparison shows.
type comparePage struct {
	A, B    string
	Offers  []offer
	Result  *Comparison
	Problem string
}

// offer is a filter that can be chosen.
type offer struct{ Name, Label string }

// maxOffers bounds the filters that the page offers.
const maxOffers = 1000

func compare(r *request) error {
	p := comparePage{A: r.FormValue("a"), B: r.FormValue("b")}
	status := http.StatusOK
	if r.URL.Query().Has("b") {
		var err error
		if p.Result, err = r.visitor.Compare(p.A, p.B); err != nil {
			refused, ok := err.(*Refused)
			if !ok {
				return err
			}
			p.Problem, status = refused.Text, refused.Status
		}
	}
	// A visitor who may not list filters can still write their names.
	if o, err := r.visitor.Overview(); err == nil {
		p.Offers = offers(o.Filters, p.A)
	}
	return r.render(status, "compare", "Compare two filters", p)
}

// offers returns the filters that can be compared, by name; first those with the capacity and
// the error rate of the one named first.
func offers(filters []*Filter, first string) (all []offer) {
	filters = slices.DeleteFunc(slices.Clone(filters), func(f *Filter) bool {
		return f.Type != "bloom" || f.Kind == "window" || !utf8.ValidString(f.Name) || len(f.Name) > maxShown
	})
	slices.SortFunc(filters, func(a, b *Filter) int { return strings.Compare(a.Name, b.Name) })
	if i := slices.IndexFunc(filters, func(f *Filter) bool { return f.Name == first }); i >= 0 {
		like := filters[i]
		slices.SortStableFunc(filters, func(a, b *Filter) int {
			rank := func(f *Filter) int {
				if f.Capacity == like.Capacity && f.Asked == like.Asked {
					return 0
				}
				return 1
			}
			return rank(a) - rank(b)
		})
	}
	for _, f := range filters[:min(len(filters), maxOffers)] {
		all = append(all, offer{f.Name, fmt.Sprintf("%s of %s keys, error rate %s", figure.Short(f.Items), figure.Short(f.Capacity), figure.Rate(f.Asked))})
	}
	return all
}
