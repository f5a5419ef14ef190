package cli

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"seen/internal/stream"
	"seen/sizing"
)

// planFlags are the flags of "seen plan".
type planFlags struct {
	records    recordFlags
	capacity   countValue
	rate       rateValue
	memory     sizeValue
	sample     []string
	types      []string
	table      bool
	plot       string
	clickhouse bool
	json       bool
}

func (a *app) planCommand() *cobra.Command {
	var p planFlags
	cmd := &cobra.Command{
		Use:   "plan [-n N] [-p P] [--memory SIZE]",
		Short: "tell what a filter costs, every type side by side",
		Long: `Tell what a filter for -n distinct keys with error rate -p costs, every type side
by side: its layout, memory, and the error rate at other numbers of keys. With
--memory and -n: the best rate that fits; with --memory and -p: how many keys
fit. Nothing is built; the lines to copy come with the answer.`,
		Example: `  seen plan -n 1G -p 1e-6                      what it will cost
  seen plan -n 200M --memory 512MiB            the best rate in that memory
  seen plan -p 1e-4 --memory 1GiB              how many keys fit
  seen plan --sample urls.txt.gz               n counted from a file
  seen plan -n 10M -p 1e-3 --plot rates.svg    error rate against n, and against k
  seen plan --table                            error rate by k and m/n`,
		Args:              arguments(0, 0, ""),
		ValidArgsFunction: filesUpTo(0),
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.plan(cmd, &p) },
	}
	f := cmd.Flags()
	f.VarP(&p.capacity, "capacity", "n", "number of distinct keys")
	f.VarP(&p.rate, "error-rate", "p", "wanted error rate (default 1e-6, unless -n and --memory give it)")
	f.VarP(&p.memory, "memory", "m", "instead of -n or -p: the memory there is")
	f.StringArrayVar(&p.sample, "sample", nil, "instead of -n: count the distinct keys of `FILE`, all of it, by HyperLogLog; may be repeated")
	f.StringSliceVar(&p.types, "type", nil, "only these `TYPES`: "+strings.Join(planTypes, ","))
	f.BoolVar(&p.table, "table", false, "print the error rate for each k and m/n")
	f.StringVar(&p.plot, "plot", "", "draw the error rate against n and against k to `FILE`.svg or .png")
	f.BoolVar(&p.clickhouse, "clickhouse", false, "what ClickHouse's bloom_filter index makes of -p")
	f.BoolVar(&p.json, "json", false, "report as JSON")
	p.records.register(cmd)
	_ = cmd.MarkFlagFilename("plot", "svg", "png")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(planTypes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check refuses flags that contradict each other and those that miss something.
func (p *planFlags) check(cmd *cobra.Command) error {
	set := cmd.Flags().Changed
	for _, name := range p.types {
		if !slices.Contains(planTypes, name) {
			return usagef("--type %q is none of %s", name, strings.Join(planTypes, ", "))
		}
	}
	keys := set("capacity") || set("sample")
	switch ext := filepath.Ext(p.plot); {
	case set("capacity") && set("sample"):
		return usagef("-n and --sample exclude each other")
	case p.capacity == 0 && set("capacity"):
		return usagef("-n 0: a filter needs room for at least one key")
	case p.memory == 0 && set("memory"):
		return usagef("--memory 0: a filter needs memory")
	case p.table && p.clickhouse:
		return usagef("--table and --clickhouse exclude each other")
	case (p.table || p.clickhouse) && (keys || set("memory") || p.plot != ""):
		return usagef("--table and --clickhouse stand alone; --clickhouse takes -p")
	case p.table && set("error-rate"):
		return usagef("--table holds all rates; it takes no -p")
	case p.clickhouse && !set("error-rate"):
		return usagef("--clickhouse needs the error rate, -p")
	case p.table || p.clickhouse:
		return nil
	case !keys && !set("memory"):
		return usagef("give the number of keys (-n N or --sample FILE), or the memory there is (--memory SIZE)")
	case keys && set("memory") && set("error-rate"):
		return usagef("-n, -p and --memory: give two of the three, the third is the answer")
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
	w := wish{n: uint64(p.capacity), rate: float64(p.rate), memory: uint64(p.memory)}
	r := planReport{}
	if len(p.sample) > 0 {
		s, err := a.sample(p)
		if err != nil {
			return err
		}
		r.Sample, w.n = s, s.N
	}
	if w.rate == 0 && (w.memory == 0 || w.n == 0) {
		w.rate = defaultRate
	}
	types := p.types
	if len(types) == 0 {
		types = planTypes
	}
	r.N, r.ErrorRate, r.Memory, r.Rows = w.n, w.rate, w.memory, planRows(w, types)
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

// noneFits returns an error if nothing can be had.
func noneFits(rows []planRow) error {
	for _, r := range rows {
		if r.Error == "" {
			return nil
		}
	}
	return fmt.Errorf("no type can have this: %s", rows[0].Error)
}

// sampleReport says what --sample found.
type sampleReport struct {
	Files    []string `json:"files"`
	Lines    uint64   `json:"lines"`
	Distinct float64  `json:"distinct"`
	StdErr   float64  `json:"standard_error"`
	N        uint64   `json:"n"`
}

// sample counts the distinct keys of the sample files. With an estimate, n is two
// standard errors above it, so that the files have more keys than n once in 40
// times.
func (a *app) sample(p *planFlags) (*sampleReport, error) {
	var counters *stream.Counters
	sketch, counters, err := a.countDistinct(&p.records, defaultPrecision, p.sample)
	if err != nil {
		return nil, err
	}
	e := distinct(sketch)
	if e.Value == 0 {
		return nil, fmt.Errorf("%s: there is no key to count", strings.Join(p.sample, ", "))
	}
	return &sampleReport{
		Files: p.sample, Lines: counters.Records.Load(), Distinct: e.Value, StdErr: math.Round(e.StdErr),
		N: uint64(math.Ceil(e.Value + 2*e.StdErr)),
	}, nil
}

func (s *sampleReport) describe() string {
	text := fmt.Sprintf("%s: %s lines read, %s distinct", strings.Join(s.Files, ", "), comma(s.Lines), comma(uint64(s.Distinct)))
	if s.StdErr == 0 {
		return text
	}
	return text + fmt.Sprintf(" ± %s; planned for two standard errors more", comma(uint64(s.StdErr)))
}

// planReport is what plan reports; its JSON names are an interface to scripts.
type planReport struct {
	N         uint64        `json:"n,omitempty"`
	ErrorRate float64       `json:"error_rate,omitempty"`
	Memory    uint64        `json:"memory_bytes,omitempty"`
	Sample    *sampleReport `json:"sample,omitempty"`
	Plot      string        `json:"plot,omitempty"`
	Rows      []planRow     `json:"rows"`
}

func (r *planReport) print(w io.Writer) error {
	var b strings.Builder
	if r.Sample != nil {
		fmt.Fprintln(&b, r.Sample.describe())
	}
	switch {
	case r.Memory == 0:
		keys := "keys"
		if r.N == 1 {
			keys = "key"
		}
		fmt.Fprintf(&b, "%s distinct %s, error rate %s", comma(r.N), keys, formatRate(r.ErrorRate))
	case r.N == 0:
		fmt.Fprintf(&b, "keys that %s hold at error rate %s", formatBytes(r.Memory), formatRate(r.ErrorRate))
	default:
		fmt.Fprintf(&b, "%s distinct keys in %s", comma(r.N), formatBytes(r.Memory))
	}
	b.WriteString("\n\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if err := printColumns(w, "", r.cells()); err != nil {
		return err
	}
	if err := printColumns(w, "", r.remarks()); err != nil {
		return err
	}
	_, err := io.WriteString(w, r.copies())
	return err
}

// cells is the table: a row for each type, the error rates by load at the right.
func (r *planReport) cells() [][]string {
	head := []string{"", "m", "k", "lines", "bits/key", "memory"}
	if r.N == 0 {
		head = slices.Insert(head, 1, "keys")
	}
	for _, load := range planLoads {
		head = append(head, fmt.Sprintf("%.0f %%", 100*load))
	}
	rows := [][]string{head}
	for _, p := range r.Rows {
		if p.Error != "" {
			continue
		}
		row := []string{p.name(), comma(p.M), strconv.Itoa(p.K), p.lines(), fmt.Sprintf("%.1f", p.BitsPerKey), formatBytes(p.Bytes)}
		if p.M == 0 {
			row[1], row[2] = "", ""
		}
		if r.N == 0 {
			row = slices.Insert(row, 1, comma(p.N))
		}
		for _, l := range p.Loads {
			row = append(row, formatRate(threeDigits(l.ErrorRate)))
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *planRow) name() string {
	name := r.Type
	if r.Variant != "" {
		name += ", " + r.Variant
	}
	return name
}

func (r *planRow) lines() string {
	switch {
	case r.Layers > 1:
		return fmt.Sprintf("%d layers", r.Layers)
	case r.Lines > 0:
		return fmt.Sprintf("%d x %d", r.Lines, r.Lanes)
	}
	return ""
}

// remarks explain the table and say what cannot be had.
func (r *planReport) remarks() [][]string {
	has := func(name string) bool {
		return slices.ContainsFunc(r.Rows, func(p planRow) bool { return p.Type == name && p.Error == "" })
	}
	rows := [][]string{{""}, {"The last columns: the error rate when that share of the keys is in."}}
	for _, remark := range []struct{ name, text string }{
		{"blocked", "lines: cache lines per key x bits in each."},
		{"counting", fmt.Sprintf("counting: m counters of %d bits.", sizing.DefaultCounterBits)},
		{"scalable", "scalable: grows past n and keeps the rate; takes more memory when it does."},
		{"static", "static: about; read-only, built from all keys at once. Its memory follows them."},
		{"exact", "exact: about; 64-bit fingerprints. Its memory follows the keys."},
	} {
		if has(remark.name) {
			rows = append(rows, []string{remark.text})
		}
	}
	for _, p := range r.Rows {
		if p.Error != "" {
			rows = append(rows, []string{fmt.Sprintf("%s: cannot be had: %s.", p.name(), p.Error)})
		}
	}
	return rows
}

// copies is the part with lines to copy.
func (r *planReport) copies() string {
	var b strings.Builder
	for _, part := range []struct {
		title string
		line  func(p *planRow) string
	}{
		{"Command", func(p *planRow) string { return p.Command }},
		{"Go", func(p *planRow) string { return p.Go }},
		{"Redis with a Bloom module", func(p *planRow) string { return p.Redis }},
	} {
		seen := map[string]bool{}
		for i := range r.Rows {
			line := part.line(&r.Rows[i])
			if line == "" || seen[line] {
				continue
			}
			if len(seen) == 0 {
				fmt.Fprintf(&b, "\n%s:\n", part.title)
			}
			seen[line] = true
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	if r.Plot != "" {
		fmt.Fprintf(&b, "\nThe picture is in %s.\n", r.Plot)
	}
	return b.String()
}

// planCell is one entry of --table as JSON.
type planCell struct {
	BitsPerKey int     `json:"bits_per_key"`
	K          int     `json:"k"`
	ErrorRate  float64 `json:"error_rate"`
}

func (a *app) planTable(p *planFlags) error {
	if !p.json {
		_, err := io.WriteString(a.env.Stdout, sizing.FormatTable())
		return err
	}
	var cells []planCell
	for i, row := range sizing.Table() {
		for j, rate := range row {
			cells = append(cells, planCell{BitsPerKey: sizing.TableMinBits + i, K: j + 1, ErrorRate: digits(rate)})
		}
	}
	return printJSON(a.env.Stdout, cells)
}

// clickHouseReport is what --clickhouse reports.
type clickHouseReport struct {
	ErrorRate        float64 `json:"error_rate"`
	BitsPerRow       int     `json:"bits_per_row"`
	K                int     `json:"k"`
	Rate             float64 `json:"resulting_error_rate"`
	ServerBitsPerRow int     `json:"server_bits_per_row"`
	ServerK          int     `json:"server_k"`
	ServerRate       float64 `json:"server_error_rate"`
	Note             string  `json:"note,omitempty"`
}

func (a *app) planClickHouse(p *planFlags) error {
	c, err := sizing.ClickHouse(float64(p.rate))
	if err != nil {
		return err
	}
	r := clickHouseReport{
		ErrorRate: float64(p.rate), BitsPerRow: c.BitsPerRow, K: c.K, Rate: c.ErrorRate,
		ServerBitsPerRow: c.ServerBitsPerRow, ServerK: c.ServerK, ServerRate: c.ServerErrorRate, Note: c.Note,
	}
	if p.json {
		return printJSON(a.env.Stdout, r)
	}
	t := newTable(a.env.Stdout)
	t.row("wanted", "INDEX i column TYPE bloom_filter(%s)", flagRate(r.ErrorRate))
	t.row("server's choice", "%d bits per row, k = %d, error rate %s", r.ServerBitsPerRow, r.ServerK, formatRate(r.ServerRate))
	if r.Note != "" {
		t.row("better", "%d bits per row, k = %d, error rate %s", r.BitsPerRow, r.K, formatRate(r.Rate))
		t.row("note", "%s", r.Note)
	}
	return t.flush()
}
