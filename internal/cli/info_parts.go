package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/cli/flagvalue"
	"seen/internal/figure"
	"seen/internal/setfile"
)

// infoReport is what info reports about one file; its JSON names are an interface to
// scripts.
type infoReport struct {
	Set string `json:"set"`
	setState
	Window    *windowReport `json:"window,omitempty"`
	Layers    []layerReport `json:"layers,omitempty"`
	Hash      hashReport    `json:"hash"`
	Rules     string        `json:"key_rules,omitempty"`
	FileBytes int64         `json:"file_bytes"`
	Format    int           `json:"format_version"`
	Checksums string        `json:"checksums"`
	Problem   string        `json:"problem,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"`
	past      error         // its error rate
}

func (r *infoReport) problem() error {
	if r.Problem != "" {
		return errors.New(r.Problem)
	}
	return r.past
}

// hashReport says how keys are hashed. The seed is a string: it may need 64 bits, and many
// readers of JSON keep 53.
type hashReport struct {
	Algorithm string `json:"algorithm"`
	Seed      string `json:"seed,omitempty"`
	KeyID     string `json:"key_id,omitempty"`
	text      string
}

// windowReport says how long a window remembers keys.
type windowReport struct {
	Span        string `json:"span,omitempty"`
	SpanKeys    uint64 `json:"span_keys,omitempty"`
	Generations int    `json:"generations"`
	Refresh     bool   `json:"refresh"`
}

// layerReport describes one of several arrays, as the header has it.
type layerReport struct {
	Generation *int64  `json:"generation,omitempty"`
	From       string  `json:"from,omitempty"`
	To         string  `json:"to,omitempty"`
	Live       *bool   `json:"live,omitempty"`
	Layer      int     `json:"layer"`
	M          uint64  `json:"m"`
	K          int     `json:"k"`
	Bytes      uint64  `json:"bytes"`
	Capacity   uint64  `json:"capacity"`
	Added      uint64  `json:"added"`
	Fill       float64 `json:"fill"`
	Rate       float64 `json:"error_rate"`
}

// newInfoReport reports what the header says.
func newInfoReport(name string, i bloomfile.Info) *infoReport {
	r := &infoReport{
		Set: name, FileBytes: i.Size, Format: i.Format, Hash: hashOf(i), Rules: i.Rules,
		setState: setState{
			Type: i.Type, M: i.Cells, K: i.Last.K, Lines: i.Last.Lines, Lanes: i.Last.Lanes, CounterBits: i.Last.CounterBits,
			Bytes: i.Bytes, Capacity: i.Capacity, Added: i.Added, Asked: i.ErrorRate,
		},
	}
	switch i.Type {
	case "window", "scalable", "adaptive":
		r.Capacity = 0
		for _, a := range i.Arrays {
			r.Capacity += a.Capacity
		}
	case "cascade":
		r.Capacity = i.Arrays[len(i.Arrays)-1].Capacity
	}
	r.Warnings = pastCapacity(r.Added, r.Capacity)
	if i.Sketch {
		r.uncounted, r.unit = true, i.Unit
	}
	if i.Exact {
		collisions := figure.SixDigits(math.Ldexp(float64(i.Added)*float64(i.Added), -65))
		r.Exact, r.Collisions = true, &collisions
	}
	switch i.Type {
	case "window":
		r.Window = windowOf(i.Window)
		r.Layers = generations(i.Arrays, i.Window)
	case "scalable", "cascade", "adaptive":
		for _, a := range i.Arrays {
			r.Layers = append(r.Layers, layerOf(a))
		}
	}
	return r
}

func hashOf(i bloomfile.Info) hashReport {
	h := hashReport{Algorithm: i.Hash.Algorithm.String(), text: setfile.HashText(i)}
	if i.Hash.Algorithm.HasSecret() {
		h.KeyID = fmt.Sprintf("%016x", i.KeyID)
	} else {
		h.Seed = fmt.Sprint(i.Hash.Seed)
	}
	return h
}

// publicHash is what info adds to a hash without a secret.
func publicHash(is bool) string {
	if !is {
		return ""
	}
	return "; public: anyone can make keys that the filter says yes to (--secret prevents it)"
}

