package cli

import (
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"seen/internal/figure"
)

// groupReport is what --stats reports of a groupRun; its JSON names are an interface to
// scripts, and those of uniqReport where both have them.
type groupReport struct {
	Lines   uint64 `json:"lines"`
	Kept    uint64 `json:"kept"`
	Dropped uint64 `json:"dropped"`
	Missing uint64 `json:"without_key"`
	Bytes   uint64 `json:"bytes"`
	// ListLines is how many lines the list of --append had, which are not among the others.
	ListLines uint64 `json:"list_lines,omitempty"`

	Distinct uint64 `json:"distinct"`
	Exact    bool   `json:"exact"`
	// Collisions is the expected number of pairs of keys that were taken for one.
	Collisions float64 `json:"expected_hash_collisions"`
	// Spilled is what was written to temporary files, SpilledPeak the most they had.
	Spilled     uint64 `json:"spilled_bytes"`
	SpilledPeak uint64 `json:"spilled_peak_bytes"`
	PeakBytes   uint64 `json:"peak_memory_bytes"`

	Seconds        float64 `json:"seconds"`
	LinesPerSecond float64 `json:"lines_per_second"`
	BytesPerSecond float64 `json:"bytes_per_second"`
}

// fingerprintBits is how much of the hashes of a key groups compare.
const fingerprintBits = 96

// report prints the statistics if --stats is given.
func (g *groupRun) report() error {
	if g.stats.Value == "" {
		return nil
	}
	c := g.config.Counters
	seconds := time.Since(g.started).Seconds()
	r := groupReport{
		Lines: c.Records.Load(), Kept: c.Kept.Load(), Missing: c.Missing.Load(), Bytes: c.Bytes.Load(),
		Distinct: g.distinct, Exact: true, PeakBytes: peakMemory(), Seconds: seconds,
		Collisions: math.Ldexp(float64(g.distinct)*float64(g.distinct), -fingerprintBits-1),
	}
	if l := g.list; l != nil && l.info != nil {
		r.ListLines = l.lines
		r.Lines -= l.lines
		r.Missing -= l.keyless
		r.Bytes -= min(r.Bytes, uint64(l.info.Size()))
	}
	r.Dropped = r.Lines - r.Kept
	r.LinesPerSecond, r.BytesPerSecond = float64(r.Lines)/seconds, float64(r.Bytes)/seconds
	if f := g.spilling.opened; f != nil {
		r.Spilled, r.SpilledPeak = f.Written(), f.Peak()
	}
	if g.stats.Value == "json" {
		return printLine(g.app.env.Stderr, r)
	}
	w := newTable(g.app.env.Stderr)
	w.row("lines", figure.Comma(r.Lines))
	if r.ListLines > 0 {
		w.row("in the list", figure.Comma(r.ListLines))
	}
	w.row("kept", "%s (%.2f %%)", figure.Comma(r.Kept), percent(r.Kept, r.Lines))
	w.row("dropped", "%s (%.2f %%)", figure.Comma(r.Dropped), percent(r.Dropped, r.Lines))
	if r.Missing > 0 {
		w.row("without key", figure.Comma(r.Missing))
	}
	w.row("distinct", figure.Comma(r.Distinct))
	w.row("wrong counts", "0 (hash collisions expected: %.2g)", r.Collisions)
	if r.Spilled > 0 {
		w.row("on disk", "%s written, %s at the peak", humanize.IBytes(r.Spilled), humanize.IBytes(r.SpilledPeak))
	}
	w.row("memory", "%s at the peak, of the whole process", humanize.IBytes(r.PeakBytes))
	w.row("time", "%.2f s: %s lines/s, %s/s", r.Seconds, figure.Comma(uint64(r.LinesPerSecond)), humanize.IBytes(uint64(r.BytesPerSecond)))
	return w.flush()
}
