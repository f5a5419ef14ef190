// Command cli compares the command seen with the programs that people use for
// the same work: sort -u, awk, perl and datamash for lines met before, grep and
// the same for lines of a set. From the root of the tree:
//
//	make bench                                    everything, in full size
//	go run -C bench ./cli -scale 0.05 -runs 3     a quick look
//	go run -C bench ./cli -works filter -json filter.json
//
// Inputs are made by package seen/internal/corpus and kept in a folder for the
// next time. Each program runs once with its output compared, line by line, with
// the one right output, and then -runs times with its output thrown away; these
// runs take turns, so that a busy minute of the machine meets all programs. The
// table shows medians. Programs that the machine does not have are named and
// left out.
//
// It exits with 2 when it cannot do its work. What programs do wrong is in the
// table and changes no exit code: a peer is no test of ours.
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
	root     string // of the tree that seen is built from
	seen     string // a built seen; "" builds one
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

// parse turns the command line into options. It exits on a flag that does not
// exist.
func parse(args []string) (options, error) {
	var o options
	var works, programs string
	flags := flag.NewFlagSet("cli", flag.ExitOnError)
	flags.Float64Var(&o.scale, "scale", 1, "part of the full size of the inputs")
	flags.IntVar(&o.runs, "runs", 5, "timed runs of each program")
	flags.StringVar(&o.root, "root", "..", "tree to build seen from")
	flags.StringVar(&o.seen, "seen", "", "a built seen to use instead")
	flags.StringVar(&o.dir, "dir", defaultDir(), "folder for inputs; $BENCH_DIR sets the default")
	flags.StringVar(&o.json, "json", "", "file for the results as JSON, every run included")
	flags.StringVar(&works, "works", "^(uniq/(urls|short|paths)|filter|start)", "regular expression for the tables; uniq/ids needs much memory and time")
	flags.StringVar(&programs, "programs", "", "regular expression for the rows; floors and seen are always there")
	_ = flags.Parse(args) // exits by itself
	if flags.NArg() > 0 {
		return o, fmt.Errorf("cli: argument %q; everything is said by flags", flags.Arg(0))
	}
	if o.runs < 1 {
		return o, fmt.Errorf("cli: %d runs; there must be at least one", o.runs)
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

// run makes what is missing, measures, and writes the tables to stdout; what it
// is doing goes to progress.
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
