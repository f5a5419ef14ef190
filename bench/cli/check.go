package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"seen/internal/corpus"
)

// order is what a program promises of its output.
type order int

const (
	none     order = iota // a floor: it does not do the work
	inOrder               // the right lines, in input order
	anyOrder              // the right lines, in another order
)

// outcome is what a checked run put out.
type outcome struct {
	lines   uint64
	dropped uint64 // right lines that are missing
}

// check reads the output of a program that was given the corpus c and compares
// it with the right one: the lines that keep accepts. With the promise of input
// order each line must come, and come in its place; lines left out are counted.
// In any other order only the number of lines can be compared. An error means
// that the output is wrong in another way than by missing lines.
func check(output io.Reader, c corpus.Config, keep func(corpus.Line) bool, promise order) (outcome, error) {
	g, err := corpus.New(c)
	if err != nil {
		return outcome{}, err
	}
	// next returns the next right line.
	next := func() ([]byte, bool) {
		for {
			l, ok := g.Next()
			if !ok || keep(l) {
				return l.Text, ok
			}
		}
	}
	var o outcome
	r := bufio.NewReaderSize(output, 1<<18)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err == io.EOF {
			return o, errors.New("the last line of the output has no newline")
		}
		if err != nil {
			return o, fmt.Errorf("line %d of the output: %w", o.lines+1, err)
		}
		o.lines++
		if promise != inOrder {
			continue
		}
		for {
			want, ok := next()
			if !ok {
				return o, fmt.Errorf("line %d of the output, %q, is not right there", o.lines, bytes.TrimSuffix(line, []byte{'\n'}))
			}
			if bytes.Equal(want, line[:len(line)-1]) {
				break
			}
			o.dropped++
		}
	}
	var rest uint64
	for _, ok := next(); ok; _, ok = next() {
		rest++
	}
	switch {
	case promise == inOrder:
		o.dropped += rest
	case o.lines > rest:
		return o, errors.New("more lines than there are right ones")
	default:
		o.dropped = rest - o.lines
	}
	return o, nil
}

// firstOnly keeps the first occurrence of each line: what uniq prints.
func firstOnly(l corpus.Line) bool { return l.First }

// notInSet keeps every line that is not in the set: what filter -v prints.
func notInSet(l corpus.Line) bool { return !inSet(l.Ordinal) }
