package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"seen/bloom"
	"seen/internal/chart"
	"seen/sizing"
)

// howPage explains filters with a small real one, which each request makes again from the
// address of the page.
type howPage struct {
	toy
	Types, Hashes []string
	Bits          []bit
	Lines         bool // the bits are in lines of 512
	Answer        *answer
	Example       string // the address of a page with an error
	Wrong         string // the word that it checks
	Removal       *removal
	Layers        []toyLayer
	Cascade       *cascade
	Fill          chartLink
	Rate          float64 // by the formula
	Ones          int
}

// toy is the filter that an address describes.
type toy struct {
	Type, Hash string
	M, K       int
	Words      []string // added, in this order
	Out        []string // words that are known to be absent, for the cascade
	Ask        string
	Remove     string
}

const (
	mostWords   = 40
	mostLetters = 64 // bytes of a word
)

var (
	toyTypes  = []string{"classic", "partitioned", "blocked", "counting"}
	toyHashes = []string{"xxh3", "xxh3, seed 1", "siphash"}
)

// newToy reads an address. It replaces invalid values by the nearest valid ones: the page is
// to play with.
func newToy(q url.Values) toy {
	number := func(name string, def, low, high int) int {
		n, err := strconv.Atoi(q.Get(name))
		if err != nil {
			n = def
		}
		return min(max(n, low), high)
	}
	choice := func(name string, of []string) string {
		if slices.Contains(of, q.Get(name)) {
			return q.Get(name)
		}
		return of[0]
	}
	word := func(s string) string {
		s = strings.Join(strings.Fields(s), " ")
		return s[:min(len(s), mostLetters)]
	}
	t := toy{
		Type: choice("type", toyTypes), Hash: choice("hash", toyHashes), M: number("m", 64, 8, 512), K: number("k", 3, 1, 8),
		Ask: word(q.Get("ask")), Remove: word(q.Get("remove")),
	}
	words := func(name, text string) (all []string) {
		if q.Has(name) {
			text = q.Get(name)
		}
		for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' }) {
			if w = word(w); w != "" && !slices.Contains(all, w) && len(all) < mostWords {
				all = append(all, w)
			}
		}
		return all
	}
	t.Words = words("words", "apple, pear, plum")
	for _, w := range words("out", "banana, cherry, fig, grape, kiwi, lemon, lime, mango, melon, orange, papaya, peach") {
		if !slices.Contains(t.Words, w) {
			t.Out = append(t.Out, w)
		}
	}
	switch t.Type {
	case "partitioned":
		t.M -= t.M % t.K
	case "blocked":
		t.M = sizing.LineBits
	}
	return t
}

// Text returns the added words as the form shows them.
func (t toy) Text() string { return strings.Join(t.Words, ", ") }

// OutText returns the absent words as the form shows them.
func (t toy) OutText() string { return strings.Join(t.Out, ", ") }

// query returns the address of the toy.
func (t toy) query() string {
	return url.Values{
		"type": {t.Type}, "hash": {t.Hash}, "m": {strconv.Itoa(t.M)}, "k": {strconv.Itoa(t.K)}, "words": {t.Text()}, "out": {t.OutText()}, "ask": {t.Ask}, "remove": {t.Remove},
	}.Encode()
}

func (t toy) hash() bloom.Hash {
	switch t.Hash {
	case "siphash":
		return bloom.SecretHash([16]byte{15: 1})
	case "xxh3, seed 1":
		return bloom.Hash{Seed: 1}
	}
	return bloom.Hash{}
}

// params returns the layout of the toy with m bits.
func (t toy) params(m uint64) sizing.Params {
	p := sizing.Params{Shape: sizing.Classic, M: m, K: t.K}
	switch t.Type {
	case "partitioned":
		p.Shape, p.M = sizing.Partitioned, m-m%uint64(t.K)
	case "counting":
		p.Shape, p.CounterBits = sizing.Counting, sizing.DefaultCounterBits
	case "blocked":
		p.Shape, p.M, p.Lines, p.Lanes = sizing.Blocked, max(1, m/sizing.LineBits)*sizing.LineBits, 1, t.K
	}
	return p
}

