package web

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"seen/internal/chart"
	"seen/internal/figure"
)

// A historyChart is a chart of the history of a filter over a span.
type historyChart struct {
	name, title string
	types       []string // types of filters that have this chart; nil: all
	draw        func(h *history) *chart.Panel
}

var historyCharts = []historyChart{
	{"keys", "Keys and capacity", nil, drawKeys},
	{"fill", "Fill ratio", []string{"bloom", "cuckoo"}, drawFill},
	{"rate", "Error rate", []string{"bloom", "cuckoo"}, drawRate},
	{"traffic", "Adds, checks and found keys per second", nil, drawTraffic},
}

// chartsOf returns the charts for filters of a type.
func chartsOf(kind string) (all []historyChart) {
	for _, c := range historyCharts {
		if c.types == nil || slices.Contains(c.types, kind) {
			all = append(all, c)
		}
	}
	return all
}

// history has the samples of a filter over a span, and its current state.
type history struct {
	detail  *Detail
	samples []Sample
	now     time.Time
	chartSpan
}

func filterChart(r *request) error {
	name, over := r.name(), spanOf(r.FormValue("span"))
	d, err := r.visitor.Filter(name)
	if err != nil {
		return err
	}
	samples, err := r.visitor.History(name, over.span)
	if err != nil {
		return err
	}
	h := &history{d, samples, r.Now(), over}
	for _, c := range chartsOf(d.Type) {
		if c.name == r.FormValue("show") {
			return r.picture("svg", c.draw(h))
		}
	}
	return &Refused{http.StatusNotFound, "There is no such chart."}
}

// picture answers with a picture of panels. An SVG may have style attributes: it is shown by
// itself, and contains no text from users.
func (r *request) picture(format string, panels ...*chart.Panel) error {
	for _, p := range panels {
		p.Transparent()
	}
	b, err := chart.Picture(format, panels...)
	if err != nil {
		return err
	}
	kind := "image/png"
	if format == "svg" {
		kind = "image/svg+xml"
		r.out.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox")
	}
	return r.image(kind, b)
}

func (r *request) image(kind string, b []byte) error {
	r.out.Header().Set("Content-Type", kind)
	_, _ = r.out.Write(b) // the browser may have gone
	return errAnswered
}

// panel returns an empty panel for the span, in the size that pages show.
func (h *history) panel(y string) *chart.Panel {
	p := chart.NewPanel(h.axis, y)
	p.Width, p.Height = 13*vg.Centimeter, 7*vg.Centimeter
	p.X.Min, p.X.Max = -float64(h.length)/float64(h.unit), 0
	p.Y.Min, p.Y.Max = 0, 1
	return p
}

// at returns the position of a time on the axis.
func (h *history) at(t time.Time) float64 {
	return max(-float64(h.length), -float64(h.now.Sub(t))) / float64(h.unit)
}

func (h *history) begin() time.Time { return h.now.Add(-h.length) }

func (h *history) beginOrCreated() time.Time {
	return slices.MaxFunc([]time.Time{h.begin(), h.detail.Created}, time.Time.Compare)
}

// level returns the curve of a value that stays the same while nothing happens.
func (h *history) level(of func(Sample) float64) (points plotter.XYs) {
	add := func(t time.Time, v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			points = append(points, plotter.XY{X: h.at(t), Y: v})
		}
	}
	from := h.begin()
	if len(h.samples) > 0 && h.samples[0].From.Before(from) {
		add(from, of(h.samples[0]))
	}
	last, until := math.NaN(), time.Time{}
	for _, s := range h.samples {
		if s.From.After(until) && !s.From.Before(from) {
			add(s.From, last) // nothing happened since the last sample
		}
		last, until = of(s), s.To
		if !s.To.Before(from) && s.To.Before(h.now) {
			add(s.To, last)
		}
	}
	present := Sample{Items: h.detail.Items, Capacity: h.detail.Capacity, Fill: h.detail.Fill, Rate: h.detail.Rate, Keys: h.detail.Keys}
	if len(h.samples) == 0 { // no change in the span, or the filter is new
		add(h.beginOrCreated(), of(present))
	}
	add(h.now, of(present))
	return points
}

const (
	// nextSample is how long after a sample the next one comes at the latest, while a filter
	// is in use.
	nextSample = 90 * time.Second
	// leastTime bounds the time by which traffic is divided: a filter may have been made a
	// moment before its first sample. Shorter gaps between samples are not shown.
	leastTime = time.Second
)

