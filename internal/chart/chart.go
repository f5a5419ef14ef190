// Package chart draws the curves of the planner and of the pages: panels with one
// lettering, one grid and colours that everybody can tell apart, as SVG or PNG. It
// knows no filters: who draws brings points and names.
//
// Panels are for one goroutine each; different goroutines may draw different ones.
package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of a picture of one panel; with two it is twice as wide.
const (
	panelWidth  = 15 * vg.Centimeter
	panelHeight = 12 * vg.Centimeter
	pictureDPI  = 144
)

// Look is how a curve is drawn.
type Look struct {
	Color  color.RGBA
	Dashes []vg.Length
	Width  vg.Length
}

// Colours that people with any kind of colour vision tell apart (Okabe and Ito,
// "Color Universal Design", 2008).
var (
	Blue       = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	Vermilion  = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	Green      = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	Black      = color.RGBA{0x00, 0x00, 0x00, 0xff}
	Purple     = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
	SkyBlue    = color.RGBA{0x56, 0xb4, 0xe9, 0xff}
	Orange     = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	markColour = color.RGBA{0x55, 0x55, 0x55, 0xff}
)

// Mark returns the look of a line that is no curve but a value to compare with.
func Mark(dashes ...vg.Length) Look { return Look{markColour, dashes, 1} }

// A Curve is a line of a panel with its name in the legend; "" is left out there.
type Curve struct {
	Name   string
	Points plotter.XYs
	Look   Look
	Dots   bool // the points mean something by themselves
}

// A Panel is one system of axes with curves.
type Panel struct {
	*plot.Plot
	// Width and Height are those of the panel in a picture; 0 stands for the default.
	Width, Height vg.Length
}

// NewPanel returns an empty panel with the lettering of all of them.
func NewPanel(x, y string) *Panel {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
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
	return &Panel{Plot: p, Width: panelWidth, Height: panelHeight}
}

// LegendLeft puts the legend to the left or the right of the panel.
func (p *Panel) LegendLeft(left bool) {
	p.Legend.Left = left
	p.Legend.XOffs = vg.Points(6)
	if !left {
		p.Legend.XOffs = -p.Legend.XOffs
	}
}

// Grid adds the grid, which what is added later covers.
func (p *Panel) Grid() {
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(g)
}

// Curve adds c; without points it does nothing.
func (p *Panel) Curve(c Curve) {
	line, err := plotter.NewLine(c.Points)
	if err != nil || len(c.Points) == 0 {
		return
	}
	line.Color, line.Dashes, line.Width = c.Look.Color, c.Look.Dashes, c.Look.Width
	p.Add(line)
	if c.Name != "" {
		p.Legend.Add(c.Name, line)
	}
	if c.Dots {
		p.Dots(c.Points, draw.GlyphStyle{Color: c.Look.Color, Radius: vg.Points(2), Shape: draw.CircleGlyph{}})
	}
}

// Band fills what lies between two curves of the same places; without points it does
// nothing.
func (p *Panel) Band(name string, c color.RGBA, low, high plotter.XYs) {
	around := slices.Clone(high)
	for _, q := range slices.Backward(low) {
		around = append(around, q)
	}
	area, err := plotter.NewPolygon(around)
	if err != nil || len(low) == 0 {
		return
	}
	area.Color, area.LineStyle.Width = color.NRGBA{c.R, c.G, c.B, bandAlpha}, 0
	p.Add(area)
	if name != "" {
		p.Legend.Add(name, area)
	}
}

// bandAlpha is how much of what lies under it a band covers.
const bandAlpha = 0x70

// Dots adds points, and returns what stands for them in a legend, nil if there are
// none.
func (p *Panel) Dots(points plotter.XYs, style draw.GlyphStyle) plot.Thumbnailer {
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return nil
	}
	dots.GlyphStyle = style
	p.Add(dots)
	return dots
}

// Picture draws panels side by side. The format is svg or png.
func Picture(format string, panels ...*Panel) ([]byte, error) {
	if len(panels) == 0 {
		return nil, fmt.Errorf("a picture of no panels; give at least one")
	}
	width, height := vg.Length(0), vg.Length(0)
	for _, p := range panels {
		width, height = width+p.Width, max(height, p.Height)
	}
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "svg":
		canvas = vgsvg.NewWith(vgsvg.UseWH(width, height))
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pictureDPI))}
	default:
		return nil, fmt.Errorf("a picture in the format %q; it is svg or png", format)
	}
	tiles := draw.Tiles{
		Rows: 1, Cols: len(panels), PadX: vg.Centimeter,
		PadTop: vg.Points(8), PadBottom: vg.Points(8), PadLeft: vg.Points(8), PadRight: vg.Points(14),
	}
	plots := make([]*plot.Plot, len(panels))
	for i, p := range panels {
		plots[i] = p.Plot
	}
	for i, c := range plot.Align([][]*plot.Plot{plots}, tiles, draw.New(canvas))[0] {
		panels[i].draw(c)
	}
	var picture bytes.Buffer
	if _, err := canvas.WriteTo(&picture); err != nil {
		return nil, err
	}
	// Where the font of the picture is not installed, these have its widths.
	return bytes.ReplaceAll(picture.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

// faint covers what lies under a legend, but for a trace.
var faint = color.NRGBA{0xff, 0xff, 0xff, 0xd8}

// draw draws p with its legend on top, readable where curves run through it.
func (p *Panel) draw(c draw.Canvas) {
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

// DecadesDown sets the axis of values to a logarithm that reaches from 1, or the
// largest of the values, down to the power of ten under the least of them.
func (p *Panel) DecadesDown(curves ...Curve) {
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.TickerFunc(decadeTicks)
	p.Y.Min, p.Y.Max = 1, 1
	for _, c := range curves {
		for _, q := range c.Points {
			p.Y.Min = min(p.Y.Min, q.Y)
		}
	}
	p.Y.Min = math.Pow(10, math.Floor(math.Log10(p.Y.Min)-0.01))
}
