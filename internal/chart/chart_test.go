package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// A picture needs panels and a known format.
func TestPictureErrors(t *testing.T) {
	if b, err := Picture("svg"); err == nil || b != nil || !strings.Contains(err.Error(), "at least one") {
		t.Errorf("no panels: %q, %v", b, err)
	}
	if b, err := Picture("gif", NewPanel("x", "y")); err == nil || b != nil || !strings.Contains(err.Error(), "gif") {
		t.Errorf("gif: %q, %v", b, err)
	}
}

// Each curve in the legend is drawn; a curve without points is neither drawn nor named.
func TestLegend(t *testing.T) {
	p := NewPanel("keys", "bits")
	p.X.Max, p.Y.Max = 2, 2
	p.Grid()
	p.Curves(Curve{Name: "there", Points: plotter.XYs{{X: 0, Y: 1}, {X: 2, Y: 2}}, Look: Look{Color: Blue, Width: 1}, Dots: true})
	p.Curves(Curve{Name: "absent", Look: Mark(1, 2)})
	b, err := Picture("svg", p)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"keys": true, "bits": true, "there": true, "absent": false, "#0072B2": true} {
		if strings.Contains(string(b), text) != want {
			t.Errorf("%q is in the picture: %v", text, !want)
		}
	}
}

// The legend is above the curves and does not cover them, and its names are wider than in the
// font of the picture without covering the next symbol.
func TestLegendCoversNothing(t *testing.T) {
	p := NewPanel("keys", "bits")
	p.X.Max, p.Y.Max = 2, 2
	p.Curves(Curve{Name: "at the top", Points: plotter.XYs{{X: 0, Y: 2}, {X: 2, Y: 2}}, Look: Look{Color: Blue, Width: 2}})
	for i := range 9 {
		p.Curves(Curve{Name: fmt.Sprint("a name that is long, number ", i), Points: plotter.XYs{{X: 0, Y: 1}, {X: 2, Y: 1}}, Look: Look{Color: Green, Width: 2}})
	}
	rows := p.legendRows()
	if len(rows) < 3 {
		t.Errorf("%d rows for 10 long names", len(rows))
	}
	for _, row := range rows {
		width := vg.Length(0)
		for _, e := range row {
			width += p.entryWidth(p.legendStyle(), e)
		}
		if width > p.Width {
			t.Errorf("a row of %v names is %v wide, the panel %v", len(row), width, p.Width)
		}
	}
	b, err := Picture("png", p)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	most, size := 0, img.Bounds().Size()
	for y := range size.Y {
		n := 0
		for x := range size.X {
			if c := color.RGBAModel.Convert(img.At(x, y)); c == Blue {
				n++
			}
		}
		most = max(most, n)
	}
	if most < size.X*8/10 {
		t.Errorf("%d of %d pixels of a curve at the top are visible", most, size.X)
	}
}

// Cells are as bright as their shares are large.
func TestHeat(t *testing.T) {
	if b, err := Heat([][]float64{{}, nil}); err == nil || b != nil {
		t.Errorf("no shares: %d bytes, %v", len(b), err)
	}
	b, err := Heat([][]float64{{0, 0.25, 0.5, 0.75, 1, math.NaN()}, make([]float64, 65)})
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X != 640 || size.Y != 3*10+12 {
		t.Errorf("%v pixels", size)
	}
	last := -1
	for i := range 5 {
		y := int(color.GrayModel.Convert(img.At(i*10+1, 1)).(color.Gray).Y)
		if y <= last {
			t.Errorf("cell %d has the brightness %d, the one before %d", i, y, last)
		}
		last = y
	}
}
