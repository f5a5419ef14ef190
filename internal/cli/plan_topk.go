package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"seen/internal/figure"
	"seen/sketch"
)

// topKFlags are the flags of "plan --topk".
type topKFlags struct {
	k                               int
	share, skew, recall, countError float64
}

func (t *topKFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&t.k, "topk", 0, "compute the size of a sketch that finds the `K` most frequent keys (TOPK.RESERVE)")
	f.Float64Var(&t.skew, "skew", 0, "with --topk and -n: the i-th most frequent of n keys is added in proportion to i^-`SKEW` (words, pages: about 1)")
	f.Float64Var(&t.share, "share", 0, "with --topk, instead of --skew and -n: the `SHARE` of all additions that the least frequent of the K keys has")
	f.Float64Var(&t.recall, "recall", 0.99, "with --topk: find this `SHARE` of the K keys")
	f.Float64Var(&t.countError, "count-error", 0.01, "with --topk: their counts may be too low by this `SHARE`")
}

// check refuses flags that need --topk or have no meaning with it, and values outside
// their range. keys says that the number of keys is given.
func (t *topKFlags) check(set func(name string) bool, keys bool) error {
	if !set("topk") {
		for _, name := range []string{"skew", "share", "recall", "count-error"} {
			if set(name) {
				return usagef("--%s needs --topk", name)
			}
		}
		return nil
	}
	for _, name := range []string{"error-rate", "memory", "type", "table", "plot", "clickhouse", "cluster", "slice"} {
		if set(name) {
			return usagef("--%s cannot be combined with --topk", name)
		}
	}
	between := func(name string, v float64) error {
		if !(v > 0 && v < 1) {
			return usagef("--%s %v: give a number between 0 and 1, both excluded", name, v)
		}
		return nil
	}
	switch {
	case t.k < 1:
		return usagef("--topk %d: give at least 1", t.k)
	case set("share") == set("skew"):
		return usagef("--topk needs --share, or --skew and the number of keys (-n N or --sample FILE)")
	case set("share") && keys:
		return usagef("--share needs no number of keys; leave -n and --sample out")
	case set("skew") && !keys:
		return usagef("--skew needs the number of keys (-n N or --sample FILE)")
	case set("share") && !(t.share > 0 && t.share*float64(t.k) <= 1):
		return usagef("--share %v: give more than 0 and at most 1/K: the least frequent of %d keys has at most 1/%d of all additions", t.share, t.k, t.k)
	}
	if err := between("recall", t.recall); err != nil {
		return err
	}
	return between("count-error", t.countError)
}

// topKPlan is what plan --topk reports; its JSON names are an interface to scripts.
type topKPlan struct {
	K          int           `json:"k"`
	Share      float64       `json:"share"`
	Rest       float64       `json:"share_of_other_keys"`
	Sample     *sampleReport `json:"sample,omitempty"`
	Recall     float64       `json:"recall"`
	CountError float64       `json:"count_error"`
	Width      int           `json:"width"`
	Depth      int           `json:"depth"`
	Decay      float64       `json:"decay"`
	Bytes      uint64        `json:"bytes"`
	Additions  uint64        `json:"additions"`
	Redis      string        `json:"redis"`
	Go         string        `json:"go"`
}

// planTopK computes the size of a top-k sketch.
func (a *app) planTopK(p *planFlags, sample *sampleReport, keys uint64) error {
	t := &p.topK
	need := sketch.TopKNeed{K: t.k, Share: t.share, Recall: t.recall, CountError: t.countError}
	if t.share == 0 {
		var err error
		if need.Share, need.Rest, err = sketch.ZipfShares(uint64(t.k), keys, t.skew); err != nil {
			return err
		}
	}
	size, err := need.Size()
	if err != nil {
		return err
	}
	rest := need.Rest
	if t.share != 0 {
		rest = 1 - float64(t.k)*t.share
	}
	r := topKPlan{
		K: t.k, Share: figure.SixDigits(need.Share), Rest: figure.SixDigits(rest), Sample: sample, Recall: t.recall, CountError: t.countError,
		Width: size.Width, Depth: size.Depth, Decay: size.Decay, Bytes: size.Bytes, Additions: size.Additions,
		Redis: fmt.Sprintf("TOPK.RESERVE name %d %d %d %g", t.k, size.Width, size.Depth, size.Decay),
		Go:    fmt.Sprintf("sketch.NewTopK(sketch.TopKConfig{K: %d, Width: %d, Depth: %d})", t.k, size.Width, size.Depth),
	}
	if p.json {
		return printJSON(a.env.Stdout, r)
	}
	out := newTable(a.env.Stdout)
	if sample != nil {
		out.row("sample", "%s", sample.describe())
	}
	out.row("wanted", "%g %% of the %s most frequent keys, with counts at most %g %% too low", 100*r.Recall, figure.Comma(uint64(r.K)), 100*r.CountError)
	out.row("share", "%.3g of all additions for the least frequent of them, %.3g for all other keys", r.Share, r.Rest)
	out.row("size", "width %s, depth %d, decay %g", figure.Comma(uint64(r.Width)), r.Depth, r.Decay)
	out.row("memory", "%s, and the bytes of %s keys", figure.Bytes(r.Bytes), figure.Comma(uint64(r.K)))
	out.row("holds after", "%s additions in all", figure.Comma(r.Additions))
	out.row("Redis", "%s", r.Redis)
	out.row("Go", "%s", r.Go)
	return out.flush()
}
