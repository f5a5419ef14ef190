package cli

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/internal/cli/flagvalue"
	"seen/internal/figure"
	"seen/internal/stream"
	"seen/sizing"
	"seen/sketch"
)

// defaultPrecision gives a standard error of 0.41 % in 64 KiB.
const defaultPrecision = 16

// countFlags are the flags of "seen count".
type countFlags struct {
	records   recordFlags
	hashing   hashFlags
	fleet     fleetFlags
	capacity  flagvalue.Count
	rate      flagvalue.Rate
	method    flagvalue.Choice
	precision int
	json      bool
}

// The methods of counting.
const (
	hyperLogLog    = "hyperloglog"
	flajoletMartin = "flajolet-martin"
)

// distinctCounter is a sketch of either method.
type distinctCounter interface {
	AddHash(h uint64) bool
	Hash() bloom.Hash
	Cardinality() float64
	StdErr() float64 // relative
}

func (a *app) countCommand() *cobra.Command {
	var c countFlags
	cmd := &cobra.Command{
		Use:         "count [FILE...]",
		Short:       "estimate the number of distinct lines",
		Annotations: common("precision redis server name json key field-separator ignore-case email url"),
		Long: `Print an estimate of the number of distinct lines. The memory is constant.

The estimate goes to standard output, its standard error to standard error. The
standard error is at most 0.41 %; --precision changes it. Up to 2^B/8 lines are counted
exactly. Each run hashes with a random key, so estimates differ between runs; --seed
makes them repeatable.

--method flajolet-martin uses the older algorithm of the textbooks (PCSA, 1985), with
2^B/8 bitmaps in the same memory. Its standard error is 0.86 %, and it never counts
exactly.

With --redis, the lines are added to the filter, and the lines that were new to it are
counted. The counts of several runs add up to the number of distinct lines in all
their inputs.`,
		Example: `  seen count access.log.gz                  the number of distinct lines
  seen count -k 1,1 access.log              the number of distinct addresses
  seen plan -n $(seen count -q urls.txt)    the cost of a filter for them`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := c.checkFleet(cmd); err != nil {
				return err
			}
			if c.fleet.isSet() {
				return a.countFleet(cmd, &c, files)
			}
			return a.count(cmd, &c, files)
		},
	}
	f := cmd.Flags()
	c.method = flagvalue.OneOf(hyperLogLog, hyperLogLog, flajoletMartin)
	f.Var(&c.method, "method", "how to count, `WORD`: "+hyperLogLog+" or "+flajoletMartin)
	f.IntVar(&c.precision, "precision", defaultPrecision, "2^`B` registers, one byte each: 4 to 18, for a standard error of 26 % to 0.2 %")
	f.BoolVar(&c.json, "json", false, "report as JSON")
	c.records.register(cmd)
	c.hashing.registerPrivate(cmd)
	c.fleet.register(cmd, &c.hashing, true)
	c.fleet.registerCreation(cmd, &c.capacity, &c.rate)
	return cmd
}

// countReport is what count reports; its JSON names are an interface to scripts.
type countReport struct {
	Distinct   float64 `json:"distinct"`
	StdErr     float64 `json:"standard_error"`
	Exact      bool    `json:"exact"`
	Lines      uint64  `json:"lines"`
	WithoutKey uint64  `json:"without_key"`
	Bytes      uint64  `json:"bytes"`
	Precision  int     `json:"precision"`
	Method     string  `json:"method"`
}

func (a *app) count(cmd *cobra.Command, c *countFlags, files []string) error {
	n, counters, err := a.countDistinct(&c.records, &c.hashing, c.method.Value, c.precision, files)
	if err != nil {
		return err
	}
	r := countReport{
		Distinct: n.Value, StdErr: math.Round(n.StdErr), Exact: n.StdErr == 0,
		Lines: counters.Records.Load(), WithoutKey: counters.Missing.Load(), Bytes: counters.Bytes.Load(),
		Precision: c.precision, Method: c.method.Value,
	}
	if c.json {
		return printJSON(a.env.Stdout, r)
	}
	if _, err := fmt.Fprintf(a.env.Stdout, "%.0f\n", r.Distinct); err != nil {
		return err
	}
	if !c.records.quiet {
		a.say(cmd, "%s", r.describe())
	}
	return nil
}

// describe says how exact the number on standard output is.
func (r *countReport) describe() string {
	text := fmt.Sprintf("%s distinct of %s lines", figure.Comma(uint64(r.Distinct)), figure.Comma(r.Lines))
	if r.WithoutKey > 0 {
		text += fmt.Sprintf(", %s without key left out", figure.Comma(r.WithoutKey))
	}
	if r.Exact {
		return text + ", exact"
	}
	return text + fmt.Sprintf(", standard error %s (%s)", figure.Comma(uint64(r.StdErr)), figure.Percent(r.StdErr/r.Distinct))
}

// countDistinct counts the distinct keys of the files. Records without a key are not
// counted.
func (a *app) countDistinct(r *recordFlags, h *hashFlags, method string, precision int, files []string) (sizing.Estimate, *stream.Counters, error) {
	var none sizing.Estimate
	hash, err := h.private()
	if err != nil {
		return none, nil, err
	}
	s, err := newCounter(method, precision, hash)
	if err != nil {
		return none, nil, usagef("--precision %d is outside 4 to 18", precision)
	}
	in, config, err := r.open(a, files)
	if err != nil {
		return none, nil, err
	}
	config.Hash = streamHash(s.Hash())
	err = r.run(a.ctx, a, in, config, nil, func(b *stream.Block) error {
		for lo, hi := range b.Keyed() {
			for _, h := range b.Hashes[lo:hi] {
				s.AddHash(h)
			}
		}
		return nil
	})
	return distinct(s), config.Counters, err
}

// distinct returns the estimate of a sketch with its absolute standard error.
func distinct(s distinctCounter) sizing.Estimate {
	n := s.Cardinality()
	return sizing.Estimate{Value: math.Round(n), StdErr: n * s.StdErr()}
}

// newCounter makes a counter of 2^precision bytes, or of the nearest size that the
// method has.
func newCounter(method string, precision int, hash bloom.Hash) (distinctCounter, error) {
	if method == flajoletMartin && precision >= 4 && precision <= 18 {
		return sketch.NewFlajoletMartin(sketch.FlajoletMartinConfig{Maps: 1 << precision / 8, Hash: hash})
	}
	return sketch.NewHyperLogLog(sketch.HyperLogLogConfig{Precision: precision, Hash: hash})
}
