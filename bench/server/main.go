// Command server compares "seen serve" with an unmodified redis-server on the same
// machine, in the same run: BF.ADD and BF.EXISTS of seen, on a loaded filter, with SET and
// GET of Redis, which show what the protocol itself costs. From the root of the tree:
//
//	go run -C bench ./server                       everything, in full size
//	go run -C bench ./server -keys 1000000 -n 300000 -rounds 1      a quick look
//	go run -C bench ./server -parts 'lean|tail'
//
// redis-benchmark drives both servers. Where it is itself the limit, a small client of
// this module drives them: it sends prepared commands and counts replies. Rounds
// alternate between the servers, so that a busy minute of the machine affects both.
// Tables show medians, and the ratio of each pair. On a machine with few cores the
// client uses some of them, so each row also has the server's processor time per key.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"seen/bench/machine"
)

// options are the checked flags.
type options struct {
	keys        uint64 // in the loaded filter
	requests    int    // of one run of redis-benchmark, at pipeline 1
	rounds      int
	connections int
	root        string
	seen        string
	dir         string
	parts       *regexp.Regexp
	progress    io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(2)
	}
}

// parse reads the options from the command line. It exits on an unknown flag.
func parse(args []string) (options, error) {
	var o options
	var parts string
	flags := flag.NewFlagSet("server", flag.ExitOnError)
	flags.Uint64Var(&o.keys, "keys", 10_000_000, "keys in the loaded filter, and in Redis")
	flags.IntVar(&o.requests, "n", 1_000_000, "commands in one run without pipeline; a pipeline sends ten times as many")
	flags.IntVar(&o.rounds, "rounds", 3, "alternating runs of each server")
	flags.IntVar(&o.connections, "c", 50, "connections of redis-benchmark")
	flags.StringVar(&o.root, "root", "..", "source tree from which seen is built")
	flags.StringVar(&o.seen, "seen", "", "path of a built seen to use instead")
	flags.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "seen-bench"), "folder for data, on the disk whose fsync is measured")
	flags.StringVar(&parts, "parts", ".", "regular expression for the parts: "+partNames())
	_ = flags.Parse(args) // exits by itself
	if flags.NArg() > 0 {
		return o, fmt.Errorf("argument %q: the program takes flags only", flags.Arg(0))
	}
	if o.rounds < 1 || o.requests < 1000 || o.keys < 1000 || o.connections < 1 {
		return o, fmt.Errorf("-rounds %d, -n %d, -keys %d, -c %d: they must be at least 1, 1000, 1000 and 1", o.rounds, o.requests, o.keys, o.connections)
	}
	o.progress = os.Stderr
	var err error
	if o.parts, err = regexp.Compile(parts); err != nil {
		return o, fmt.Errorf("-parts: %w", err)
	}
	return o, nil
}

// part is one table.
type part struct {
	name string
	run  func(ctx context.Context, o *options, out io.Writer) error
}

var parts = []part{
	{"redis-benchmark", benchmarkPart},
	{"lean", leanPart},
	{"fsync", fsyncPart},
	{"sizes", sizesPart},
	{"two", twoPart},
	{"tail", tailPart},
	{"start", startPart},
}

func partNames() string {
	names := ""
	for _, p := range parts {
		names += " " + p.name
	}
	return names
}

// run runs the selected parts.
func run(ctx context.Context, o options, out io.Writer) error {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	if o.seen == "" {
		if err := o.build(ctx); err != nil {
			return err
		}
	}
	if err := machine.Describe(ctx, out); err != nil {
		return err
	}
	any := false
	for _, p := range parts {
		if !o.parts.MatchString(p.name) {
			continue
		}
		any = true
		fmt.Fprintln(o.progress, "part", p.name)
		if err := p.run(ctx, &o, out); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if !any {
		return fmt.Errorf("no part matches %q; there are%s", o.parts, partNames())
	}
	return nil
}
