package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"seen/internal/figure"
)

// newType is a type of filter that the form offers.
type newType struct {
	Name, Title string
	keys, rate  bool // what the type needs
}

var newTypes = []newType{
	{NewBloom, "Bloom, grows when it is full", true, true},
	{NewFixed, "Bloom, fixed size", true, true},
	{NewCuckoo, "cuckoo, keys can be removed", true, false},
	{NewCountMin, "count-min, counts keys", false, true},
	{NewTopK, "top-k, the most frequent keys", true, false},
}

// createForm is the form that creates a filter, with what the user wrote.
type createForm struct {
	Name, N, P, Type string
	Types            []newType
	Problem          string
	CSRF             string
}

// createForm returns the form filled with values of an address or of the form itself.
func (r *request) createForm(from url.Values) *createForm {
	f := &createForm{Name: from.Get("name"), N: from.Get("n"), P: from.Get("p"), Type: from.Get("type"), Types: newTypes, CSRF: r.sessions.proof(r.token)}
	if f.N == "" && f.P == "" {
		f.N, f.P = "1M", "0.001"
	}
	if !slices.ContainsFunc(newTypes, func(t newType) bool { return t.Name == f.Type }) {
		f.Type = NewBloom
	}
	return f
}

// filter returns what the form describes. Its error is a *Refused.
func (f *createForm) filter() (n NewFilter, err error) {
	wrong := func(text string) (NewFilter, error) { return n, &Refused{http.StatusBadRequest, text} }
	kind := newTypes[slices.IndexFunc(newTypes, func(t newType) bool { return t.Name == f.Type })]
	n = NewFilter{Name: f.Name, Type: f.Type}
	if n.Name == "" {
		return wrong("Give the filter a name.")
	}
	if kind.keys {
		if n.Keys, err = figure.ParseCount(strings.TrimSpace(f.N)); err != nil {
			return wrong("Keys, n: " + err.Error() + ".")
		}
		if n.Keys == 0 {
			return wrong("Keys, n: the number is 0; it must be at least 1.")
		}
	}
	if kind.rate {
		if n.Rate, err = figure.ParseRate(strings.TrimSpace(f.P)); err != nil {
			return wrong("Error rate, p: " + err.Error() + ".")
		}
	}
	return n, nil
}

// showCreate shows the form.
func showCreate(r *request) error {
	if !r.visitor.MayCreate() {
		return &Refused{http.StatusForbidden, "The user " + r.visitor.User() + " may not create filters: it has no right to run BF.RESERVE."}
	}
	return r.render(http.StatusOK, "create", "Create filter", r.createForm(r.URL.Query()))
}

// createFilter creates the filter of the form, and shows its page.
func createFilter(r *request) error {
	f := r.createForm(r.PostForm)
	n, err := f.filter()
	if err == nil {
		err = r.visitor.Create(n)
	}
	var refused *Refused
	switch {
	case errors.As(err, &refused):
		f.Problem = refused.Text
		return r.render(refused.Status, "create", "Create filter", f)
	case err != nil:
		return err
	}
	if filterURL(n.Name) == "" {
		return r.redirect("/?done=created")
	}
	return r.redirect("/filter?" + url.Values{"name": {n.Name}, "done": {"created"}}.Encode())
}
