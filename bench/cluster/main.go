// Command cluster compares adding keys to a filter of package cluster in Redis with the
// usual methods of crawlers, on the same server, with the same keys and memory:
//
//   - the common recipe of crawlers, 7 GETBIT and for new keys 7 SETBIT, with a round
//     trip for each;
//   - the same commands in pipelines;
//   - all bits in one string, set by a script in the engine, as client libraries with
//     Bloom filters do.
//
// From the root of the tree:
//
//	go run -C bench ./cluster                     everything, in full size
//	go run -C bench ./cluster -keys 200000 -rounds 1      a quick look
//
// One client adds keys, one call after another. Rounds take turns between the rows, so
// that a busy minute of the machine affects all of them. The tables show medians. Ratios
// compare rows of one round; for them the tables show the median and the minimum.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// options are the checked flags.
type options struct {
	keys     int // in each filter before the measurement, half of its capacity
	rounds   int
	seconds  float64 // of one measurement, about
	nodes    bool    // also on a Redis Cluster
	progress io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(2)
	}
}

// parse reads the options from the command line. It exits on an unknown flag.
func parse(args []string) (options, error) {
	o := options{progress: os.Stderr}
	flags := flag.NewFlagSet("cluster", flag.ExitOnError)
	flags.IntVar(&o.keys, "keys", 1_000_000, "keys in each filter before the measurement; its capacity is twice that")
	flags.IntVar(&o.rounds, "rounds", 5, "measurements of each row, in turns")
	flags.Float64Var(&o.seconds, "seconds", 0.5, "approximate length of a measurement")
	flags.BoolVar(&o.nodes, "nodes", true, "also measure on a Redis Cluster of 3 primaries and 3 replicas")
	_ = flags.Parse(args) // exits by itself
	if flags.NArg() > 0 {
		return o, fmt.Errorf("argument %q: the program takes flags only", flags.Arg(0))
	}
	if o.keys < 10_000 || o.rounds < 1 || o.seconds <= 0 {
		return o, fmt.Errorf("-keys %d, -rounds %d, -seconds %g: they must be at least 10000, at least 1 and more than 0", o.keys, o.rounds, o.seconds)
	}
	return o, nil
}
