package web

import (
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"seen/internal/figure"
	"seen/sizing"
)

// filterPage is what the page of a filter shows.
type filterPage struct {
	*Detail
	Live     string // the address of its live events
	Spans    []spanLink
	Span     Span
	Charts   []chartLink
	Bits     bool
	Missed   sizing.Estimate // keys that the filter wrongly reported as seen; Items does not count them
	Answers  []Answer        // for the keys of Question
	Question string          // the keys that were checked
	Problem  string          // what is wrong with a form
	Now      time.Time
}

// spanLink is a link to the page with charts over another span.
type spanLink struct {
	Title, URL string
	Current    bool
}

// chartLink is a chart on a page.
type chartLink struct{ Title, URL string }

// chartSpan is a span with what charts over it show.
type chartSpan struct {
	span   Span
	title  string
	length time.Duration
	unit   time.Duration // of the axis
	axis   string
}

var spans = []chartSpan{
	{Hour, "the last hour", time.Hour, time.Minute, "minutes before now"},
	{Day, "the last day", 24 * time.Hour, time.Hour, "hours before now"},
	{Month, "the last 30 days", 30 * 24 * time.Hour, 24 * time.Hour, "days before now"},
}

// spanOf returns the span with a name, that of an hour for other names.
func spanOf(name string) chartSpan {
	i := slices.IndexFunc(spans, func(s chartSpan) bool { return string(s.span) == name })
	return spans[max(i, 0)]
}

// name returns the name of the filter that the request is about. Forms send it in their
// address, since browsers change fields that are not text.
func (r *request) name() string { return r.FormValue("name") }

// filterPage returns the contents of the page of the filter that the request names.
func (r *request) filterPage() (*filterPage, error) {
	name := r.name()
	d, err := r.visitor.Filter(name)
	if err != nil {
		return nil, err
	}
	p := &filterPage{Detail: d, Span: spanOf(r.FormValue("span")).span, Now: r.Now()}
	p.Live = "/filter/events?" + url.Values{"name": {name}, "span": {string(p.Span)}}.Encode()
	for _, s := range spans {
		u := "/filter?name=" + url.QueryEscape(name) + "&span=" + string(s.span)
		p.Spans = append(p.Spans, spanLink{s.title, u, s.span == p.Span})
	}
	for _, c := range chartsOf(d.Type) {
		p.Charts = append(p.Charts, chartLink{c.title, "/filter/chart.svg?name=" + url.QueryEscape(name) + "&span=" + string(p.Span) + "&show=" + c.name})
	}
	p.Bits = d.Type == "bloom" || d.Type == "cuckoo"
	if p.Keys.Known() {
		p.Missed = sizing.Estimate{Value: max(0, p.Keys.Value-float64(p.Items)), StdErr: p.Keys.StdErr}
	}
	return p, nil
}

// Outlook says when the filter will be full or will grow, "" if that is unknown.
func (p *filterPage) Outlook() string {
	switch {
	case p.Forecast == nil:
		return ""
	case p.Grows:
		return "Grows in " + p.Forecast.String()
	}
	return "Full in " + p.Forecast.String()
}

// done returns the message about what was done. It comes from the address of the page, so
// that reloading the page does nothing again.
func (r *request) done() string {
	count := func(key string) string {
		n, _ := strconv.ParseUint(r.FormValue(key), 10, 64) // 0 if it is not a number
		return figure.Comma(n)
	}
	return map[string]string{
		"added":    count("new") + " of " + count("of") + " keys were new.",
		"cleared":  "The filter was cleared: it has no keys.",
		"expires":  "The time of deletion is set.",
		"persists": "The filter will not be deleted automatically.",
		"deleted":  "The filter was deleted.",
		"created":  "The filter was created. Add keys below, or with a program.",
	}[r.FormValue("done")]
}

func showFilter(r *request) error {
	p, err := r.filterPage()
	if err != nil {
		return err
	}
	r.message = r.done()
	return r.renderFilter(http.StatusOK, p)
}

func (r *request) renderFilter(status int, p *filterPage) error {
	return r.render(status, "filter", "Filter "+shown(p.Name), p)
}

// filterEvents keeps the page of a filter up to date.
func filterEvents(r *request) error {
	return r.follow("filter", func() (any, error) { return r.filterPage() }, "state", "layers")
}

// back redirects to the page of the filter with a message about what was done or, if that
// has failed, shows the page with the error.
func (r *request) back(err error, done string) error {
	if err != nil {
		return r.problem(err)
	}
	return r.redirect("/filter?" + url.Values{"name": {r.name()}, "done": {done}}.Encode())
}