// layerOf describes an array. Fill and rate are what the number of its keys lets expect.
func layerOf(a bloom.Array) layerReport {
	return layerReport{
		Layer: a.Layer, M: a.Params.M, K: a.Params.K, Bytes: a.Params.Bytes(), Capacity: a.Capacity, Added: a.Added,
		Fill: figure.SixDigits(a.Params.FillRatio(a.Added)), Rate: figure.SixDigits(a.Params.ErrorRate(a.Added)),
	}
}

func windowOf(c *bloom.WindowConfig) *windowReport {
	return &windowReport{Span: flagvalue.FormatDuration(c.Span), SpanKeys: c.SpanKeys, Generations: c.Generations, Refresh: !c.NoRefresh}
}

func (w *windowReport) String() string {
	text := "of " + w.Span
	if w.SpanKeys > 0 {
		text = fmt.Sprintf("of %s keys", figure.Comma(w.SpanKeys))
	}
	text += fmt.Sprintf(", forgets in %d steps", w.Generations-1)
	if !w.Refresh {
		text += ", not refreshed"
	}
	return text
}

// generations describes the arrays of a window, newest first, and says which of them are
// still in use.
func generations(arrays []bloom.Array, c *bloom.WindowConfig) []layerReport {
	var layers []layerReport
	for _, a := range slices.Backward(arrays) {
		l := layerOf(a)
		l.Generation, l.Live = &a.Generation, &a.Live
		if c.SpanKeys > 0 {
			l.From, l.To = fmt.Sprint(a.From), fmt.Sprint(a.To)
		} else {
			l.From = time.Unix(0, a.From).UTC().Format(time.RFC3339)
			l.To = time.Unix(0, a.To).UTC().Format(time.RFC3339)
		}
		layers = append(layers, l)
	}
	return layers
}

// print writes the report for people, after an empty line if it is not the first.
func (r *infoReport) print(w io.Writer, another bool) error {
	t := newSection(w, r.Set, another)
	for _, warning := range r.Warnings {
		t.row("  WARNING", "%s", warning)
	}
	t.row("  type", "%s", r.Type)
	if r.Window != nil {
		t.row("  window", "%s", r.Window)
	}
	r.setState.rows(t, "  ")
	t.row("  hash", "%s%s", r.Hash.text, publicHash(r.Hash.KeyID == ""))
	if r.Rules != "" {
		t.row("  keys", "made with %s", optionsOfRules(r.Rules))
	}
	checksums := "checksums " + r.Checksums
	if r.Problem != "" {
		checksums = "DAMAGED: " + r.Problem
	}
	t.row("  file", "%s, format %d, %s", figure.Bytes(uint64(r.FileBytes)), r.Format, checksums)
	if err := t.flush(); err != nil {
		return err
	}
	switch {
	case len(r.Layers) == 0:
		return nil
	case r.Window != nil:
		return printColumns(w, "  ", r.generationCells())
	}
	return printColumns(w, "  ", r.layerCells())
}

func (r *infoReport) layerCells() [][]string {
	rows := [][]string{{"layer", "added", "capacity", "m", "k", "memory", "fill", "error rate"}}
	for _, l := range r.Layers {
		rows = append(rows, []string{
			fmt.Sprint(l.Layer + 1), figure.Comma(l.Added), figure.Comma(l.Capacity), figure.Comma(l.M), fmt.Sprint(l.K), figure.Bytes(l.Bytes),
			fmt.Sprintf("%.1f %%", 100*l.Fill), figure.Rate(figure.ThreeDigits(l.Rate)),
		})
	}
	return rows
}

// generationCells adds up the layers of each generation.
func (r *infoReport) generationCells() [][]string {
	rows := [][]string{{"generation", "from", "to", "layers", "added", "capacity", "memory", "error rate"}}
	for first := 0; first < len(r.Layers); {
		l := r.Layers[first]
		state := "live"
		if !*l.Live {
			state = "forgotten"
		}
		var added, capacity, bytes uint64
		right, after := 0.0, first
		for ; after < len(r.Layers) && *r.Layers[after].Generation == *l.Generation; after++ {
			m := &r.Layers[after]
			added, capacity, bytes = added+m.Added, capacity+m.Capacity, bytes+m.Bytes
			right += math.Log1p(-m.Rate)
		}
		rows = append(rows, []string{
			state, l.From, l.To, fmt.Sprint(after - first), figure.Comma(added), figure.Comma(capacity), figure.Bytes(bytes), figure.Rate(figure.ThreeDigits(-math.Expm1(right))),
		})
		first = after
	}
	return rows
}
