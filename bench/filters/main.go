// Command filters compares the filters of package seen/bloom with those of other
// Go modules, on the same keys, in one process. From the root of the tree:
//
//	go run -C bench ./filters                        100 thousand and 10 million keys
//	go run -C bench ./filters -n 100000000 -keys random16
//	go run -C bench ./filters -rows 'Filter|parquet' -turns 15
//
// Every row is filled with n keys, in which it is timed, and is then asked for
// keys that are there (Has+), keys that are not (Has-), and both in random order
// (mixed). The questions take turns over all rows, so that a busy minute of the
// machine meets all of them, and the table shows medians of the turns. Beside the
// times stand the bits per key and the measured error rate, so that nobody wins by
// a worse filter. Hashing is part of the time, except in rows that say "hashes".
//
// Times of one goroutine are processor time of its thread: a program that takes
// turns with others on a core does not pay for them. Times of two goroutines are
// elapsed time, for want of an alternative, and need a quiet machine.
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
	flags.StringVar(&sizes, "n", "100000,10000000", "keys in the filter, one table for each number")
	flags.StringVar(&kinds, "keys", "random16,url60", "kinds of keys: random16, 16 random bytes; url60, URLs of 60 bytes")
	flags.Float64Var(&o.rate, "p", 0.01, "error rate to ask for")
	flags.IntVar(&o.turns, "turns", 11, "times that each row is asked; the table shows medians")
	flags.IntVar(&o.queries, "queries", 2_000_000, "keys in a turn, at most")
	flags.BoolVar(&o.pairs, "pairs", true, "also ask from two goroutines at a time")
	flags.StringVar(&only, "rows", "", "regular expression for the rows; the reference rows are always there")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("filters: %w", err)
	}
	for s := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 100 || n > 1<<32 {
			return o, fmt.Errorf("filters: -n %q: %q is no number of keys from 100 to 2^32", sizes, s)
		}
		o.sizes = append(o.sizes, n)
	}
	for s := range strings.SplitSeq(kinds, ",") {
		k, ok := keyKinds[s]
		if !ok {
			return o, fmt.Errorf("filters: -keys %q: there is random16 and url60, but no %q", kinds, s)
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
	debug.SetGCPercent(-1) // the collector would run in somebody's turn; run collects between
	return o, nil
}
