// Command cli compares the command seen with other programs for the same work: sort -u,
// awk, perl and datamash for repeated lines, grep and the same programs for lines of a
// set. From the root of the tree:
//
//	make bench                                    everything, in full size
//	go run -C bench ./cli -scale 0.05 -runs 3     a quick look
//	go run -C bench ./cli -works filter -json filter.json
//
// Package seen/internal/corpus makes the inputs, which stay in a folder for the next
// run. Each program runs once, and its output is compared with the correct output, line
// by line. Then it runs -runs times, and its output is discarded. These runs take turns,
// so that a busy minute of the machine affects all programs. The table shows medians.
// Programs that are not installed are listed and skipped.
//
// It exits with 2 if it cannot do its work. Wrong output of a program is reported in the
// table and does not change the exit code: the peers are measured, not tested.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
)

// options are the checked flags.
type options struct {
	scale    float64
	runs     int
	root     string // the source tree from which seen is built
	seen     string // path of a built seen; "": build one
	dir      string
	json     string
	works    *regexp.Regexp
	programs *regexp.Regexp
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// parse reads the options from the command line. It exits on an unknown flag.
func parse(args []string) (options, error) {
	var o options
	var works, programs string
	flags := flag.NewFlagSet("cli", flag.ExitOnError)
	flags.Float64Var(&o.scale, "scale", 1, "factor of the full size of the inputs")
	flags.IntVar(&o.runs, "runs", 5, "timed runs of each program")
	flags.StringVar(&o.root, "root", "..", "source tree from which seen is built")
	flags.StringVar(&o.seen, "seen", "", "path of a built seen to use instead")
	flags.StringVar(&o.dir, "dir", defaultDir(), "folder for inputs; $BENCH_DIR sets the default")
	flags.StringVar(&o.json, "json", "", "file for the results as JSON, with every run")
	flags.StringVar(&works, "works", "^(uniq/(urls|short|paths)|filter|start)", "regular expression for the tables; uniq/ids needs much memory and time")
	flags.StringVar(&programs, "programs", "", "regular expression for the rows; floors and seen are always included")
	_ = flags.Parse(args) // exits by itself
	if flags.NArg() > 0 {
		return o, fmt.Errorf("cli: argument %q: the program takes flags only", flags.Arg(0))
	}
	if o.runs < 1 {
		return o, fmt.Errorf("cli: -runs %d: at least 1 run is needed", o.runs)
	}
	var err error
	if o.works, err = regexp.Compile(works); err != nil {
		return o, fmt.Errorf("cli: -works: %w", err)
	}
	if o.programs, err = regexp.Compile(programs); err != nil {
		return o, fmt.Errorf("cli: -programs: %w", err)
	}
	return o, nil
}

func defaultDir() string {
	if dir := os.Getenv("BENCH_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(os.TempDir(), "seen-bench")
}

// run makes missing inputs, measures, and writes the tables to stdout and its progress
// to progress.
func run(ctx context.Context, o options, stdout, progress io.Writer) error {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	seen, err := buildSeen(ctx, o)
	if err != nil {
		return err
	}
	report := describe(ctx, o.root)
	for _, plan := range plans(seen, o.dir) {
		if !o.works.MatchString(plan.name) {
			continue
		}
		w, err := plan.prepare(ctx, o, progress)
		if err != nil {
			return err
		}
		report.leaveOut(w.missing)
		result, err := w.measure(ctx, o.runs, progress)
		if err != nil {
			return err
		}
		report.Works = append(report.Works, result)
	}
	if len(report.Works) == 0 {
		return fmt.Errorf("cli: no work matches %q", o.works)
	}
	if o.json != "" {
		b, err := json.MarshalIndent(report, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	return report.print(stdout)
}
