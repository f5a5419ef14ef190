package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"seen/internal/corpus"
)

// order is the order of lines that a program promises.
type order int

const (
	none     order = iota // a floor: it does not do the work
	inOrder               // the correct lines, in input order
	anyOrder              // the correct lines, in another order
)

// outcome is the result of a checked run.
type outcome struct {
	lines   uint64
	dropped uint64 // correct lines that are missing
}

// check compares the output of a program for the corpus c with the correct output: the
// lines that keep accepts. If the program promises input order, the lines must be in
// that order, and missing lines are counted. In any other order only the numbers of lines
// are compared. An error means that the output is wrong, other than by missing lines.
func check(output io.Reader, c corpus.Config, keep func(corpus.Line) bool, promise order) (outcome, error) {
	g, err := corpus.New(c)
	if err != nil {
		return outcome{}, err
	}
	// next returns the next correct line.
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
				return o, fmt.Errorf("line %d of the output, %q, is not the correct line", o.lines, bytes.TrimSuffix(line, []byte{'\n'}))
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
		return o, errors.New("the output has more lines than the correct output")
	default:
		o.dropped = rest - o.lines
	}
	return o, nil
}

// firstOnly keeps the first occurrence of each line: what uniq prints.
func firstOnly(l corpus.Line) bool { return l.First }

// notInSet keeps every line that is not in the set: what filter -v prints.
func notInSet(l corpus.Line) bool { return !inSet(l.Ordinal) }
