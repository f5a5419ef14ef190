package cli

import (
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"seen/internal/figure"
	"seen/sizing"
)

// uniqReport is what --stats reports; its JSON names are an interface to scripts.
type uniqReport struct {
	Lines   uint64 `json:"lines"`
	Kept    uint64 `json:"kept"`
	Dropped uint64 `json:"dropped"`
	Missing uint64 `json:"without_key"`
	Bytes   uint64 `json:"bytes"`

	// ExpectedWrong is the expected number of new lines that this run dropped by error;
	// WrongBound is exceeded with a probability of 0.135 %.
	ExpectedWrong float64 `json:"expected_wrong_drops"`
	WrongBound    uint64  `json:"expected_wrong_drops_bound"`

	Filter      string   `json:"filter"`
	Exact       bool     `json:"exact"`
	Added       uint64   `json:"added"`
	Capacity    uint64   `json:"capacity"`
	Cardinality *float64 `json:"cardinality"` // null if it is not known
	Fill        float64  `json:"fill"`
	ErrorRate   float64  `json:"error_rate"`
	FilterBytes uint64   `json:"filter_bytes"`
	PeakBytes   uint64   `json:"peak_memory_bytes"`

	// Of a run that went on on disk, otherwise 0.
	Doubts       uint64 `json:"doubts"`          // lines that could not be decided at once
	Late         uint64 `json:"late"`            // of these, those that were new
	SpilledBytes uint64 `json:"spilled_bytes"`   // written to temporary files
	DiskBytes    uint64 `json:"peak_disk_bytes"` // of temporary files

	Seconds        float64 `json:"seconds"`
	LinesPerSecond float64 `json:"lines_per_second"`
	BytesPerSecond float64 `json:"bytes_per_second"`
}

// report prints the statistics if --stats is given.
func (u *uniqRun) report() error {
	if u.stats.Value == "" {
		return nil
	}
	c := u.config.Counters
	st := u.set.Stats()
	seconds := time.Since(u.started).Seconds()
	r := uniqReport{
		Lines: c.Records.Load(), Kept: c.Kept.Load(), Dropped: c.Dropped.Load(), Missing: c.Missing.Load(), Bytes: c.Bytes.Load(),
		Filter: st.Type, Exact: st.Exact, Added: st.Added, Capacity: st.Capacity, Cardinality: known(st.Cardinality),
		Fill: st.Fill, ErrorRate: st.ErrorRate, FilterBytes: st.Bytes, PeakBytes: peakMemory(),
		Seconds: seconds, LinesPerSecond: float64(c.Records.Load()) / seconds, BytesPerSecond: float64(c.Bytes.Load()) / seconds,
	}
	// Every new line was at risk, with at most the rate that the filter has now, and 1
	// - rate of them were printed. No more can be wrong than were dropped.
	r.ExpectedWrong = float64(u.old)
	if st.ErrorRate < 1 {
		r.ExpectedWrong = min(r.ExpectedWrong, float64(u.atRisk)*st.ErrorRate/(1-st.ErrorRate))
	}
	if st.Exact {
		r.ExpectedWrong = st.ExpectedCollisions
	}
	u.disk.report(&r)
	r.WrongBound = poissonBound(r.ExpectedWrong)
	if u.stats.Value == "json" {
		return printLine(u.app.env.Stderr, r)
	}
	return r.print(u)
}

func (r *uniqReport) print(u *uniqRun) error {
	w := newTable(u.app.env.Stderr)
	w.row("lines", figure.Comma(r.Lines))
	w.row("kept", "%s (%.2f %%)", figure.Comma(r.Kept), percent(r.Kept, r.Lines))
	w.row("dropped", "%s (%.2f %%)", figure.Comma(r.Dropped), percent(r.Dropped, r.Lines))
	if r.Missing > 0 {
		w.row("without key", figure.Comma(r.Missing))
	}
	if r.Exact {
		w.row("false drops", "0 (hash collisions expected: %.2g)", r.ExpectedWrong)
	} else {
		w.row("wrong drops", "%.3g expected at most, fewer than %s (3 sigma)", r.ExpectedWrong, figure.Comma(r.WrongBound+1))
	}
	fill := fmt.Sprintf("%s, %s keys", r.Filter, figure.Comma(r.Added))
	if r.Exact {
		fill += ", exact"
	} else {
		fill += fmt.Sprintf(" of %s, fill %.1f %%, error rate now %.2g", figure.Comma(r.Capacity), 100*r.Fill, r.ErrorRate)
	}
	w.row("filter", "%s, %s", fill, humanize.IBytes(r.FilterBytes))
	if r.SpilledBytes > 0 {
		w.row("disk", "%s written, %s at the peak; %s doubts, %s late lines",
			humanize.IBytes(r.SpilledBytes), humanize.IBytes(r.DiskBytes), figure.Comma(r.Doubts), figure.Comma(r.Late))
	}
	w.row("memory", "%s at the peak, of the whole process", humanize.IBytes(r.PeakBytes))
	w.row("time", "%.2f s: %s lines/s, %s/s", r.Seconds, figure.Comma(uint64(r.LinesPerSecond)), humanize.IBytes(uint64(r.BytesPerSecond)))
	return w.flush()
}

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// known returns the value of an estimate for JSON, or nil if it is unknown.
func known(e sizing.Estimate) *float64 {
	if !e.Known() {
		return nil
	}
	v := math.Round(e.Value)
	return &v
}

// poissonBound returns the number that a Poisson count with the given mean
// exceeds with a probability of at most 0.135 %, three sigma one-sided.
func poissonBound(mean float64) uint64 {
	const tail = 0.0013498980316301
	if mean > 1e6 {
		return uint64(mean + 3*math.Sqrt(mean) + 1)
	}
	sum, k := 0.0, 0
	for {
		lg, _ := math.Lgamma(float64(k) + 1)
		sum += math.Exp(-mean + float64(k)*math.Log(max(mean, math.SmallestNonzeroFloat64)) - lg)
		if 1-sum <= tail {
			return uint64(k)
		}
		k++
	}
}
