package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// small is the standard corpus of a kind at a thousandth of its size.
func small(t testing.TB, k Kind) Config {
	t.Helper()
	c, err := Standard(k).Scale(1e-3)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestGolden holds the bytes: figures and acceptance tests of different
// releases and platforms speak of the same input.
func TestGolden(t *testing.T) {
	for kind, want := range map[Kind]string{
		URLs:  "86dfb12016089e03178474a760ba6995b72a7d75bdd0b2ceab6ae090d49e01c4",
		Short: "d956e395730cf8303dd90e9ebe96f9e0f99633b7ba07b47920a9d9e9494a3088",
		Paths: "88dbeffad787f664895a49b5e23d35b66eee390d9537c7a2af36569c34476ab2",
		IDs:   "9d2d25d1ed9144570332be6697c8f2d7a9aa3de51e1a1e957e939cbad1ec5465",
	} {
		r, err := NewReader(small(t, kind))
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		if _, err := io.Copy(h, r); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("%s: the corpus has changed: SHA-256 is %s, was %s", kind, got, want)
		}
	}
}

// check reads all of c and compares every promise of the package with a map of
// the lines.
func check(t interface{ Fatalf(string, ...any) }, c Config) {
	g, err := New(c)
	if err != nil {
		t.Fatalf("New(%+v): %v", c, err)
	}
	seen := map[string]uint64{}
	var lines uint64
	for {
		l, ok := g.Next()
		if !ok {
			break
		}
		lines++
		ordinal, old := seen[string(l.Text)]
		switch {
		case l.First == old:
			t.Fatalf("%+v: line %d, %q: First is %v, but the line was seen before: %v", c, lines, l.Text, l.First, old)
		case old && ordinal != l.Ordinal:
			t.Fatalf("%+v: %q has the ordinals %d and %d", c, l.Text, ordinal, l.Ordinal)
		case !old && l.Ordinal != uint64(len(seen)):
			t.Fatalf("%+v: new line %d has ordinal %d", c, len(seen), l.Ordinal)
		case bytes.ContainsAny(l.Text, "\t\n\r\x00") || len(l.Text) == 0:
			t.Fatalf("%+v: line %q is empty or holds a control character", c, l.Text)
		}
		seen[string(l.Text)] = l.Ordinal
	}
	if lines != c.Lines || uint64(len(seen)) != c.Distinct {
		t.Fatalf("%+v: got %d lines, %d distinct", c, lines, len(seen))
	}
	if _, ok := g.Next(); ok {
		t.Fatalf("%+v: Next goes on after the last line", c)
	}
}

func TestCountsAreExact(t *testing.T) {
	for _, k := range Kinds() {
		check(t, small(t, k))
	}
	for _, size := range [][2]uint64{
		{1, 1}, {2, 1}, {2, 2}, {3, 2}, {5000, 1}, {5000, 2}, {5000, 4999}, {5000, 5000},
		{blockLines, 7}, {blockLines + 1, blockLines + 1}, {2*blockLines - 1, blockLines + 1},
	} {
		for _, k := range Kinds() {
			check(t, Config{Kind: k, Lines: size[0], Distinct: size[1], Seed: 3})
		}
	}
}

func TestCountsAreExactForAnyConfig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.Uint64Range(1, 3*blockLines).Draw(t, "lines")
		check(t, Config{
			Kind:     rapid.SampledFrom(Kinds()).Draw(t, "kind"),
			Lines:    lines,
			Distinct: rapid.Uint64Range(1, lines).Draw(t, "distinct"),
			Seed:     rapid.Uint64().Draw(t, "seed"),
		})
	})
}

// TestLargeConfigsAddUp follows the plan of first occurrences, without the
// lines, where 64 bits do not hold the products in it.
func TestLargeConfigsAddUp(t *testing.T) {
	for _, c := range []Config{
		{Lines: MaxLines, Distinct: MaxLines},
		{Lines: MaxLines, Distinct: MaxLines - 1},
		{Lines: MaxLines, Distinct: MaxLines / 3},
		{Lines: MaxLines, Distinct: 1},
	} {
		if got := c.distinctBy(c.Lines); got != c.Distinct {
			t.Errorf("%+v: %d distinct lines planned", c, got)
		}
		half, want := c.distinctBy(c.Lines/2), float64(c.Distinct)*5/8
		if math.Abs(float64(half)-want) > 3 {
			t.Errorf("%+v: %d distinct lines in the first half, want %.0f", c, half, want)
		}
	}
}

// TestNewLinesFallEvenly compares the number of distinct lines after each
// eighth of a corpus with the density that Config documents.
func TestNewLinesFallEvenly(t *testing.T) {
	c := Config{Kind: IDs, Lines: 64 * blockLines, Distinct: 16 * blockLines, Seed: 5}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for eighth := 1; eighth <= 8; eighth++ {
		for range c.Lines / 8 {
			g.Next()
		}
		x := float64(eighth) / 8
		want := float64(c.Distinct) * x * (3 - x) / 2
		if math.Abs(float64(g.distinct)-want) > 2 {
			t.Errorf("after %d/8 of the lines %d are distinct, want %.0f", eighth, g.distinct, want)
		}
	}
}

