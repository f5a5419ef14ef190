// Command corpus writes one of the seeded benchmark inputs to standard output or to a
// file. The same flags produce the same bytes on every machine. Package
// seen/internal/corpus describes the inputs.
//
//	go run -C bench ./corpus -kind urls > /tmp/urls.txt
//	go run -C bench ./corpus -kind short -scale 0.1 -o /tmp/short.txt
//	go run -C bench ./corpus -kind urls -lines 80000 -distinct 20000 | gzip -9n > examples/crawl.txt.gz
//
// It exits with 2 if a flag is invalid or a write fails.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"

	"seen/internal/corpus"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// run is main with its arguments and output as parameters. It exits on an unknown flag.
func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("corpus", flag.ExitOnError)
	kind := flags.String("kind", string(corpus.URLs), fmt.Sprintf("kind of the lines, one of %v", corpus.Kinds()))
	scale := flags.Float64("scale", 1, "factor of the full size")
	lines := flags.Uint64("lines", 0, "number of lines; 0 is the kind's full size")
	distinct := flags.Uint64("distinct", 0, "number of distinct lines; 0 is the kind's full size")
	seed := flags.Uint64("seed", 1, "seed of the generator; each seed produces another corpus")
	output := flags.String("o", "", "file to write instead of standard output")
	_ = flags.Parse(args) // exits by itself
	if flags.NArg() > 0 {
		return fmt.Errorf("corpus: argument %q: the program takes flags only", flags.Arg(0))
	}
	c := corpus.Standard(corpus.Kind(*kind))
	if *lines > 0 {
		c.Lines = *lines
	}
	if *distinct > 0 {
		c.Distinct = *distinct
	}
	c.Seed = *seed
	if err := c.Validate(); err != nil {
		return err
	}
	c, err := c.Scale(*scale)
	if err != nil {
		return err
	}
	if *output == "" {
		return write(stdout, c)
	}
	f, err := os.Create(*output)
	if err != nil {
		return err
	}
	if err := write(f, c); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// write copies the corpus c to w.
func write(w io.Writer, c corpus.Config) error {
	r, err := corpus.NewReader(c)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<20)
	if _, err := b.ReadFrom(r); err != nil {
		return err
	}
	return b.Flush()
}
