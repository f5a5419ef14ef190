package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Report has all measurements of one run, in the form of the JSON output.
type Report struct {
	Machine  string            `json:"machine"`
	Commit   string            `json:"commit"`
	Time     time.Time         `json:"time"`
	Versions map[string]string `json:"versions"`
	Missing  []string          `json:"missing"` // programs left out
	Works    []Work            `json:"works"`
}

// Work is one table.
type Work struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Kind     string `json:"kind"`
	Lines    uint64 `json:"lines"`
	Distinct uint64 `json:"distinct"`
	Bytes    int64  `json:"bytes"`
	Runs     int    `json:"runs"`
	Rows     []Row  `json:"rows"`
}

// Row is one program. Wall, CPU and MaxRSS are medians of the timed runs.
type Row struct {
	Name     string   `json:"name"`
	Command  []string `json:"command"`
	Ours     bool     `json:"ours"`
	Floor    bool     `json:"floor"`
	Wall     float64  `json:"wall_s"`
	CPU      float64  `json:"cpu_s"`
	MaxRSS   float64  `json:"max_rss_bytes"`
	LinesOut uint64   `json:"lines_out"`
	Dropped  uint64   `json:"wrongly_dropped"`
	Error    string   `json:"error,omitempty"`
	Timed    []usage  `json:"timed"`
}

func (r *Row) summarize() {
	r.Wall = median(r.Timed, func(u usage) float64 { return u.Wall })
	r.CPU = median(r.Timed, func(u usage) float64 { return u.CPU })
	r.MaxRSS = median(r.Timed, func(u usage) float64 { return float64(u.MaxRSS) })
}

// describe returns a report with the machine, the commit and the versions.
func describe(ctx context.Context, root string) *Report {
	r := &Report{
		Machine: fmt.Sprintf("%s, %d cores, %.0f GiB, %s/%s, Linux %s, load %s",
			cpuModel(), runtime.NumCPU(), float64(memoryTotal())/(1<<30), runtime.GOOS, runtime.GOARCH,
			firstLine(os.ReadFile("/proc/sys/kernel/osrelease")), firstLine(os.ReadFile("/proc/loadavg"))),
		Commit:   firstLine(exec.CommandContext(ctx, "git", "-C", root, "describe", "--tags", "--always", "--dirty").Output()),
		Time:     time.Now().UTC().Truncate(time.Second),
		Versions: map[string]string{"go": runtime.Version()},
	}
	for name, args := range map[string][]string{
		"sort": {"--version"}, "mawk": {"-W", "version"}, "gawk": {"--version"}, "grep": {"--version"},
		"perl": {"-e", "print $^V"}, "datamash": {"--version"},
	} {
		if has(name) {
			r.Versions[name] = firstLine(exec.CommandContext(ctx, name, args...).CombinedOutput())
		}
	}
	return r
}

func firstLine(b []byte, err error) string {
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// cpuModel returns the name of the processor from the kernel.
func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return firstLine(nil, err)
}

// memoryTotal returns the bytes of memory of the machine, or 4 GiB if they are unknown.
func memoryTotal() uint64 {
	b, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			if kib, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return 4 << 30
}

// leaveOut adds programs to those that the machine does not have.
func (r *Report) leaveOut(names []string) {
	r.Missing = append(r.Missing, names...)
	slices.Sort(r.Missing)
	r.Missing = slices.Compact(r.Missing)
}

// print writes the tables as Markdown.
func (r *Report) print(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Machine: %s\nCommit: %s, %s\n", r.Machine, r.Commit, r.Time.Format("2006-01-02 15:04 UTC"))
	var versions []string
	for name, version := range r.Versions {
		versions = append(versions, name+": "+version)
	}
	slices.Sort(versions)
	fmt.Fprintf(out, "Programs: %s\n", strings.Join(versions, "; "))
	if len(r.Missing) > 0 {
		fmt.Fprintf(out, "Left out, not on this machine: %s\n", strings.Join(r.Missing, ", "))
	}
	fmt.Fprintln(out, "Peaks of less than some 10 MB are those of the measuring program.")
	for _, work := range r.Works {
		work.print(out)
	}
	return out.Flush()
}

// print writes one table. Its ratios are to the first floor, cat, and to the first row
// of seen: a row above 1 is slower.
func (w Work) print(out io.Writer) {
	fmt.Fprintf(out, "\n### %s: %s\n\n%s: %d lines, %d distinct, %.0f MB. Medians of %d runs in turns, output to /dev/null.\n\n",
		w.Name, w.Title, w.Kind, w.Lines, w.Distinct, float64(w.Bytes)/1e6, w.Runs)
	var cat, seen float64
	for _, r := range w.Rows {
		if r.Floor && cat == 0 {
			cat = r.Wall
		}
		if r.Ours && seen == 0 {
			seen = r.Wall
		}
	}
	table := [][]string{
		{"program", "wall s", "CPU s", "MB/s", "peak MB", "lines out", "wrongly dropped", "x cat", "x seen"},
	}
	var failed []Row
	for _, r := range w.Rows {
		row := make([]string, len(table[0]))
		row[0] = "`" + r.Name + "`"
		if r.Error != "" {
			failed = append(failed, r)
			row[1] = "failed"
		} else {
			copy(row[1:], []string{
				fmt.Sprintf("%.3f", r.Wall), fmt.Sprintf("%.3f", r.CPU),
				fmt.Sprintf("%.0f", float64(w.Bytes)/1e6/r.Wall), fmt.Sprintf("%.0f", r.MaxRSS/1e6),
				strconv.FormatUint(r.LinesOut, 10), strconv.FormatUint(r.Dropped, 10),
				ratio(r.Wall, cat), ratio(r.Wall, seen),
			})
			if r.Floor {
				row[5], row[6] = "", ""
			}
		}
		table = append(table, row)
	}
	printTable(out, table)
	for _, r := range failed {
		fmt.Fprintf(out, "\n`%s` failed: %s\n", r.Name, strings.ReplaceAll(r.Error, "\n", " "))
	}
}

// printTable writes rows as a Markdown table. The first row is the head. The first
// column is aligned left, the others right.
func printTable(out io.Writer, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	for i, row := range rows {
		for j, cell := range row {
			if j == 0 {
				fmt.Fprintf(out, "| %-*s ", width[j], cell)
			} else {
				fmt.Fprintf(out, "| %*s ", width[j], cell)
			}
		}
		fmt.Fprintln(out, "|")
		if i == 0 {
			for j := range row {
				end := ":|"
				if j == 0 {
					end = "-|"
				}
				fmt.Fprint(out, strings.TrimSuffix("|"+strings.Repeat("-", width[j]+1)+end, "|"))
			}
			fmt.Fprintln(out, "|")
		}
	}
}

// ratio returns a/b for a table, or "" if b is 0.
func ratio(a, b float64) string {
	if b == 0 {
		return ""
	}
	return strconv.FormatFloat(a/b, 'f', 2, 64)
}
