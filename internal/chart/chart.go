// Package chart draws the curves of the planner and of the pages as SVG or PNG: panels with
// the same fonts and grid, in colours that readers with any colour vision can tell apart.
// It knows no filters; its callers provide points and names.
//
// A panel is for one goroutine; different goroutines may draw different panels.
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

// Mark returns the look of a line that marks a value to compare curves with.
func Mark(dashes ...vg.Length) Look { return Look{markColour, dashes, 1} }

// A Curve is a line of a panel. The legend has its name unless that is "".
type Curve struct {
	Name   string
	Points plotter.XYs
	Look   Look
	Dots   bool // draw the points too
}

// A Panel is a pair of axes with curves, and above them a legend, which covers nothing.
type Panel struct {
	*plot.Plot
	// Width and Height are the size of the panel in a picture; 0 means the default.
	Width, Height vg.Length
	legend        []legendEntry
}

// NewPanel returns an empty panel with the common fonts.
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
	return &Panel{Plot: p, Width: panelWidth, Height: panelHeight}
}

// Transparent leaves out the background, for pages that have their own.
func (p *Panel) Transparent() { p.BackgroundColor = nil }

// Grid adds the grid. Curves that are added later cover it.
func (p *Panel) Grid() {
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = gridColour, gridColour
	p.Add(g)
}

// gridColour is visible on every background.
var gridColour = color.NRGBA{A: 0x22}

// Curves adds curves. One without points adds nothing.
func (p *Panel) Curves(curves ...Curve) {
	for _, c := range curves {
		p.curve(c)
	}
}

func (p *Panel) curve(c Curve) {
	line, err := plotter.NewLine(c.Points)
	if err != nil || len(c.Points) == 0 {
		return
	}
	line.Color, line.Dashes, line.Width = c.Look.Color, c.Look.Dashes, c.Look.Width
	p.Add(line)
	if c.Name != "" {
		p.Explain(c.Name, line)
	}
	if c.Dots {
		p.Dots(c.Points, draw.GlyphStyle{Color: c.Look.Color, Radius: vg.Points(2), Shape: draw.CircleGlyph{}})
	}
}

// Band fills the area between two curves with the same X values. Without points it does
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
	p.Explain(name, area)
}

// bandAlpha is the opacity of a band.
const bandAlpha = 0x70

// Dots adds points and returns their symbol for a legend, nil if there are no points.
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
		return nil, fmt.Errorf("the picture has no panels; give at least one")
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
		return nil, fmt.Errorf("the format %q is unknown; use svg or png", format)
	}
	if panels[0].BackgroundColor != nil {
		area := draw.New(canvas)
		area.FillPolygon(panels[0].BackgroundColor, []vg.Point{{}, {X: width}, {X: width, Y: height}, {Y: height}})
	}
	legend := vg.Length(0)
	for _, p := range panels {
		legend = max(legend, p.legendHeight())
	}
	tiles := draw.Tiles{
		Rows: 1, Cols: len(panels), PadX: vg.Centimeter,
		PadTop: vg.Points(8) + legend, PadBottom: vg.Points(8), PadLeft: vg.Points(8), PadRight: vg.Points(14),
	}
	plots := make([]*plot.Plot, len(panels))
	for i, p := range panels {
		plots[i] = p.Plot
	}
	for i, c := range plot.Align([][]*plot.Plot{plots}, tiles, draw.New(canvas))[0] {
		panels[i].Draw(c)
		panels[i].drawLegend(c)
	}
	var picture bytes.Buffer
	if _, err := canvas.WriteTo(&picture); err != nil {
		return nil, err
	}
	// Where the font of the picture is not installed, these have its widths.
	return bytes.ReplaceAll(picture.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

// DecadesDown makes the axis of values logarithmic, from 1 or the largest value down to the
// power of ten below the least value.
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
