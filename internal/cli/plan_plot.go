package cli

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"seen/internal/vfs"
	"seen/sizing"
)

// Size of a picture of one panel; with two it is twice as wide.
const (
	panelWidth  = 15 * vg.Centimeter
	panelHeight = 12 * vg.Centimeter
	pictureDPI  = 144
)

// curvePoints is the number of points of a curve over n.
const curvePoints = 160

// look is the colour and the dashes of a type: colours that people with any kind
// of colour vision tell apart (Okabe and Ito, "Color Universal Design", 2008), and
// dashes where curves lie upon each other.
type look struct {
	color  color.RGBA
	dashes []vg.Length
	width  vg.Length
}

var looks = map[string]look{
	"blocked":     {color.RGBA{0x00, 0x72, 0xb2, 0xff}, nil, 2},
	"classic":     {color.RGBA{0xd5, 0x5e, 0x00, 0xff}, nil, 2},
	"partitioned": {color.RGBA{0x00, 0x9e, 0x73, 0xff}, []vg.Length{7, 4}, 2},
	"counting":    {color.RGBA{0x00, 0x00, 0x00, 0xff}, []vg.Length{1.5, 5}, 2},
	"scalable":    {color.RGBA{0xcc, 0x79, 0xa7, 0xff}, nil, 2},
	"static":      {color.RGBA{0x56, 0xb4, 0xe9, 0xff}, []vg.Length{10, 3}, 1.5},
	"exact":       {color.RGBA{0xe6, 0x9f, 0x00, 0xff}, []vg.Length{10, 3}, 1.5},
}

// variantDashes tell the rows of one type apart.
var variantDashes = [][]vg.Length{nil, {4, 3}, {2, 2}}

// writePlot draws the error rate of the rows against n and, at the planned n,
// against k, and replaces the file path by the picture.
func writePlot(path string, w wish, rows []planRow) error {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r planRow) bool { return r.Error != "" })
	panels := []*plot.Plot{ratesByKeys(w, rows)}
	if byProbes := ratesByProbes(w, rows); byProbes != nil {
		panels = append(panels, byProbes)
	}
	width := panelWidth * vg.Length(len(panels))
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if filepath.Ext(path) == ".svg" {
		canvas = vgsvg.NewWith(vgsvg.UseWH(width, panelHeight))
	} else {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, panelHeight), vgimg.UseDPI(pictureDPI))}
	}
	tiles := draw.Tiles{
		Rows: 1, Cols: len(panels), PadX: vg.Centimeter,
		PadTop: vg.Points(8), PadBottom: vg.Points(8), PadLeft: vg.Points(8), PadRight: vg.Points(14),
	}
	for i, c := range plot.Align([][]*plot.Plot{panels}, tiles, draw.New(canvas))[0] {
		drawPanel(panels[i], c)
	}
	var picture bytes.Buffer
	if _, err := canvas.WriteTo(&picture); err != nil {
		return err
	}
	// Where the font of the picture is not installed, these have its widths.
	svg := bytes.ReplaceAll(picture.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	return vfs.WriteAtomic(vfs.OS, path, func(out io.Writer) error {
		_, err := out.Write(svg)
		return err
	})
}

// faint covers what lies under a legend, but for a trace.
var faint = color.NRGBA{0xff, 0xff, 0xff, 0xd8}

// drawPanel draws p with its legend on top, readable where curves run through it.
func drawPanel(p *plot.Plot, c draw.Canvas) {
	legend := p.Legend
	p.Legend = plot.NewLegend()
	p.Draw(c)
	inner := p.DataCanvas(c)
	size := legend.Rectangle(inner).Size() // its place is right only for legends at the right
	right, top := inner.Max.X+legend.XOffs, inner.Max.Y+legend.YOffs
	if legend.Left {
		right = inner.Min.X + legend.XOffs + size.X
	}
	left, bottom := right-size.X, top-size.Y
	inner.FillPolygon(faint, []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}})
	legend.Draw(inner)
}

