package cli

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"seen/internal/chart"
	"seen/internal/cli/flagvalue"
	"seen/internal/figure"
	"seen/internal/planner"
	"seen/internal/vfs"
)

// planFlags are the flags of "seen plan".
type planFlags struct {
	records    recordFlags
	capacity   flagvalue.Count
	rate       flagvalue.Rate
	memory     flagvalue.Size
	sample     []string
	types      []string
	table      bool
	plot       string
	clickhouse bool
	nodes      int
	slice      flagvalue.Size
	topK       topKFlags
	json       bool
}

// planTypes are the values of --type.
var planTypes = append(slices.Clone(planner.Types), planner.Cascade)

func (a *app) planCommand() *cobra.Command {
	var p planFlags
	cmd := &cobra.Command{
		Use:         "plan [-n N] [-p P] [--memory SIZE]",
		Short:       "compute the size of a filter",
		Annotations: common("capacity error-rate memory sample type table topk json"),
		Long: `Compute what a filter for -n distinct keys with error rate -p costs, for every type side
by side: its layout, its memory, and its error rate with other numbers of keys. With
--memory and -n, the answer is the best rate that fits; with --memory and -p, how many
keys fit. Nothing is built; the answer has commands to copy.

--topk K computes the size of a sketch that finds the K most frequent keys and their
counts (TOPK.RESERVE of "seen serve" and of Redis, whose default of 7 rows of 8 is too
small for most streams). Give the share of all additions that the least frequent of
them has (--share), or how uneven the frequencies of -n keys are (--skew).`,
		Example: `  seen plan -n 1G -p 1e-6                      memory for a billion keys
  seen plan -n 200M --memory 512MiB            the best rate in that memory
  seen plan -p 1e-4 --memory 1GiB              how many keys fit
  seen plan --sample urls.txt.gz               n counted from a file
  seen plan -n 10M -p 1e-3 --plot rates.svg    error rate against n, and against k
  seen plan --table                            error rate by k and m/n
  seen plan --topk 100 --skew 1 -n 10M         a sketch of the 100 most frequent of 10 million keys
  seen plan -n 10G -p 1e-4 --cluster 6         memory on each of 6 nodes of a Redis Cluster`,
		Args:              arguments(0, 0, ""),
		ValidArgsFunction: filesUpTo(0),
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.plan(cmd, &p) },
	}
	f := cmd.Flags()
	f.VarP(&p.capacity, "capacity", "n", "number of distinct keys")
	f.VarP(&p.rate, "error-rate", "p", "error rate (default 1e-6, unless -n and --memory give it)")
	f.VarP(&p.memory, "memory", "m", "instead of -n or -p: the memory that is available")
	f.StringArrayVar(&p.sample, "sample", nil, "instead of -n: count the distinct keys of the whole `FILE`, by HyperLogLog; may be repeated")
	f.StringSliceVar(&p.types, "type", nil, "only these `TYPES`: "+strings.Join(planTypes, ", ")+" (the last only if it is named)")
	f.BoolVar(&p.table, "table", false, "print the error rate for each k and m/n")
	f.StringVar(&p.plot, "plot", "", "draw the error rate against n and against k to `FILE`.svg or .png")
	f.BoolVar(&p.clickhouse, "clickhouse", false, "what ClickHouse's bloom_filter index does with -p")
	f.IntVar(&p.nodes, "cluster", 0, "what a filter in Redis costs, on `NODES` that hold keys")
	f.Var(&p.slice, "slice", "with --cluster: parts of at most this size (default 16 MiB - 4 KiB)")
	p.topK.register(cmd)
	f.BoolVar(&p.json, "json", false, "report as JSON")
	p.records.register(cmd)
	_ = cmd.MarkFlagFilename("plot", "svg", "png")                                                                    // the flag is there
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(planTypes, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

// check refuses flags that contradict each other or are incomplete.
func (p *planFlags) check(cmd *cobra.Command) error {
	set := cmd.Flags().Changed
	for _, name := range p.types {
		if !slices.Contains(planTypes, name) {
			return usagef("--type %q is not one of %s", name, strings.Join(planTypes, ", "))
		}
	}
	keys := set("capacity") || set("sample")
	if err := p.checkCluster(set, keys); err != nil {
		return err
	}
	if err := p.topK.check(set, keys); err != nil {
		return err
	}
	switch ext := filepath.Ext(p.plot); {
	case set("capacity") && set("sample"):
		return usagef("give either -n or --sample")
	case p.capacity == 0 && set("capacity"):
		return usagef("-n 0: a filter needs room for at least one key")
	case p.memory == 0 && set("memory"):
		return usagef("--memory 0: a filter needs memory")
	case p.table && p.clickhouse:
		return usagef("give either --table or --clickhouse")
	case (p.table || p.clickhouse) && (keys || set("memory") || p.plot != ""):
		return usagef("--table and --clickhouse cannot be combined with other options, except --clickhouse with -p")
	case p.table && set("error-rate"):
		return usagef("--table has all rates; leave -p out")
	case p.clickhouse && !set("error-rate"):
		return usagef("--clickhouse needs the error rate, -p")
	case p.table || p.clickhouse:
		return nil
	case !keys && !set("memory") && !set("topk"):
		return usagef("give the number of keys (-n N or --sample FILE) or the memory (--memory SIZE)")
	case set("topk"):
		return nil
	case keys && set("memory") && set("error-rate"):
		return usagef("-n, -p and --memory: give two of the three; the third is the answer")
	case p.plot != "" && ext != ".svg" && ext != ".png":
		return usagef("--plot %s: the name must end in .svg or .png", p.plot)
	}
	return nil
}

func (a *app) plan(cmd *cobra.Command, p *planFlags) error {
	if err := p.check(cmd); err != nil {
		return err
	}
	switch {
	case p.table:
		return a.planTable(p)
	case p.clickhouse:
		return a.planClickHouse(p)
	}
	w := planner.Wish{N: uint64(p.capacity), Rate: float64(p.rate), Memory: uint64(p.memory)}
	r := planReport{}
	if len(p.sample) > 0 {
		s, err := a.sample(p)
		if err != nil {
			return err
		}
		r.Sample, w.N = s, s.N
	}
	if p.topK.k > 0 {
		return a.planTopK(p, r.Sample, w.N)
	}
	if w.Rate == 0 && (w.Memory == 0 || w.N == 0) {
		w.Rate = defaultRate
	}
	if p.nodes > 0 {
		return a.planCluster(p, r.Sample, w)
	}
	types := p.types
	if len(types) == 0 {
		types = planner.Types
	}
	r.N, r.ErrorRate, r.Memory, r.Rows = w.N, w.Rate, w.Memory, planner.Rows(w, types)
	if err := noneFits(r.Rows); err != nil {
		return err
	}
	if p.plot != "" {
		if err := writePlot(p.plot, w, r.Rows); err != nil {
			return err
		}
		r.Plot = p.plot
	}
	if p.json {
		return printJSON(a.env.Stdout, r)
	}
	return r.print(a.env.Stdout)
}

// writePlot replaces the file path by the picture of a plan. Its name tells the format.
func writePlot(path string, w planner.Wish, rows []planner.Row) error {
	picture, err := chart.Picture(strings.TrimPrefix(filepath.Ext(path), "."), planner.Panels(w, rows)...)
	if err != nil {
		return err
	}
	return vfs.WriteAtomic(vfs.OS, path, func(out io.Writer) error {
		_, err := out.Write(picture)
		return err
	})
}

// noneFits returns an error if no type fits.
func noneFits(rows []planner.Row) error {
	for _, r := range rows {
		if r.Error == "" {
			return nil
		}
	}
	return fmt.Errorf("no type fits: %s", rows[0].Error)
}

// sampleReport says what --sample found.
type sampleReport struct {
	Files    []string `json:"files"`
	Lines    uint64   `json:"lines"`
	Distinct float64  `json:"distinct"`
	StdErr   float64  `json:"standard_error"`
	N        uint64   `json:"n"`
}

// sample counts the distinct keys of the sample files. If that is an estimate, n is two
// standard errors above it, so that the files have more than n keys in one of 40 cases.
func (a *app) sample(p *planFlags) (*sampleReport, error) {
	e, counters, err := a.countDistinct(&p.records, &hashFlags{}, hyperLogLog, defaultPrecision, p.sample)
	if err != nil {
		return nil, err
	}
	if e.Value == 0 {
		return nil, fmt.Errorf("%s: no keys to count", strings.Join(p.sample, ", "))
	}
	return &sampleReport{
		Files: p.sample, Lines: counters.Records.Load(), Distinct: e.Value, StdErr: math.Round(e.StdErr),
		N: uint64(math.Ceil(e.Value + 2*e.StdErr)),
	}, nil
}

func (s *sampleReport) describe() string {
	text := fmt.Sprintf("%s: %s lines read, %s distinct", strings.Join(s.Files, ", "), figure.Comma(s.Lines), figure.Comma(uint64(s.Distinct)))
	if s.StdErr == 0 {
		return text
	}
	return text + fmt.Sprintf(" ± %s; planned for two standard errors more", figure.Comma(uint64(s.StdErr)))
}