// TestLastNumberIsUnique checks the reason for which lines of different
// ordinals differ: the last run of digits is a permutation of the ordinal.
func TestLastNumberIsUnique(t *testing.T) {
	for _, k := range []Kind{URLs, Short, Paths} {
		c := Config{Kind: k, Lines: 50_000, Distinct: 50_000, Seed: 9}
		seen := make([]bool, 1<<16)
		for ordinal := range c.Distinct {
			line := string(c.AppendLine(nil, ordinal))
			end := strings.LastIndexAny(line, "0123456789") + 1
			start := end
			for start > 0 && line[start-1] >= '0' && line[start-1] <= '9' {
				start--
			}
			n, err := strconv.ParseUint(line[start:end], 10, 64)
			if err != nil || n != c.number(ordinal) || line[start] == '0' && end-start > 1 {
				t.Fatalf("%q: the last number is not %d", line, c.number(ordinal))
			}
			if n >= uint64(len(seen)) || seen[n] {
				t.Fatalf("%q: number %d occurs twice or is too large", line, n)
			}
			seen[n] = true
		}
	}
}

func TestVocabulary(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range vocabulary {
		if seen[w] || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("word %q is a repetition or not of small letters", w)
		}
		seen[w] = true
	}
	if len(vocabulary) != 256 {
		t.Errorf("%d words, want 256", len(vocabulary))
	}
}

// TestZipf compares counts of draws with 1/(i+1). The sum of squared deviations
// has a chi-square distribution with d = n-1 degrees of freedom, which exceeds
// d + 2 sqrt(d x) + 2x with a probability below e^-x (Laurent and Massart,
// "Adaptive estimation of a quadratic functional", 2000, lemma 1); x = 9.2 makes
// that 1e-4, and the seeds are fixed.
func TestZipf(t *testing.T) {
	const draws = 1_000_000
	for _, n := range []uint64{1, 2, 3, 7, 8, 100, 1000} {
		r := random{mix(n)}
		counts := make([]float64, n)
		for range draws {
			counts[r.zipf(n)]++
		}
		var harmonic, chi float64
		for i := range n {
			harmonic += 1 / float64(i+1)
		}
		for i, got := range counts {
			want := draws / (float64(i+1) * harmonic)
			chi += (got - want) * (got - want) / want
		}
		free, x := float64(n-1), 9.2
		if limit := free + 2*math.Sqrt(free*x) + 2*x; chi > limit {
			t.Errorf("n = %d: chi-square %.1f with %.0f degrees of freedom, limit %.1f", n, chi, free, limit)
		}
	}
}

// TestLineLengths holds the mean lengths, newline included, that the kinds'
// comments state.
func TestLineLengths(t *testing.T) {
	for kind, want := range map[Kind][2]float64{URLs: {60, 70}, Short: {8, 12}, Paths: {48, 56}, IDs: {17, 17}} {
		c, err := Standard(kind).Scale(0.02)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(c)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, r)
		if err != nil {
			t.Fatal(err)
		}
		if mean := float64(n) / float64(c.Lines); mean < want[0] || mean > want[1] {
			t.Errorf("%s: lines have %.1f bytes on average, want %v to %v", kind, mean, want[0], want[1])
		}
	}
}

func TestReader(t *testing.T) {
	c := Config{Kind: URLs, Lines: 500, Distinct: 200, Seed: 2}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for l, ok := g.Next(); ok; l, ok = g.Next() {
		want = append(append(want, l.Text...), '\n')
	}
	r, err := NewReader(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(r, want); err != nil {
		t.Error(err)
	}
}

func TestSeedsDiffer(t *testing.T) {
	for _, k := range Kinds() {
		a := Config{Kind: k, Lines: 100, Distinct: 100, Seed: 1}
		b := a
		b.Seed = 2
		same := 0
		for i := range a.Distinct {
			if bytes.Equal(a.AppendLine(nil, i), b.AppendLine(nil, i)) {
				same++
			}
		}
		if same > 10 {
			t.Errorf("%s: %d of 100 lines are the same for seeds 1 and 2", k, same)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []Config{
		{},
		{Kind: "words", Lines: 1, Distinct: 1},
		{Kind: URLs},
		{Kind: URLs, Lines: 1},
		{Kind: URLs, Lines: 1, Distinct: 2},
		{Kind: URLs, Lines: MaxLines + 1, Distinct: 1},
		Standard("words"),
	} {
		if g, err := New(c); err == nil || g != nil {
			t.Errorf("New(%+v) = %v, %v; want an error and nothing else", c, g, err)
		}
		if r, err := NewReader(c); err == nil || r != nil {
			t.Errorf("NewReader(%+v) = %v, %v; want an error and nothing else", c, r, err)
		}
	}
	for _, f := range []float64{0, -1, math.NaN(), math.Inf(1), 1e9} {
		if c, err := Standard(URLs).Scale(f); err == nil {
			t.Errorf("Scale(%v) = %+v, want an error", f, c)
		}
	}
	c, err := Standard(URLs).Scale(1e-12)
	if err != nil || c.Lines != 1 || c.Distinct != 1 {
		t.Errorf("Scale(1e-12) = %+v, %v; want one line", c, err)
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	for _, k := range Kinds() {
		g, err := New(Standard(k))
		if err != nil {
			t.Fatal(err)
		}
		g.line = make([]byte, 0, 256)
		if n := testing.AllocsPerRun(1000, func() { g.Next() }); n != 0 {
			t.Errorf("%s: Next allocates %v times", k, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, k := range Kinds() {
		b.Run(string(k), func(b *testing.B) {
			g, err := New(Standard(k))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				g.Next()
			}
		})
	}
}
