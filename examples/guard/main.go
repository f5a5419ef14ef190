// Command guard puts a filter in front of a key-value store on disk, so that
// look-ups of absent keys almost never read the disk.
//
//	go run -C examples/guard .
//
// fills a bbolt database with 200,000 values and looks up a million keys. Nine of ten
// are absent. It prints how many reads the filter saved.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main with its arguments and streams as parameters.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("guard", flag.ContinueOnError)
	flags.SetOutput(stderr)
	values := flags.Int("values", 200_000, "values in the store")
	lookups := flags.Int("lookups", 1_000_000, "number of look-ups; one of ten finds a value")
	rate := flags.Float64("p", 0.01, "error rate: the share of look-ups of absent keys that read the store and find nothing")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := demonstrate(*values, *lookups, *rate, stdout); err != nil {
		fmt.Fprintln(stderr, "guard:", err)
		return 2
	}
	return 0
}

func demonstrate(values, lookups int, rate float64, stdout io.Writer) error {
	if values < 1 || lookups < 0 {
		return fmt.Errorf("%d values and %d look-ups; want at least one value", values, lookups)
	}
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "values.db")
	s, err := Open(path, uint64(values), rate)
	if err != nil {
		return err
	}
	pairs := make(map[string]string, values)
	for i := range values {
		pairs[fmt.Sprintf("user:%d", i)] = fmt.Sprintf("value %d", i)
	}
	if err := s.PutAll(pairs); err != nil {
		return err
	}
	// When the store is opened again, it makes the filter from its keys.
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = Open(path, uint64(values), rate); err != nil {
		return err
	}
	defer s.Close()
	found := 0
	for i := range lookups {
		key := fmt.Appendf(nil, "user:%d", values+i)
		if i%10 == 0 {
			key = fmt.Appendf(nil, "user:%d", i%values)
		}
		value, err := s.Get(key)
		if err != nil {
			return err
		}
		if value != nil {
			found++
		}
	}
	asked, reads, pages, err := s.Saved()
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "look-ups  %d, of which %d found a value\nreads     %d, of which %d found nothing\nsaved     %d reads, of %d pages each\n",
		asked, found, reads, reads-int64(found), asked-reads, pages)
	return nil
}
