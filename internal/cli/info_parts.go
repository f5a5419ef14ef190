package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/cli/flagvalue"
	"seen/internal/frame"
	"seen/sizing"
)

// infoReport is what info reports of one file; its JSON names are an interface to
// scripts.
type infoReport struct {
	Set string `json:"set"`
	setState
	Window    *windowReport `json:"window,omitempty"`
	Layers    []layerReport `json:"layers,omitempty"`
	Hash      hashReport    `json:"hash"`
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

// hashReport says how keys are hashed. A seed may have all of 64 bits, which is
// more than many readers of JSON keep.
type hashReport struct {
	Algorithm string `json:"algorithm"`
	Seed      string `json:"seed,omitempty"`
	KeyID     string `json:"key_id,omitempty"`
}

// windowReport says what a window remembers.
type windowReport struct {
	Span        string `json:"span,omitempty"`
	SpanKeys    uint64 `json:"span_keys,omitempty"`
	Generations uint64 `json:"generations"`
	Refresh     bool   `json:"refresh"`
}

// layerReport describes one of several arrays, by what the header says of it.
type layerReport struct {
	Generation *int64  `json:"generation,omitempty"`
	From       string  `json:"from,omitempty"`
	To         string  `json:"to,omitempty"`
	Live       *bool   `json:"live,omitempty"`
	Layer      uint64  `json:"layer"`
	M          uint64  `json:"m"`
	K          uint32  `json:"k"`
	Bytes      uint64  `json:"bytes"`
	Capacity   uint64  `json:"capacity"`
	Added      uint64  `json:"added"`
	Fill       float64 `json:"fill"`
	Rate       float64 `json:"error_rate"`
}

// sketchUnits is what a part of a sketch has m of, unless these are counters.
var sketchUnits = map[frame.Kind]string{
	frame.KindFingerprints: "fingerprints of 64 bits",
	frame.KindRegisters:    "registers",
	frame.KindBytes:        "buckets",
}

// newInfoReport takes what the header tells.
func newInfoReport(name string, i bloomfile.Info, h *frame.Header) *infoReport {
	r := &infoReport{
		Set: name, FileBytes: i.Size, Format: frame.Version, Hash: hashOf(i),
		setState: setState{Type: i.Type, Capacity: i.Capacity, Added: i.Added, Asked: i.ErrorRate},
	}
	layered := h.Type == frame.TypeScalable || h.Type == frame.TypeAdaptive || h.Type == frame.TypeWindow
	if layered {
		r.Capacity = 0
	}
	for _, p := range h.Parts {
		if layered {
			r.Capacity += p.Capacity
		} else if h.Type == frame.TypeCascade {
			r.Capacity = p.Capacity // of the last
		}
		r.M += p.M
		r.K = int(p.K)
		r.Lines, r.Lanes, r.CounterBits = int(p.Lines), int(p.Lanes), int(p.CounterBits)
		r.Bytes += p.Length
	}
	r.Warnings = pastCapacity(r.Added, r.Capacity)
	if h.Type.Sketch() {
		r.uncounted, r.unit = true, sketchUnits[h.Parts[0].Kind]
	}
	switch h.Type {
	case frame.TypeWindow:
		r.Window = windowOf(h)
		r.Layers = generations(h, time.Now())
	case frame.TypeScalable, frame.TypeCascade, frame.TypeAdaptive:
		for n, p := range h.Parts {
			if p.Kind == frame.KindFingerprints {
				r.Exact = true
				r.Collisions = new(float64)
				*r.Collisions = digits(math.Ldexp(float64(p.Added)*float64(p.Added), -65))
				continue
			}
			l := layerOf(p)
			if h.Type == frame.TypeCascade {
				l.Layer = uint64(n)
			}
			r.Layers = append(r.Layers, l)
		}
	}
	return r
}

func hashOf(i bloomfile.Info) hashReport {
	if i.Hash.Algorithm.HasSecret() {
		return hashReport{Algorithm: i.Hash.Algorithm.String(), KeyID: fmt.Sprintf("%016x", i.KeyID)}
	}
	return hashReport{Algorithm: i.Hash.Algorithm.String(), Seed: fmt.Sprint(i.Hash.Seed)}
}

func (h hashReport) String() string {
	switch {
	case h.Algorithm == bloom.NH.String():
		return fmt.Sprintf("%s, random key %s", h.Algorithm, h.KeyID)
	case h.KeyID != "":
		return fmt.Sprintf("%s, keyed with the secret %s", h.Algorithm, h.KeyID)
	}
	return fmt.Sprintf("%s, seed %s", h.Algorithm, h.Seed)
}

// publicHash is what info says of a hash without a secret.
func publicHash(is bool) string {
	if !is {
		return ""
	}
	return "; public: strangers can compute keys that the filter takes for seen (--secret prevents it)"
}

// layerOf describes a part that is an array of bits. Its fill and rate are those
// expected of the number of keys in it.
func layerOf(p frame.Part) layerReport {
	params := paramsOf(p)
	return layerReport{
		Layer: p.Fields[0], M: p.M, K: p.K, Bytes: p.Length, Capacity: p.Capacity, Added: p.Added,
		Fill: digits(params.FillRatio(p.Added)), Rate: digits(params.ErrorRate(p.Added)),
	}
}

// paramsOf returns the layout of a part that is an array of bits or counters.
func paramsOf(p frame.Part) sizing.Params {
	shape := map[frame.Kind]sizing.Shape{
		frame.KindClassic: sizing.Classic, frame.KindBlocked: sizing.Blocked,
		frame.KindPartitioned: sizing.Partitioned, frame.KindCounters: sizing.Counting,
	}[p.Kind]
	return sizing.Params{
		Shape: shape, M: p.M, K: int(p.K), Lines: int(p.Lines), Lanes: int(p.Lanes), CounterBits: int(p.CounterBits),
	}
}

// Flags of a window in its header.
const (
	windowByKeys    = 1 << 0
	windowNoRefresh = 1 << 1
	windowNoClock   = 1 << 2
)

func windowOf(h *frame.Header) *windowReport {
	w := &windowReport{Generations: h.Fields[3], Refresh: h.Fields[2]&windowNoRefresh == 0}
	if h.Fields[2]&windowByKeys != 0 {
		w.SpanKeys = h.Fields[0]
	} else {
		w.Span = flagvalue.FormatDuration(time.Duration(h.Fields[0]))
	}
	return w
}

func (w *windowReport) String() string {
	text := "of " + w.Span
	if w.SpanKeys > 0 {
		text = fmt.Sprintf("of %s keys", comma(w.SpanKeys))
	}
	text += fmt.Sprintf(", forgets in %d steps", w.Generations-1)
	if !w.Refresh {
		text += ", not refreshed"
	}
	return text
}

// generations describes the arrays of a window, newest first, and which of them
// it still asks at a time.
func generations(h *frame.Header, now time.Time) []layerReport {
	step, newest := int64(h.Fields[1]), int64(h.Fields[4])
	byKeys := h.Fields[2]&windowByKeys != 0
	if !byKeys && h.Fields[2]&windowNoClock == 0 {
		newest = max(newest, int64(math.Floor(float64(now.UnixNano())/float64(step))))
	}
	var layers []layerReport
	for i := len(h.Parts) - 1; i >= 0; i-- {
		l := layerOf(h.Parts[i])
		number := int64(h.Parts[i].Fields[1])
		live := number > newest-int64(h.Fields[3])
		l.Generation, l.Live = &number, &live
		if byKeys {
			l.From, l.To = fmt.Sprint(number*step), fmt.Sprint((number+1)*step)
		} else {
			l.From = time.Unix(0, number*step).UTC().Format(time.RFC3339)
			l.To = time.Unix(0, (number+1)*step).UTC().Format(time.RFC3339)
		}
		layers = append(layers, l)
	}
	return layers
}

// mayShareKeys reports whether a key may lie in several of the parts, and is known
// to be counted in each: in the generations of a window that refreshes, and in
// layers that a union has put side by side.
func mayShareKeys(h *frame.Header) bool {
	if h.Type == frame.TypeWindow && h.Fields[2]&windowNoRefresh == 0 && len(h.Parts) > 1 {
		return true
	}
	if h.Type == frame.TypeCascade {
		return false
	}
	for i := 1; i < len(h.Parts); i++ {
		if h.Parts[i].Fields == h.Parts[i-1].Fields {
			return true
		}
	}
	return false
}

// print writes the report for people, after an empty line if it is not the first.
func (r *infoReport) print(w io.Writer, another bool) error {
	t := newTable(w)
	if another {
		fmt.Fprintln(t.w)
	}
	fmt.Fprintln(t.w, r.Set)
	for _, warning := range r.Warnings {
		t.row("  WARNING", "%s", warning)
	}
	t.row("  type", "%s", r.Type)
	if r.Window != nil {
		t.row("  window", "%s", r.Window)
	}
	r.setState.rows(t, "  ")
	t.row("  hash", "%s%s", r.Hash, publicHash(r.Hash.KeyID == ""))
	checksums := "checksums " + r.Checksums
	if r.Problem != "" {
		checksums = "DAMAGED: " + r.Problem
	}
	t.row("  file", "%s, format %d, %s", formatBytes(uint64(r.FileBytes)), r.Format, checksums)
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
			fmt.Sprint(l.Layer + 1), comma(l.Added), comma(l.Capacity), comma(l.M), fmt.Sprint(l.K), formatBytes(l.Bytes),
			fmt.Sprintf("%.1f %%", 100*l.Fill), formatRate(threeDigits(l.Rate)),
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
			state, l.From, l.To, fmt.Sprint(after - first), comma(added), comma(capacity), formatBytes(bytes), formatRate(threeDigits(-math.Expm1(right))),
		})
		first = after
	}
	return rows
}
