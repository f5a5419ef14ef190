// Command filters compares the filters of package seen/bloom with those of other
// Go modules, on the same keys, in one process. From the root of the tree:
//
//	go run -C bench ./filters                        100 thousand and 10 million keys
//	go run -C bench ./filters -n 100000000 -keys random16
//	go run -C bench ./filters -rows 'Filter|parquet' -turns 15
//
// The program adds n keys to the filter of every row and times this. Then it looks up
// keys that are in the filter (Has+), keys that are not (Has-), and both in random order
// (mixed). Each turn goes over all rows, so that a busy minute of the machine affects
// all of them, and the table shows medians of the turns. The table also has the bits per
// key and the measured error rate, so that a faster row with a worse filter is visible.
// Hashing is part of the time, except in rows that say "hashes".
//
// Times of one goroutine are the processor time of its thread, without the time of other
// programs on the same core. Times of two goroutines are elapsed time, because nothing
// else is available, and need an idle machine.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
)

// options are the checked flags.
type options struct {
	sizes   []int
	kinds   []keyKind
	rate    float64
	turns   int
	queries int
	pairs   bool
	only    *regexp.Regexp
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func parse(args []string) (options, error) {
	var o options
	var sizes, kinds, only string
	flags := flag.NewFlagSet("filters", flag.ContinueOnError)
	flags.StringVar(&sizes, "n", "100000,10000000", "numbers of keys in the filter; one table for each")
	flags.StringVar(&kinds, "keys", "random16,url60", "kinds of keys: random16, 16 random bytes; url60, URLs of 60 bytes")
	flags.Float64Var(&o.rate, "p", 0.01, "error rate of the filters")
	flags.IntVar(&o.turns, "turns", 11, "measurements of each row; the table shows medians")
	flags.IntVar(&o.queries, "queries", 2_000_000, "most keys in a turn")
	flags.BoolVar(&o.pairs, "pairs", true, "also measure two goroutines at the same time")
	flags.StringVar(&only, "rows", "", "regular expression for the rows; the reference rows are always included")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("filters: %w", err)
	}
	for s := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 100 || n > 1<<32 {
			return o, fmt.Errorf("filters: -n %q: %q is not a number of keys from 100 to 2^32", sizes, s)
		}
		o.sizes = append(o.sizes, n)
	}
	for s := range strings.SplitSeq(kinds, ",") {
		k, ok := keyKinds[s]
		if !ok {
			return o, fmt.Errorf("filters: -keys %q: there is no kind %[2]q; use random16 or url60", kinds, s)
		}
		o.kinds = append(o.kinds, k)
	}
	if o.rate < 1e-9 || o.rate > 0.5 || o.turns < 1 || o.queries < 100 {
		return o, errors.New("filters: -p must be from 1e-9 to 0.5, -turns at least 1, -queries at least 100")
	}
	var err error
	if o.only, err = regexp.Compile(only); err != nil {
		return o, fmt.Errorf("filters: -rows: %w", err)
	}
	debug.SetGCPercent(-1) // the collector would run during a measurement; run collects between them
	return o, nil
}
