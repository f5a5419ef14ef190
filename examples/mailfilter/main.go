// Command mailfilter copies the mail addresses of standard input that are not in a
// list of forbidden addresses. The spelling of the addresses does not matter.
//
//	go run ./examples/mailfilter -forbidden LIST < ADDRESSES
//
// The program reads the list into a filter and checks the canonical form of each
// address, so J.Doe+shop@GMail.com is forbidden if jdoe@gmail.com is in the list. For
// some addresses the filter wrongly says "maybe", and a wrong answer loses mail. The
// program therefore reads the list again and looks for these few addresses, so the
// answer is exact. It needs memory for the filter and for blocks of addresses.
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

// run is main with its arguments and streams as parameters.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("mailfilter", flag.ContinueOnError)
	flags.SetOutput(stderr)
	list := flags.String("forbidden", "", "`FILE` of forbidden addresses, one per line")
	rate := flags.Float64("p", 0.001, "error rate of the filter: the share of addresses that need the second look")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *list == "" {
		fmt.Fprintln(stderr, "mailfilter: give -forbidden FILE, and the addresses on standard input")
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

// address is a line with its canonical form.
type address struct{ line, key string }

// counts are what happened to the addresses.
type counts struct{ addresses, passed, forbidden, looked int }

// filter copies the addresses that are not forbidden, in their order.
func filter(list string, rate float64, in io.Reader, out io.Writer) (c counts, err error) {
	forbidden, err := load(list, rate)
	if err != nil {
		return c, err
	}
	// Addresses are processed in blocks: those for which the filter says "maybe" wait for
	// the second look, and the others wait with them to keep the order.
	const block = 100_000
	var lines []address
	maybe := map[string]bool{} // canonical form -> whether it is in the list
	flush := func() error {
		c.looked += countMaybe(lines, maybe)
		if err := confirm(list, maybe); err != nil {
			return err
		}
		for _, l := range lines {
			if maybe[l.key] {
				c.forbidden++
				continue
			}
			c.passed++
			if _, err := fmt.Fprintln(out, l.line); err != nil {
				return err
			}
		}
		lines = lines[:0]
		clear(maybe)
		return nil
	}
	err = eachAddress(in, func(line string, key []byte) error {
		c.addresses++
		if forbidden.Has(key) {
			maybe[string(key)] = false
		}
		if lines = append(lines, address{line, string(key)}); len(lines) == block {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return c, err
}

// load makes a filter of the list. The filter grows, so the list does not have to be
// counted first.
func load(list string, rate float64) (*bloom.Scalable, error) {
	f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 10_000, ErrorRate: rate})
	if err != nil {
		return nil, err
	}
	return f, eachAddressOf(list, func(_ string, key []byte) error {
		f.Add(key)
		return nil
	})
}

// countMaybe returns for how many lines the filter said "maybe".
func countMaybe(lines []address, maybe map[string]bool) (n int) {
	for _, l := range lines {
		if _, is := maybe[l.key]; is {
			n++
		}
	}
	return n
}

// confirm sets maybe[key] for each key that is in the list.
func confirm(list string, maybe map[string]bool) error {
	if len(maybe) == 0 {
		return nil
	}
	return eachAddressOf(list, func(_ string, key []byte) error {
		if _, asked := maybe[string(key)]; asked {
			maybe[string(key)] = true
		}
		return nil
	})
}

func eachAddressOf(name string, do func(line string, key []byte) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() // it is only read
	return eachAddress(f, do)
}

// eachAddress calls do with each line that is not empty and its canonical form. A line that
// is not an address is an error: the list or the addresses are not what they should be.
func eachAddress(r io.Reader, do func(line string, key []byte) error) (err error) {
	var key []byte
	in := bufio.NewScanner(r)
	for in.Scan() {
		if in.Text() == "" {
			continue
		}
		if key, err = keys.AppendEmail(key[:0], in.Bytes()); err != nil {
			return err
		}
		if err := do(in.Text(), key); err != nil {
			return err
		}
	}
	return in.Err()
}
