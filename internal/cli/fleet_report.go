package cli

import (
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"seen/internal/figure"
)

// fleetReport is what --stats reports with --redis; its JSON names are an interface
// to scripts, and those that uniqReport has mean the same.
type fleetReport struct {
	Lines     uint64 `json:"lines"`
	Kept      uint64 `json:"kept"`
	Dropped   uint64 `json:"dropped"`
	New       uint64 `json:"new"`
	Undecided uint64 `json:"undecided"`
	Missing   uint64 `json:"without_key"`
	Bytes     uint64 `json:"bytes"`

	Filter      string  `json:"filter"`
	Asked       uint64  `json:"keys_asked"` // the others were asked about a short while ago
	Calls       uint64  `json:"calls"`
	CallSeconds float64 `json:"seconds_per_call"`

	Seconds        float64 `json:"seconds"`
	LinesPerSecond float64 `json:"lines_per_second"`
	BytesPerSecond float64 `json:"bytes_per_second"`
}

// report prints the statistics, if they were asked for.
func (u *fleetUniq) report() error {
	if u.stats.Value == "" {
		return nil
	}
	c, t := u.run.config.Counters, u.run.Totals()
	seconds := time.Since(u.run.started).Seconds()
	r := fleetReport{
		Lines: u.run.Lines, Kept: c.Kept.Load(), Dropped: c.Dropped.Load(), New: u.isNew, Undecided: u.run.Undecided.Lines.N,
		Missing: c.Missing.Load(), Bytes: u.run.Bytes,
		Filter: u.run.fleet.Label, Asked: t.Keys, Calls: t.Calls, CallSeconds: t.PerCall().Seconds(),
		Seconds: seconds, LinesPerSecond: float64(u.run.Lines) / seconds, BytesPerSecond: float64(u.run.Bytes) / seconds,
	}
	if u.stats.Value == "json" {
		return printLine(u.run.app.env.Stderr, r)
	}
	w := newTable(u.run.app.env.Stderr)
	w.row("lines", figure.Comma(r.Lines))
	w.row("kept", "%s (%.2f %%)", figure.Comma(r.Kept), percent(r.Kept, r.Lines))
	w.row("dropped", "%s (%.2f %%)", figure.Comma(r.Dropped), percent(r.Dropped, r.Lines))
	if r.Undecided > 0 {
		w.row("undecided", figure.Comma(r.Undecided))
	}
	if r.Missing > 0 {
		w.row("without key", figure.Comma(r.Missing))
	}
	w.row("filter", "%s, %s new keys", r.Filter, figure.Comma(r.New))
	w.row("network", "%s keys asked about in %s, %s on average", figure.Comma(r.Asked), english.Plural(int(r.Calls), "call", ""), shortTime(t.PerCall()))
	w.row("time", "%.2f s: %s lines/s, %s/s", r.Seconds, figure.Comma(uint64(r.LinesPerSecond)), humanize.IBytes(uint64(r.BytesPerSecond)))
	return w.flush()
}
