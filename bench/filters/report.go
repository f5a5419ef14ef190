package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// run measures and prints all tables.
func run(o options, out, progress io.Writer) error {
	fmt.Fprintf(out, "machine: %s, %d cores, %s/%s, %s, load %s\n",
		line("/proc/cpuinfo", "model name"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), line("/proc/loadavg", ""))
	fmt.Fprintf(out, "commit:  %s, %s\n", commit(), time.Now().UTC().Format(time.DateTime))
	modules := map[string]string{"github.com/zeebo/xxh3": version("github.com/zeebo/xxh3")}
	for _, r := range rows(o.only) {
		if r.module != "seen" {
			modules[r.module] = version(r.module)
		}
	}
	for _, m := range slices.Sorted(maps.Keys(modules)) {
		fmt.Fprintf(out, "module:  %s %s\n", m, modules[m])
	}
	for _, m := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(out, "left out: %s: %s\n", m, left[m])
	}
	var wrong []string
	for _, k := range o.kinds {
		for _, n := range o.sizes {
			results := table(o, k, n, progress)
			printTable(out, o, k, n, results)
			for _, r := range results {
				if r.row.module == "seen" && (r.failed != nil || r.lost > 0) {
					wrong = append(wrong, fmt.Sprintf("%s: %d keys lost, %v", r.row.name, r.lost, r.failed))
				}
			}
			runtime.GC()
		}
	}
	if wrong != nil {
		return fmt.Errorf("filters: filters of this module gave wrong answers: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// printTable prints one table. The ratios are those of mixed look-ups: the time of a
// row divided by the time of the reference, and by the time of Filter.
func printTable(out io.Writer, o options, k keyKind, n int, results []result) {
	var p, blocked float64
	for _, r := range results {
		switch r.row.name {
		case reference:
			p = r.mixed
		case "Filter":
			blocked = r.mixed
		}
	}
	fmt.Fprintf(out, "\n%d keys, %s, requested error rate %g; ns per key, medians of %d turns; P is %s\n\n", n, k.name, o.rate, o.turns, reference)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "filter\tbits/key\tmeasured p\tAdd\tHas+\tHas-\tmixed\tof P\tof Filter\tmixed x2\t\n")
	for _, r := range results {
		if r.failed != nil {
			fmt.Fprintf(w, "%s\tfailed: %v\t\n", r.row.name, r.failed)
			continue
		}
		if r.mixed == 0 {
			fmt.Fprintf(w, "%s\t%.2f\t\t%.1f\t\t\t\t\t\t\t\n", r.row.name, r.bitsPerKey, r.add)
			continue
		}
		pair := ""
		if r.pair != 0 {
			pair = fmt.Sprintf("%.1f", r.pair)
		}
		name := r.row.name
		if r.lost > 0 {
			name += fmt.Sprintf(" (lost %d)", r.lost)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.3g %%\t%.1f\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%s\t\n",
			name, r.bitsPerKey, 100*r.errorRate, r.add, r.present, r.absent, r.mixed, r.mixed/p, r.mixed/blocked, pair)
	}
	w.Flush()
}

// line returns the value of the first line of a file that begins with key, or its
// first line.
func line(path, key string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for l := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(l, ":"); key != "" && ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		} else if key == "" {
			return strings.TrimSpace(l)
		}
	}
	return "unknown"
}

func commit() string {
	b, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