// perSecond returns the curve of a rate. It is 0 where no sample has traffic, except after
// the newest one: there the last rate goes on until the next sample is due.
func (h *history) perSecond(of func(Sample) uint64) (points plotter.XYs) {
	add := func(t time.Time, v float64) { points = append(points, plotter.XY{X: h.at(t), Y: v}) }
	last, rate := h.beginOrCreated(), 0.0
	add(last, 0)
	for _, s := range h.samples {
		from, to := s.From, s.To
		if from.Before(last) {
			from = last
		}
		if to.After(h.now) {
			to = h.now
		}
		if !from.Before(to) {
			continue // before the chart begins
		}
		if from.Sub(last) > leastTime {
			add(last, 0)
			add(from, 0)
		}
		rate = float64(of(s)) / max(s.To.Sub(s.From), leastTime).Seconds()
		add(from, rate)
		add(to, rate)
		last = to
	}
	if last.Before(h.now) {
		if h.now.Sub(last) > nextSample {
			rate = 0
		}
		add(last, rate)
		add(h.now, rate)
	}
	return points
}

// room draws the curves with an axis from 0 to a little above the largest value.
func room(p *chart.Panel, curves ...chart.Curve) {
	most := 0.0
	for _, c := range curves {
		for _, q := range c.Points {
			most = max(most, q.Y)
		}
	}
	p.Y.Min, p.Y.Max = 0, cmp.Or(1.15*most, 1)
	p.Y.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := plot.DefaultTicks{}.Ticks(low, high)
		for i := range ticks {
			if ticks[i].Label != "" && ticks[i].Value >= 1000 {
				ticks[i].Label = figure.Short(uint64(math.Round(ticks[i].Value)))
			}
		}
		return ticks
	})
	p.Grid()
	p.Curves(curves...)
}

func drawKeys(h *history) *chart.Panel {
	p := h.panel("keys")
	curves := []chart.Curve{{Name: "keys, counted", Look: chart.Look{Color: chart.Blue, Width: 2}, Points: h.level(func(s Sample) float64 { return float64(s.Items) })}}
	// Keys that the filter wrongly reported as seen are in it too, but are not counted.
	estimated := func(deviations float64) plotter.XYs {
		return h.level(func(s Sample) float64 {
			if s.Keys.Value == 0 {
				return math.NaN()
			}
			return max(float64(s.Items), s.Keys.Value+deviations*s.Keys.StdErr)
		})
	}
	if high := estimated(2); len(high) > 0 {
		p.Band("with missed keys, ± 2 standard errors", chart.SkyBlue, estimated(-2), high)
		curves = append([]chart.Curve{
			{Points: high}, // for the axis
			{Look: chart.Look{Color: chart.SkyBlue, Width: 1.5, Dashes: []vg.Length{4, 3}}, Points: estimated(0)},
		}, curves...)
	}
	if h.detail.Capacity > 0 {
		curves = append(curves, chart.Curve{Name: "capacity", Look: chart.Mark(4, 3), Points: h.level(func(s Sample) float64 { return float64(s.Capacity) })})
	}
	room(p, curves...)
	return p
}

func drawFill(h *history) *chart.Panel {
	p := h.panel("share of ones")
	if h.detail.Type == "cuckoo" {
		p.Y.Label.Text = "share of slots in use"
	}
	room(p, chart.Curve{Name: "fill ratio", Look: chart.Look{Color: chart.Green, Width: 2}, Points: h.level(func(s Sample) float64 { return s.Fill })})
	p.Y.Max = 1
	return p
}

func drawRate(h *history) *chart.Panel {
	p := h.panel("error rate")
	now := chart.Curve{Name: "error rate", Look: chart.Look{Color: chart.Vermilion, Width: 2}, Points: h.level(func(s Sample) float64 {
		if s.Rate <= 0 {
			return math.NaN() // has no logarithm
		}
		return s.Rate
	})}
	curves := []chart.Curve{now}
	if asked := h.detail.Asked; asked > 0 {
		curves = append(curves, chart.Curve{
			Name: "asked for, at capacity", Look: chart.Mark(4, 3),
			Points: plotter.XYs{{X: p.X.Min, Y: asked}, {X: 0, Y: asked}},
		})
	}
	p.DecadesDown(curves...)
	p.Grid()
	p.Curves(curves...)
	return p
}

func drawTraffic(h *history) *chart.Panel {
	p := h.panel("keys per second")
	room(p,
		chart.Curve{Name: "adds", Look: chart.Look{Color: chart.Blue, Width: 2}, Points: h.perSecond(func(s Sample) uint64 { return s.Adds })},
		chart.Curve{Name: "checks", Look: chart.Look{Color: chart.Orange, Width: 2}, Points: h.perSecond(func(s Sample) uint64 { return s.Checks })},
		chart.Curve{Name: "found", Look: chart.Look{Color: chart.Green, Width: 1.5, Dashes: []vg.Length{4, 3}}, Points: h.perSecond(func(s Sample) uint64 { return s.Hits })},
	)
	return p
}

func filterBits(r *request) error {
	layers, err := r.visitor.Bits(r.name())
	if err != nil {
		return err
	}
	if len(layers) == 0 {
		return &Refused{http.StatusNotFound, "This filter has no bits to show."}
	}
	b, err := chart.Heat(layers)
	if err != nil {
		return err
	}
	return r.image("image/png", b)
}
