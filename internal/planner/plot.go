package planner

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"seen/internal/chart"
	"seen/internal/figure"
	"seen/sizing"
)

// curvePoints is the number of points of a curve over n.
const curvePoints = 160

const rateAxis = "error rate"

// looks are those of the types: dashes where curves cover each other.
var looks = map[string]chart.Look{
	"blocked":     {Color: chart.Blue, Width: 2},
	"classic":     {Color: chart.Vermilion, Width: 2},
	"partitioned": {Color: chart.Green, Dashes: []vg.Length{7, 4}, Width: 2},
	"counting":    {Color: chart.Black, Dashes: []vg.Length{1.5, 5}, Width: 2},
	"scalable":    {Color: chart.Purple, Width: 2},
	"static":      {Color: chart.SkyBlue, Dashes: []vg.Length{10, 3}, Width: 1.5},
	"exact":       {Color: chart.Orange, Dashes: []vg.Length{10, 3}, Width: 1.5},
}

// variantDashes tell the rows of one type apart.
var variantDashes = [][]vg.Length{nil, {4, 3}, {2, 2}}

// Panels draws the error rate of the rows against n and, if a row is one array,
// against k at the planned n: two panels, or one.
func Panels(w Wish, rows []Row) []*chart.Panel {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Error != "" })
	panels := []*chart.Panel{ratesByKeys(w, rows)}
	if byProbes := ratesByProbes(w, rows); byProbes != nil {
		panels = append(panels, byProbes)
	}
	return panels
}

// draw sets the axis of error rates and adds, in this order, the grid, a line at
// the wanted rate (0: none) and one at n (0: none), and the curves.
func (w Wish) draw(p *chart.Panel, n float64, curves []chart.Curve) {
	p.DecadesDown(curves...)
	p.Grid()
	if w.Rate != 0 {
		p.Curves(chart.Curve{
			Name: "p = " + figure.Rate(w.Rate), Look: chart.Mark(1, 2),
			Points: plotter.XYs{{X: p.X.Min, Y: w.Rate}, {X: p.X.Max, Y: w.Rate}},
		})
	}
	if n != 0 {
		p.Curves(chart.Curve{
			Name: "n = " + chart.Count(uint64(n)), Look: chart.Mark(4, 3),
			Points: plotter.XYs{{X: n, Y: p.Y.Min}, {X: n, Y: p.Y.Max}},
		})
	}
	p.Curves(curves...)
}

func ratesByKeys(w Wish, rows []Row) *chart.Panel {
	n := w.N
	for _, r := range rows {
		n = max(n, r.N)
	}
	p := chart.NewPanel("distinct keys added, n", rateAxis)
	p.X.Min, p.X.Max = max(1, float64(n)/20), 10*float64(n)
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.TickerFunc(chart.CountTicks)
	variants := map[string]int{}
	var curves []chart.Curve
	for _, r := range rows {
		c := chart.Curve{Name: r.Name(), Look: looks[r.Type]}
		for i := range curvePoints + 1 {
			keys := math.Round(p.X.Min * math.Pow(p.X.Max/p.X.Min, float64(i)/curvePoints))
			if rate := r.rate(uint64(keys)); rate > 0 { // and not NaN
				c.Points = append(c.Points, plotter.XY{X: keys, Y: rate})
			}
		}
		if v := variants[r.Type]; v > 0 {
			c.Look.Dashes = variantDashes[v]
		}
		variants[r.Type]++
		curves = append(curves, c)
	}
	w.draw(p, float64(w.N), curves)
	return p
}

// ratesByProbes draws what other numbers of probes would give in the memory of
// each row that is one array, at its n. It returns nil if there is no such row.
func ratesByProbes(w Wish, rows []Row) *chart.Panel {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.params.M == 0 })
	if len(rows) == 0 {
		return nil
	}
	x := "probes per key, k, in the memory planned"
	if w.N != 0 {
		x += " for n = " + chart.Count(w.N)
	}
	p := chart.NewPanel(x, rateAxis)
	most := 0
	var planned plotter.XYs
	for _, r := range rows {
		most = max(most, min(2*r.K+2, sizing.MaxProbes))
		planned = append(planned, plotter.XY{X: float64(r.K), Y: r.rate(r.N)})
	}
	var curves []chart.Curve
	for _, r := range rows {
		curves = append(curves, probeCurves(r, most)...)
	}
	p.X.Min, p.X.Max = 0.5, float64(most)+0.5
	p.X.Tick.Marker = plot.TickerFunc(chart.WholeTicks)
	w.draw(p, 0, curves)
	p.Explain("planned", p.Dots(planned, draw.GlyphStyle{Color: color.Black, Radius: vg.Points(5), Shape: draw.RingGlyph{}}))
	return p
}

// probeCurves returns the error rate of a row's array by k: one curve, or for a
// blocked filter one for each number of lines.
func probeCurves(r Row, most int) []chart.Curve {
	at := func(c *chart.Curve, q sizing.Params) {
		if rate := q.ErrorRate(r.N); q.Validate() == nil && rate > 0 {
			c.Points = append(c.Points, plotter.XY{X: float64(q.K), Y: rate})
		}
	}
	if r.Type != "blocked" {
		c := chart.Curve{Name: r.Type, Look: looks[r.Type], Dots: r.Type == "classic"}
		for k := 1; k <= most; k++ {
			q := r.params
			q.K = k
			if r.Type == "partitioned" {
				q.M -= q.M % uint64(k)
			}
			at(&c, q)
		}
		return []chart.Curve{c}
	}
	var curves []chart.Curve
	for lines := 1; lines <= sizing.MaxLines; lines++ {
		c := chart.Curve{Name: fmt.Sprintf("blocked, %d lines", lines), Look: looks[r.Type], Dots: true}
		if lines == 1 {
			c.Name = "blocked, 1 line"
		}
		c.Look.Dashes = [][]vg.Length{{2, 2}, {6, 3}, nil}[lines-1]
		for lanes := 1; lanes <= sizing.MaxLanes && lines*lanes <= most; lanes++ {
			q := r.params
			q.Lines, q.Lanes, q.K = lines, lanes, lines*lanes
			q.M -= q.M % (uint64(lines) * sizing.LineBits)
			at(&c, q)
		}
		curves = append(curves, c)
	}
	return curves
}
