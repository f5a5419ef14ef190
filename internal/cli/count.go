package cli

import (
	"fmt"
	"math"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"seen/internal/cli/flagvalue"
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
	precision int
	json      bool
}

func (a *app) countCommand() *cobra.Command {
	var c countFlags
	cmd := &cobra.Command{
		Use:   "count [FILE...]",
		Short: "count distinct lines in constant memory, approximately",
		Long: `Print the number of distinct lines, estimated by HyperLogLog in constant memory.
The standard error goes to standard error; it is at most 0.41 % unless --precision says
otherwise, and few lines (up to 2^B/8) are counted exactly. Each run hashes with a
random key, so estimates differ between runs; --seed makes them repeatable.

With --redis the lines are added to the filter, and those that it did not have
are counted: what several runs print adds up to the number of different lines in
all their inputs.`,
		Example: `  seen count access.log.gz                      how many different lines
  seen count -k 1,1 access.log                    how many different addresses
  seen plan -n $(seen count -q urls.txt)        what a filter for them costs`,
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
}

func (a *app) count(cmd *cobra.Command, c *countFlags, files []string) error {
	sketch, counters, err := a.countDistinct(&c.records, &c.hashing, c.precision, files)
	if err != nil {
		return err
	}
	n := distinct(sketch)
	r := countReport{
		Distinct: n.Value, StdErr: math.Round(n.StdErr), Exact: n.StdErr == 0,
		Lines: counters.Records.Load(), WithoutKey: counters.Missing.Load(), Bytes: counters.Bytes.Load(),
		Precision: c.precision,
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

// describe says what the number on standard output is worth.
func (r *countReport) describe() string {
	text := fmt.Sprintf("%s distinct of %s lines", humanize.Comma(int64(r.Distinct)), humanize.Comma(int64(r.Lines)))
	if r.WithoutKey > 0 {
		text += fmt.Sprintf(", %s without key left out", humanize.Comma(int64(r.WithoutKey)))
	}
	if r.Exact {
		return text + ", exact"
	}
	return text + fmt.Sprintf(", standard error %s (%.2g %%)", humanize.Comma(int64(r.StdErr)), 100*r.StdErr/r.Distinct)
}

// countDistinct passes the keys of the files through a HyperLogLog. Records
// without a key are not counted, whether they would be kept or dropped.
func (a *app) countDistinct(r *recordFlags, h *hashFlags, precision int, files []string) (*sketch.HyperLogLog, *stream.Counters, error) {
	hash, err := h.private()
	if err != nil {
		return nil, nil, err
	}
	s, err := sketch.NewHyperLogLog(sketch.HyperLogLogConfig{Precision: precision, Hash: hash})
	if err != nil {
		return nil, nil, usagef("--precision %d is outside 4 to 18", precision)
	}
	in, config, err := r.open(a, files)
	if err != nil {
		return nil, nil, err
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
	return s, config.Counters, err
}

// distinct returns the estimate of a sketch with its absolute standard error.
func distinct(s *sketch.HyperLogLog) sizing.Estimate {
	n := s.Cardinality()
	return sizing.Estimate{Value: math.Round(n), StdErr: n * s.StdErr()}
}