// filter returns an empty filter of the toy's type with about m bits.
func (t toy) filter(m uint64) (bloom.Set, error) {
	c := bloom.Config{Params: t.params(m), Hash: t.hash()}
	switch t.Type {
	case "partitioned":
		return bloom.NewPartitioned(c)
	case "blocked":
		return bloom.New(c)
	case "counting":
		return bloom.NewCounting(c)
	}
	return bloom.NewClassic(c)
}

// bit is a bit or a counter in the picture.
type bit struct {
	Value uint64
	Probe bool   // the checked word has a probe here
	Title string // the words that have set it
	Class string
}

// answer is the answer for the checked word.
type answer struct {
	Word   string
	Hash   string
	Probes []toyProbe
	Found  bool
	Added  bool // it really was added
}

type toyProbe struct {
	Position uint64
	Set      bool
	By       string // the words that have set it
}

// removal says what removing a word does to the others.
type removal struct {
	Word    string
	Cleared int
	Lost    []string // added words that are no longer found
	Kept    []string // words that a counting filter still finds
}

// toyLayer is a layer of a scalable filter.
type toyLayer struct {
	Capacity, Added uint64
	Found           bool // it has the checked word
}

// newHowPage makes the filter of a toy and everything that the page shows of it.
func newHowPage(t toy) (*howPage, error) {
	p := &howPage{toy: t, Types: toyTypes, Hashes: toyHashes, Lines: t.Type == "blocked"}
	f, err := t.filter(uint64(t.M))
	if err != nil {
		return nil, err
	}
	hash := f.Hash()
	by := make([][]string, t.params(uint64(t.M)).M)
	counts := make([]uint64, len(by))
	for _, w := range t.Words {
		h := hash.SumString(w)
		f.AddHash(h)
		traces, err := bloom.TraceOf(f, h)
		if err != nil {
			return nil, err
		}
		for _, probe := range traces[0].Probes {
			i := probe.Position
			counts[i]++
			if !slices.Contains(by[i], w) {
				by[i] = append(by[i], w)
			}
		}
	}
	p.Bits = make([]bit, len(by))
	for i := range by {
		p.Bits[i].Title = fmt.Sprintf("%d: %s", i, strings.Join(by[i], ", "))
		if counts[i] > 0 {
			p.Ones++
			p.Bits[i].Value, p.Bits[i].Class = 1, "one"
		}
		if t.Type == "counting" {
			p.Bits[i].Value = min(counts[i], 1<<sizing.DefaultCounterBits-1)
		}
	}
	if t.Ask != "" {
		if err := p.ask(f, by); err != nil {
			return nil, err
		}
	}
	if err := p.remove(by); err != nil {
		return nil, err
	}
	p.Rate = f.Stats().Params.ErrorRate(uint64(len(t.Words)))
	p.Fill = chartLink{"Error rate, measured and predicted", "/how/fill.svg?" + t.query()}
	p.findWrong(f)
	if p.Cascade, err = newCascade(t.Words, t.Out, t.Ask); err != nil {
		return nil, err
	}
	return p, p.grow()
}

// ask checks the word and marks its probes.
func (p *howPage) ask(f bloom.Set, by [][]string) error {
	hash := f.Hash()
	h := hash.SumString(p.Ask)
	traces, err := bloom.TraceOf(f, h)
	if err != nil {
		return err
	}
	a := &answer{Word: p.Ask, Hash: fmt.Sprintf("%016x", h), Found: f.HasHash(h), Added: slices.Contains(p.Words, p.Ask)}
	for _, probe := range traces[0].Probes {
		b := &p.Bits[probe.Position]
		b.Probe = true
		if b.Class += " hit"; !probe.Set {
			b.Class += " miss"
		}
		a.Probes = append(a.Probes, toyProbe{probe.Position, probe.Set, strings.Join(by[probe.Position], ", ")})
	}
	p.Answer = a
	return nil
}