// newPanel returns an empty panel with the lettering of all of them.
func newPanel(x string) *plot.Plot {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, "error rate"
	sans := func(f *font.Font, size vg.Length) {
		f.Typeface, f.Variant, f.Size = "Liberation", "Sans", size
	}
	sans(&p.X.Label.TextStyle.Font, 11)
	sans(&p.Y.Label.TextStyle.Font, 11)
	sans(&p.X.Tick.Label.Font, 10)
	sans(&p.Y.Tick.Label.Font, 10)
	sans(&p.Legend.TextStyle.Font, 10)
	p.X.Padding, p.Y.Padding = 0, 0
	p.Legend.Top = true
	p.Legend.ThumbnailWidth = vg.Points(26)
	p.Legend.Padding = vg.Points(1.5)
	p.Legend.YOffs = -vg.Points(6)
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.TickerFunc(decadeTicks)
	return p
}

// A curve is a line of a panel with its name in the legend.
type curve struct {
	name   string
	points plotter.XYs
	look   look
	dots   bool // the points mean something by themselves
}

// addCurves sets the axis of error rates and adds, in this order, the grid, a
// line at the wanted rate (0: none) and one at n (0: none), and the curves.
func addCurves(p *plot.Plot, w wish, n float64, curves []curve) {
	p.Y.Min, p.Y.Max = 1, 1
	for _, c := range curves {
		for _, q := range c.points {
			p.Y.Min = min(p.Y.Min, q.Y)
		}
	}
	p.Y.Min = math.Pow(10, math.Floor(math.Log10(p.Y.Min)-0.01))
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(g)
	mark := curve{look: look{color.RGBA{0x55, 0x55, 0x55, 0xff}, []vg.Length{1, 2}, 1}}
	if w.rate != 0 {
		mark.points = plotter.XYs{{X: p.X.Min, Y: w.rate}, {X: p.X.Max, Y: w.rate}}
		mark.name = "p = " + formatRate(w.rate)
		mark.add(p)
	}
	if n != 0 {
		mark.points = plotter.XYs{{X: n, Y: p.Y.Min}, {X: n, Y: p.Y.Max}}
		mark.name, mark.look.dashes = "n = "+plotCount(uint64(n)), []vg.Length{4, 3}
		mark.add(p)
	}
	for _, c := range curves {
		c.add(p)
	}
}

// add adds c to p; without points it does nothing.
func (c *curve) add(p *plot.Plot) {
	line, err := plotter.NewLine(c.points)
	if err != nil {
		return
	}
	line.Color, line.Dashes, line.Width = c.look.color, c.look.dashes, c.look.width
	p.Add(line)
	p.Legend.Add(c.name, line)
	if c.dots {
		addDots(p, c.points, draw.GlyphStyle{Color: c.look.color, Radius: vg.Points(2), Shape: draw.CircleGlyph{}})
	}
}

func addDots(p *plot.Plot, points plotter.XYs, style draw.GlyphStyle) plot.Thumbnailer {
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return nil
	}
	dots.GlyphStyle = style
	p.Add(dots)
	return dots
}

func ratesByKeys(w wish, rows []planRow) *plot.Plot {
	n := w.n
	for _, r := range rows {
		n = max(n, r.N)
	}
	p := newPanel("distinct keys added, n")
	p.X.Min, p.X.Max = max(1, float64(n)/20), 10*float64(n)
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = plot.TickerFunc(countTicks)
	p.Legend.Left = true
	p.Legend.XOffs = vg.Points(6)
	variants := map[string]int{}
	var curves []curve
	for _, r := range rows {
		c := curve{name: r.name(), look: looks[r.Type]}
		for i := range curvePoints + 1 {
			keys := math.Round(p.X.Min * math.Pow(p.X.Max/p.X.Min, float64(i)/curvePoints))
			if rate := r.rate(uint64(keys)); rate > 0 { // and not NaN
				c.points = append(c.points, plotter.XY{X: keys, Y: rate})
			}
		}
		if v := variants[r.Type]; v > 0 {
			c.look.dashes = variantDashes[v]
		}
		variants[r.Type]++
		curves = append(curves, c)
	}
	addCurves(p, w, float64(w.n), curves)
	return p
}