// problem shows the page of the filter with an error about a form.
func (r *request) problem(err error) error {
	refused, ok := err.(*Refused)
	if !ok {
		return err
	}
	p, failed := r.filterPage()
	if failed != nil {
		return err // the filter is gone, or the user may not read it
	}
	p.Problem, p.Question = refused.Text, r.PostForm.Get("keys")
	return r.renderFilter(refused.Status, p)
}

// maxAsked is the most keys that a form checks.
const maxAsked = 1000

func checkKeys(r *request) error {
	text := r.PostForm.Get("keys")
	var keys [][]byte
	for line := range strings.Lines(text) {
		if key := strings.TrimRight(line, "\r\n"); key != "" {
			keys = append(keys, []byte(key))
		}
	}
	switch {
	case len(keys) == 0:
		return r.problem(&Refused{http.StatusBadRequest, "Type the keys to check, one per line."})
	case len(keys) > maxAsked:
		return r.problem(&Refused{http.StatusBadRequest, fmt.Sprintf("These are %d keys. At most %d can be checked at once.", len(keys), maxAsked)})
	}
	answers, err := r.visitor.Check(r.name(), keys)
	if err != nil {
		return r.problem(err)
	}
	p, err := r.filterPage()
	if err != nil {
		return err
	}
	p.Answers, p.Question = answers, text
	return r.renderFilter(http.StatusOK, p)
}

func addKeys(r *request) error {
	text := r.PostForm.Get("keys")
	if strings.TrimSpace(text) == "" {
		return r.problem(&Refused{http.StatusBadRequest, "Type the keys to add, one per line."})
	}
	return r.add(strings.NewReader(text))
}

func upload(r *request) error {
	if r.file == nil || r.file.FileName() == "" {
		return r.problem(&Refused{http.StatusBadRequest, "Choose a text file with one key per line."})
	}
	return r.add(r.transfer(r.file, nil))
}

// add adds the keys of a text. A refusal tells how many were added before it.
func (r *request) add(lines io.Reader) error {
	added, all, err := r.visitor.Add(r.name(), lines)
	if refused, ok := err.(*Refused); ok && all > 0 {
		err = &Refused{refused.Status, fmt.Sprintf("%s Before that, %d keys were added, %d of them new.", strings.TrimSuffix(refused.Text, ".")+".", all, added)}
	}
	if err != nil {
		return r.problem(err)
	}
	q := url.Values{"name": {r.name()}, "done": {"added"}, "new": {strconv.Itoa(added)}, "of": {strconv.Itoa(all)}}
	return r.redirect("/filter?" + q.Encode())
}

// confirmed returns an error if the user did not tick the box of a form.
func (r *request) confirmed() error {
	if r.PostForm.Get("sure") == "" {
		return &Refused{http.StatusBadRequest, "Nothing was done. To confirm, tick the box above the button."}
	}
	return nil
}

func clearFilter(r *request) error {
	err := r.confirmed()
	if err == nil {
		err = r.visitor.Clear(r.name())
	}
	return r.back(err, "cleared")
}

func expireFilter(r *request) error {
	if r.PostForm.Get("never") != "" {
		return r.back(r.visitor.Expire(r.name(), 0), "persists")
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(r.PostForm.Get("number")), 64)
	unit, ok := map[string]time.Duration{"minutes": time.Minute, "hours": time.Hour, "days": 24 * time.Hour}[r.PostForm.Get("unit")]
	if err != nil || !ok || !(n*unit.Hours() <= 24*36500) || n*unit.Seconds() < 1 {
		return r.problem(&Refused{http.StatusBadRequest, "Write a number of minutes, hours or days, from a second to 100 years."})
	}
	return r.back(r.visitor.Expire(r.name(), time.Duration(n*float64(unit))), "expires")
}

func deleteFilter(r *request) error {
	err := r.confirmed()
	if err == nil {
		err = r.visitor.Delete(r.name())
	}
	if err != nil {
		return r.problem(err)
	}
	return r.redirect("/?done=deleted")
}

func download(r *request) error {
	name, format := r.name(), r.FormValue("format")
	d, err := r.visitor.Filter(name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(d.Formats, func(f Format) bool { return f.Name == format })
	if i < 0 {
		return &Refused{http.StatusNotFound, "This filter is not available in that format."}
	}
	return r.visitor.Download(name, format, func() io.Writer {
		h := r.out.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(name) + d.Formats[i].Extension}))
		r.answered = true
		return r.transfer(nil, r.out)
	})
}

// fileName returns a safe file name for the name of a filter.
func fileName(name string) string {
	ok := func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("-_.", c) {
			return c
		}
		return '_'
	}
	short := strings.TrimLeft(strings.Map(ok, name), ".")
	if short == "" || len(short) > 100 {
		short = base64.RawURLEncoding.EncodeToString([]byte(name[:min(len(name), 30)])) + "filter"
	}
	return short
}
