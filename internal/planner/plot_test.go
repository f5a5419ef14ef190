package planner

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"

	"seen/internal/chart"
)

// The picture has a curve for each type, in both formats.
func TestPlot(t *testing.T) {
	w := Wish{N: 1_000_000, Rate: 1e-4}
	rows := Rows(w, Types)
	image, err := chart.Picture("png", Panels(w, rows)...)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(image))
	if err != nil {
		t.Fatal(err)
	}
	size := picture.Bounds().Size()
	if size.X < 1500 || size.Y < 600 {
		t.Errorf("the picture has %v pixels", size)
	}
	// By halves: the left panel, the right panel.
	found := [2]map[color.RGBA]int{{}, {}}
	for y := range size.Y {
		for x := range size.X {
			found[2*x/size.X][color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
		}
	}
	for name, l := range looks {
		if found[0][l.Color] < 100 {
			t.Errorf("left panel: %d pixels in the colour of %s", found[0][l.Color], name)
		}
	}
	for _, name := range []string{"blocked", "classic", "partitioned", "counting"} {
		if found[1][looks[name].Color] < 100 {
			t.Errorf("right panel: %d pixels in the colour of %s", found[1][looks[name].Color], name)
		}
	}

	drawing, err := chart.Picture("svg", Panels(w, rows)...)
	if err != nil {
		t.Fatal(err)
	}
	texts := svgTexts(t, drawing)
	for _, want := range []string{
		"n = 1M", "p = 1e-4", "blocked", "classic", "partitioned", "counting", "scalable", "scalable, from 1M", "static, 16 bits", "exact",
		"blocked, 1 line", "blocked, 3 lines", "planned", "error rate", "distinct keys added, n", "probes per key, k, in the memory planned for n = 1M",
		"1e-4", "100k", "5M",
	} {
		// The row from 1M is the same as the other at this n and left out.
		if want == "scalable, from 1M" {
			if texts[want] {
				t.Errorf("the drawing has %q twice", "scalable")
			}
		} else if !texts[want] {
			t.Errorf("the drawing has no text %q", want)
		}
	}
}

// svgTexts returns the texts of a drawing, which must be well-formed.
func svgTexts(t *testing.T, drawing []byte) map[string]bool {
	t.Helper()
	texts := map[string]bool{}
	for d := xml.NewDecoder(bytes.NewReader(drawing)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := token.(xml.CharData); ok {
			texts[strings.TrimSpace(string(c))] = true
		}
	}
}

// A picture without curves by k has one panel; small and huge plans can be drawn.
func TestPlotExtremes(t *testing.T) {
	for i, c := range []struct {
		w     Wish
		types []string
	}{
		{Wish{N: 1, Rate: 0.5}, Types},
		{Wish{N: 1 << 45, Rate: 1e-3}, Types},
		{Wish{N: 1000, Rate: 1e-15}, Types},
		{Wish{Memory: 64, Rate: 0.1}, Types},
		{Wish{N: 1000, Memory: 1 << 20}, Types},
		{Wish{N: 1000, Rate: 1e-3}, []string{"static"}},
		{Wish{N: 1000, Rate: 1e-3}, []string{"exact"}},
	} {
		drawing, err := chart.Picture("svg", Panels(c.w, Rows(c.w, c.types))...)
		if err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		if texts := svgTexts(t, drawing); texts["probes per key, k"] && len(c.types) == 1 {
			t.Errorf("%d: a panel by k without an array", i)
		} else if !texts["distinct keys added, n"] {
			t.Errorf("%d: no panel by n", i)
		}
	}
}