// ratesByProbes draws what other numbers of probes would give in the memory of
// each row that is one array, at its n. It returns nil if there is no such row.
func ratesByProbes(w wish, rows []planRow) *plot.Plot {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r planRow) bool { return r.params.M == 0 })
	if len(rows) == 0 {
		return nil
	}
	x := "probes per key, k, in the memory planned"
	if w.n != 0 {
		x += " for n = " + plotCount(w.n)
	}
	p := newPanel(x)
	most := 0
	var planned plotter.XYs
	for _, r := range rows {
		most = max(most, min(2*r.K+2, sizing.MaxProbes))
		planned = append(planned, plotter.XY{X: float64(r.K), Y: r.rate(r.N)})
	}
	var curves []curve
	for _, r := range rows {
		curves = append(curves, probeCurves(r, most)...)
	}
	p.X.Min, p.X.Max = 0.5, float64(most)+0.5
	p.X.Tick.Marker = plot.TickerFunc(wholeTicks)
	p.Legend.XOffs = -vg.Points(6)
	addCurves(p, w, 0, curves)
	p.Legend.Add("planned", addDots(p, planned, draw.GlyphStyle{Color: color.Black, Radius: vg.Points(5), Shape: draw.RingGlyph{}}))
	return p
}

// probeCurves returns the error rate of a row's array by k: one curve, or for a
// blocked filter one for each number of lines.
func probeCurves(r planRow, most int) []curve {
	at := func(c *curve, q sizing.Params) {
		if rate := q.ErrorRate(r.N); q.Validate() == nil && rate > 0 {
			c.points = append(c.points, plotter.XY{X: float64(q.K), Y: rate})
		}
	}
	if r.Type != "blocked" {
		c := curve{name: r.Type, look: looks[r.Type], dots: r.Type == "classic"}
		for k := 1; k <= most; k++ {
			q := r.params
			q.K = k
			if r.Type == "partitioned" {
				q.M -= q.M % uint64(k)
			}
			at(&c, q)
		}
		return []curve{c}
	}
	var curves []curve
	for lines := 1; lines <= sizing.MaxLines; lines++ {
		c := curve{name: fmt.Sprintf("blocked, %d lines", lines), look: looks[r.Type], dots: true}
		if lines == 1 {
			c.name = "blocked, 1 line"
		}
		c.look.dashes = [][]vg.Length{{2, 2}, {6, 3}, nil}[lines-1]
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

// decadeTicks labels powers of ten, as many as fit, and marks what lies between
// where there are few.
func decadeTicks(low, high float64) []plot.Tick {
	from, to := int(math.Round(math.Log10(low))), int(math.Round(math.Log10(high)))
	step := max(1, (to-from+11)/12)
	var ticks []plot.Tick
	for e := from; e <= to; e++ {
		unit := math.Pow(10, float64(e))
		t := plot.Tick{Value: unit}
		switch {
		case (to-e)%step != 0:
		case e == 0:
			t.Label = "1"
		default:
			t.Label = fmt.Sprintf("1e%d", e)
		}
		ticks = append(ticks, t)
		for digit := 2; digit < 10 && e < to && to-from <= 6; digit++ {
			t := plot.Tick{Value: float64(digit) * unit}
			if to-from <= 2 && (digit == 2 || digit == 5) {
				t.Label = formatRate(t.Value)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// countTicks labels 1, 2 and 5 of every decade.
func countTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for unit := math.Pow(10, math.Floor(math.Log10(low))); unit <= high; unit *= 10 {
		for digit := 1.0; digit < 10; digit++ {
			v := unit * digit
			if v < low || v > high {
				continue
			}
			t := plot.Tick{Value: v}
			if digit == 1 || digit == 2 || digit == 5 {
				t.Label = tickCount(v)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// plotCount writes n in a few characters: exactly if that can be.
func plotCount(n uint64) string {
	if s := shortNumber(n); len(s) <= 6 {
		return s
	}
	return shortCount(n)
}

func tickCount(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return shortNumber(uint64(math.Round(v)))
}

// wholeTicks labels whole numbers, about ten of them.
func wholeTicks(low, high float64) []plot.Tick {
	step := max(1, int(math.Ceil((high-low)/10)))
	var ticks []plot.Tick
	for k := int(math.Ceil(low)); float64(k) <= high; k++ {
		t := plot.Tick{Value: float64(k)}
		if k%step == 0 || k == 1 {
			t.Label = fmt.Sprint(k)
		}
		ticks = append(ticks, t)
	}
	return ticks
}
