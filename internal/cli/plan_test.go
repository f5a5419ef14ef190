package cli

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seen/bloom"
	"seen/sizing"
)

// hashes returns n distinct random hashes.
func hashes(n int) []uint64 {
	r := rand.New(rand.NewPCG(7, 11))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = r.Uint64()
	}
	return hs
}

// The growth that plan computes is that of the filter.
func TestPlannedGrowth(t *testing.T) {
	for _, c := range []struct {
		first, n int
		rate     float64
	}{{1000, 1000, 0.01}, {1000, 1001, 0.01}, {1000, 50_000, 1e-3}, {300, 20_000, 1e-6}} {
		f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: uint64(c.first), ErrorRate: c.rate})
		if err != nil {
			t.Fatal(err)
		}
		// Keys that are taken for seen are not added, so that there are as many as asked for.
		for _, h := range hashes(2 * c.n) {
			if f.AddHash(h) && f.Added() == uint64(c.n) {
				break
			}
		}
		st := f.Stats()
		r := (&growth{first: uint64(c.first), rate: c.rate}).row(uint64(c.n))[0]
		if r.Error != "" || r.Layers != st.Layers || r.M != st.Bits || r.bytes(r.N) != st.Bytes {
			t.Errorf("%+v: planned %d layers of %d bits in %d bytes (%s), it has %d of %d in %d",
				c, r.Layers, r.M, r.bytes(r.N), r.Error, st.Layers, st.Bits, st.Bytes)
		}
		// The rates by numbers of keys and by ones differ by chance only.
		if p := r.rate(r.N); math.Abs(p-st.ErrorRate) > 0.1*p {
			t.Errorf("%+v: planned error rate %g, it has %g", c, p, st.ErrorRate)
		}
	}
}

// However far it grows, the planned rate stays under the asked one, and rises.
func TestPlannedGrowthKeepsRate(t *testing.T) {
	g := &growth{first: 1000, rate: 1e-3}
	last := 0.0
	for n := uint64(1000); n < 1<<40; n += n/3 + 1 {
		p := g.errorRate(n)
		if !(p >= last && p < 1e-3) {
			t.Fatalf("error rate %g for %d keys, after %g for fewer", p, n, last)
		}
		last = p
	}
}

// Growth that the hash forbids ends; it is not planned with overfull layers.
func TestPlannedGrowthEnds(t *testing.T) {
	g := &growth{first: 1 << 20, rate: 1e-11}
	if p := g.errorRate(1 << 40); !math.IsNaN(p) {
		t.Errorf("error rate %g where there are too few hash bits", p)
	}
	rows := planRows(wish{n: 1 << 40, rate: 1e-11}, []string{"scalable"})
	if rows[0].Error == "" {
		t.Errorf("2^40 keys at 1e-11 are planned: %+v", rows[0])
	}
}

func TestPlannedStatic(t *testing.T) {
	for _, n := range []int{1000, 30_000, 300_000} {
		for _, bits := range []int{8, 16} {
			f, err := bloom.NewStatic(bloom.StaticConfig{Bits: bits}, hashes(n))
			if err != nil {
				t.Fatal(err)
			}
			// Segments have a power of two of slots: a few too many for small sets.
			is, planned := f.BitsPerKey(), staticBitsPerKey(bits, uint64(n))
			if math.Abs(is-planned) > 0.15*is || n == 300_000 && math.Abs(is-planned) > 0.05*is {
				t.Errorf("%d keys, %d bits: planned %.2f bits per key, it takes %.2f", n, bits, planned, is)
			}
			if p := f.Stats().ErrorRate; p != staticRate(bits, uint64(n)) {
				t.Errorf("%d keys, %d bits: planned error rate %g, it has %g", n, bits, staticRate(bits, uint64(n)), p)
			}
		}
	}
}

func TestPlannedExact(t *testing.T) {
	for _, n := range []int{200_000, 400_000} {
		a, err := bloom.NewAdaptive(bloom.AdaptiveConfig{})
		if err != nil {
			t.Fatal(err)
		}
		a.AddHashes(nil, hashes(n))
		r := planRows(wish{n: uint64(n), rate: 1e-6}, []string{"exact"})[0]
		if is := float64(a.Bytes()); math.Abs(is-float64(r.Bytes)) > 0.05*is {
			t.Errorf("%d keys: planned %d bytes, they take %.0f", n, r.Bytes, is)
		}
	}
}

// What is copied from a plan gives what was planned: the rate is met, and the
// memory is not exceeded.
func TestPlanCanBeCopied(t *testing.T) {
	shapes := map[string]sizing.Shape{
		"blocked": sizing.Blocked, "classic": sizing.Classic, "partitioned": sizing.Partitioned, "counting": sizing.Counting,
	}
	rapid.Check(t, func(t *rapid.T) {
		w := wish{n: rapid.Uint64Range(1000, 1e9).Draw(t, "n")}
		bits := rapid.Float64Range(3, 40).Draw(t, "bits per key")
		switch rapid.IntRange(0, 2).Draw(t, "given") {
		case 0:
			w.memory = uint64(bits * float64(w.n) / 8)
		case 1:
			w.memory, w.rate, w.n = uint64(bits*float64(w.n)/8), math.Pow(2, -bits/2), 0
		default:
			w.rate = math.Pow(2, -bits/2)
		}
		for _, r := range planRows(w, planTypes) {
			if r.Error != "" {
				continue
			}
			if w.memory != 0 && r.Bytes > w.memory {
				t.Fatalf("%s: %d bytes for a wish of %d", r.name(), r.Bytes, w.memory)
			}
			if w.rate != 0 && r.ErrorRate > w.rate*1.00001 {
				t.Fatalf("%s: error rate %g for a wish of %g", r.name(), r.ErrorRate, w.rate)
			}
			if !strings.Contains(r.Command, " -p "+flagRate(r.asked)+" ") && r.Type != "exact" {
				t.Fatalf("%s: %q does not ask for %g", r.name(), r.Command, r.asked)
			}
			shape, ok := shapes[r.Type]
			if !ok {
				continue
			}
			p, err := sizing.For(shape, r.N, r.asked)
			if err != nil {
				t.Fatalf("%s: %v", r.name(), err)
			}
			if p != r.params {
				t.Fatalf("%s: planned %+v, but -n %d -p %g makes %+v", r.name(), r.params, r.N, r.asked, p)
			}
		}
	})
}