// findWrong looks for a false positive.
func (p *howPage) findWrong(f bloom.Set) {
	hash := f.Hash()
	for i := range 20_000 {
		w := "word " + strconv.Itoa(i)
		if f.HasHash(hash.SumString(w)) && !slices.Contains(p.Words, w) {
			t := p.toy
			t.Ask = w
			p.Wrong, p.Example = w, "/how?"+t.query()
			return
		}
	}
}

// remove computes what clearing the bits of a word does to the others, and what a counting
// filter does instead.
func (p *howPage) remove(by [][]string) error {
	if !slices.Contains(p.Words, p.Remove) {
		return nil
	}
	t := p.toy
	counting := t
	counting.Type = "counting"
	c, err := bloom.NewCounting(bloom.Config{Params: counting.params(uint64(t.M)), Hash: t.hash()})
	if err != nil {
		return err
	}
	for _, w := range t.Words {
		c.AddString(w)
	}
	c.RemoveString(t.Remove)
	r := &removal{Word: t.Remove}
	lost := map[string]bool{}
	for i := range by {
		if slices.Contains(by[i], t.Remove) {
			r.Cleared++
			for _, w := range by[i] {
				lost[w] = true
			}
		}
	}
	for _, w := range t.Words {
		if w == t.Remove {
			continue
		}
		if lost[w] {
			r.Lost = append(r.Lost, w)
		}
		if c.HasString(w) {
			r.Kept = append(r.Kept, w)
		}
	}
	p.Removal = r
	return nil
}

// toyCapacity is the capacity of the first layer of the scalable filter.
const toyCapacity = 4

// grow adds the words to a scalable filter.
func (p *howPage) grow() error {
	s, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: toyCapacity, ErrorRate: 0.05, Hash: p.hash()})
	if err != nil {
		return err
	}
	hash := s.Hash()
	for _, w := range p.Words {
		s.AddString(w)
	}
	traces, err := bloom.TraceOf(s, hash.SumString(p.Ask))
	if err != nil {
		return err
	}
	left := uint64(len(p.Words))
	growth := sizing.Growth{First: toyCapacity, Factor: sizing.DefaultGrowth}
	for i, trace := range traces {
		capacity := growth.Capacity(i)
		l := toyLayer{Capacity: capacity, Added: min(left, capacity), Found: trace.Found && p.Ask != ""}
		left -= l.Added
		p.Layers = append(p.Layers, l)
	}
	return nil
}

func how(r *request) error {
	p, err := newHowPage(newToy(r.URL.Query()))
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "how", "How it works", p)
}

const (
	fillBits  = 4096 // of the filter that is filled
	fillAsked = 4000 // absent keys that are checked at each step
	fillSteps = 16
)

// howFill fills a real filter and draws its measured error rate and the formula.
func howFill(r *request) error {
	t := newToy(r.URL.Query())
	f, err := t.filter(fillBits)
	if err != nil {
		return err
	}
	params, hash := t.params(fillBits), f.Hash()
	most := int(params.M / 2)
	var measured, formula plotter.XYs
	key := make([]byte, 0, 32)
	for n := 1; n <= most; n++ {
		key = strconv.AppendInt(append(key[:0], "in "...), int64(n), 10)
		f.AddHash(hash.Sum(key))
		if n%(most/fillSteps) != 0 {
			continue
		}
		wrong := 0
		for i := range fillAsked {
			key = strconv.AppendInt(append(key[:0], "out "...), int64(i), 10)
			if f.HasHash(hash.Sum(key)) {
				wrong++
			}
		}
		measured = append(measured, plotter.XY{X: float64(n), Y: float64(wrong) / fillAsked})
		formula = append(formula, plotter.XY{X: float64(n), Y: params.ErrorRate(uint64(n))})
	}
	p := chart.NewPanel(fmt.Sprintf("keys in %d bits", params.M), "error rate")
	p.Height = 9 * vg.Centimeter
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(most), 0, 1
	p.Grid()
	p.Curves(chart.Curve{Name: "formula", Look: chart.Look{Color: chart.Blue, Width: 2}, Points: formula})
	p.Explain(fmt.Sprintf("measured with %d absent keys", fillAsked), p.Dots(measured, draw.GlyphStyle{Color: chart.Vermilion, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}))
	return r.picture("svg", p)
}
