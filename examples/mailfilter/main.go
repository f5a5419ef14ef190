// Command mailfilter passes on the mail addresses of standard input that are not in
// a list of forbidden ones, however either is written.
//
//	go run ./examples/mailfilter -forbidden LIST < ADDRESSES
//
// The list is read once into a filter; each address is asked for in its canonical
// form, so that J.Doe+shop@GMail.com is found where jdoe@gmail.com is forbidden. A
// filter says "maybe", and somebody's mail is at stake: the few addresses that it
// takes for forbidden are looked for in the list itself, in one more pass over it,
// so that the answer is exact. Memory is that of the filter and of these few.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"

	"seen/bloom"
	"seen/keys"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is main with its surroundings passed in.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("mailfilter", flag.ContinueOnError)
	flags.SetOutput(stderr)
	list := flags.String("forbidden", "", "`FILE` of forbidden addresses, one a line")
	rate := flags.Float64("p", 0.001, "error rate of the filter: the share of addresses that need the second look")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *list == "" {
		fmt.Fprintln(stderr, "mailfilter: want -forbidden FILE, and addresses on standard input")
		return 2
	}
	c, err := filter(*list, *rate, stdin, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "mailfilter:", err)
		return 2
	}
	fmt.Fprintf(stderr, "%d addresses: %d passed, %d forbidden; %d looked for in the list, of which %d were not there\n",
		c.addresses, c.passed, c.forbidden, c.looked, c.looked-c.forbidden)
	return 0
}

// counts are what happened to the addresses.
type counts struct{ addresses, passed, forbidden, looked int }

// filter copies the addresses that are not forbidden, in their order.
func filter(list string, rate float64, in io.Reader, out io.Writer) (c counts, err error) {
	forbidden, err := load(list, rate)
	if err != nil {
		return c, err
	}
	// The addresses that the filter is not sure of wait for the second look, and what
	// came behind them waits too, so that the order stays: a block at a time.
	const block = 100_000
	var lines []string
	maybe := map[string]bool{} // canonical form -> whether it is in the list
	flush := func() error {
		c.looked += countMaybe(lines, maybe)
		if err := confirm(list, maybe); err != nil {
			return err
		}
		var key []byte
		for _, line := range lines {
			key = keys.AppendEmail(key[:0], []byte(line))
			if maybe[string(key)] {
				c.forbidden++
				continue
			}
			c.passed++
			if _, err := fmt.Fprintln(out, line); err != nil {
				return err
			}
		}
		lines = lines[:0]
		clear(maybe)
		return nil
	}
	var key []byte
	err = eachLine(in, func(line string) error {
		c.addresses++
		key = keys.AppendEmail(key[:0], []byte(line))
		if forbidden.Has(key) {
			maybe[string(key)] = false
		}
		if lines = append(lines, line); len(lines) == block {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return c, err
}

// load makes a filter of the list. It grows, so that nobody has to count the list
// first.
func load(list string, rate float64) (*bloom.Scalable, error) {
	f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 10_000, ErrorRate: rate})
	if err != nil {
		return nil, err
	}
	var key []byte
	return f, eachLineOf(list, func(line string) error {
		key = keys.AppendEmail(key[:0], []byte(line))
		f.Add(key)
		return nil
	})
}

// countMaybe returns how many lines the filter was not sure of.
func countMaybe(lines []string, maybe map[string]bool) (n int) {
	var key []byte
	for _, line := range lines {
		key = keys.AppendEmail(key[:0], []byte(line))
		if _, is := maybe[string(key)]; is {
			n++
		}
	}
	return n
}

// confirm sets maybe[key] for all keys that are in the list.
func confirm(list string, maybe map[string]bool) error {
	if len(maybe) == 0 {
		return nil
	}
	var key []byte
	return eachLineOf(list, func(line string) error {
		key = keys.AppendEmail(key[:0], []byte(line))
		if _, asked := maybe[string(key)]; asked {
			maybe[string(key)] = true
		}
		return nil
	})
}

func eachLineOf(name string, do func(string) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // it is only read
	return eachLine(f, do)
}

func eachLine(r io.Reader, do func(string) error) error {
	in := bufio.NewScanner(r)
	for in.Scan() {
		if in.Text() == "" {
			continue
		}
		if err := do(in.Text()); err != nil {
			return err
		}
	}
	return in.Err()
}