// A sample is planned for with room for the error of its estimate.
func TestSample(t *testing.T) {
	const n = 100_000
	name := filepath.Join(t.TempDir(), "lines")
	var lines strings.Builder
	for i := range n {
		fmt.Fprintln(&lines, i)
	}
	if err := os.WriteFile(name, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	var r planReport
	if err := json.Unmarshal([]byte(output(t, "plan", "--json", "--sample", name, "--type", "classic")), &r); err != nil {
		t.Fatal(err)
	}
	s := r.Sample
	if s == nil || s.Lines != n || math.Abs(s.Distinct-n) > sigmas*s.StdErr || r.N != s.N || r.Rows[0].N != s.N {
		t.Fatalf("%+v, %+v", r, s)
	}
	if over := float64(s.N) - s.Distinct; math.Abs(over-2*s.StdErr) > 2 {
		t.Errorf("planned for %d keys, for %v with a standard error of %v", s.N, s.Distinct, s.StdErr)
	}
}

func TestRoundUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := math.Pow(10, rapid.Float64Range(-18, -0.001).Draw(t, "log p"))
		r := roundUp(p)
		if r < p || r > p*1.0101 || threeDigits(r) != r || roundUp(r) != r {
			t.Fatalf("%g is rounded up to %g", p, r)
		}
	})
}

func TestNumbersInReports(t *testing.T) {
	for is, want := range map[string]string{
		formatRate(0): "0", formatRate(1): "1", formatRate(1e-6): "1e-6", formatRate(8.89e-5): "8.89e-5",
		formatRate(0.0213): "0.0213", formatRate(0.5): "0.5", formatRate(2.5e-10): "2.5e-10",
		flagRate(1e-6): "1e-6", flagRate(1.5e-12): "1.5e-12", flagRate(0.01): "0.01",
		formatBytes(0): "0 B", formatBytes(1023): "1023 B", formatBytes(1024): "1.00 KiB", formatBytes(10240): "10.0 KiB",
		formatBytes(1 << 20): "1.00 MiB", formatBytes(1<<20 - 1): "1.00 MiB", formatBytes(102300): "99.9 KiB",
		formatBytes(102395): "100 KiB", formatBytes(math.MaxUint64): "16.0 EiB",
		comma(1234567): "1,234,567", comma(math.MaxUint64): "18446744073709551615",
		shortNumber(10_000_000): "10M", shortNumber(1500): "1500", shortNumber(2_000): "2k", shortNumber(3e12): "3T", shortNumber(7): "7",
		formatEstimate(sizing.Estimate{Value: 1234.4, StdErr: 2.1}):              "1,234 ± 3",
		formatEstimate(sizing.Estimate{Value: 1234}):                             "1,234",
		formatEstimate(sizing.Estimate{Value: math.Inf(1), StdErr: math.Inf(1)}): "full",
		formatEstimate(sizing.Estimate{Value: math.NaN(), StdErr: math.NaN()}):   "unknown",
		fmt.Sprint(digits(1234567.8), digits(1.23456789e-9), digits(0)):          "1.23457e+06 1.23457e-09 0",
	} {
		if is != want {
			t.Errorf("%q, want %q", is, want)
		}
	}
}

// The picture has a curve for each type, in both formats.
func TestPlot(t *testing.T) {
	dir := t.TempDir()
	w := wish{n: 1_000_000, rate: 1e-4}
	rows := planRows(w, planTypes)
	image := filepath.Join(dir, "p.png")
	if err := writePlot(image, w, rows); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
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
		if found[0][l.color] < 100 {
			t.Errorf("left panel: %d pixels in the colour of %s", found[0][l.color], name)
		}
	}
	for _, name := range []string{"blocked", "classic", "partitioned", "counting"} {
		if found[1][looks[name].color] < 100 {
			t.Errorf("right panel: %d pixels in the colour of %s", found[1][looks[name].color], name)
		}
	}

	drawing := filepath.Join(dir, "p.svg")
	if err := writePlot(drawing, w, rows); err != nil {
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
func svgTexts(t *testing.T, name string) map[string]bool {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	texts := map[string]bool{}
	for d := xml.NewDecoder(f); ; {
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
		w     wish
		types []string
	}{
		{wish{n: 1, rate: 0.5}, planTypes},
		{wish{n: 1 << 45, rate: 1e-3}, planTypes},
		{wish{n: 1000, rate: 1e-15}, planTypes},
		{wish{memory: 64, rate: 0.1}, planTypes},
		{wish{n: 1000, memory: 1 << 20}, planTypes},
		{wish{n: 1000, rate: 1e-3}, []string{"static"}},
		{wish{n: 1000, rate: 1e-3}, []string{"exact"}},
	} {
		name := filepath.Join(t.TempDir(), "p.svg")
		if err := writePlot(name, c.w, planRows(c.w, c.types)); err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		if texts := svgTexts(t, name); texts["probes per key, k"] && len(c.types) == 1 {
			t.Errorf("%d: a panel by k without an array", i)
		} else if !texts["distinct keys added, n"] {
			t.Errorf("%d: no panel by n", i)
		}
	}
}
