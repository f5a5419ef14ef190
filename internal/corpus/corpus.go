// Package corpus makes the large inputs that tests and benchmarks of the
// de-duplicator run on: lines of text with a chosen number of lines and an
// exactly known number of distinct ones.
//
// It is for tests, benchmarks and the sample under examples, not for the
// product: nothing that is installed imports it.
//
// A [Config] decides every byte. The same Config gives the same lines on every
// platform and in every release (a golden test holds the digests), since all of
// it is integer arithmetic; floating point differs between processors in the
// last bit. Lines are made one at a time in constant memory, some millions of
// them per second, so that a test of 20 million needs no file.
//
// Each line has an ordinal, its number in the order of first occurrence. Three
// properties hold and make it cheap to judge a de-duplicator without a set of
// all lines in memory:
//
//   - ordinals 0 to Distinct-1 all occur, each for the first time in this order;
//   - two lines have the same text if and only if they have the same ordinal;
//   - [Line.First] tells the first occurrence, so that the lines with First set,
//     in order, are the one right output of a de-duplicator that keeps order.
//
// A Generator and the reader of [NewReader] serve one goroutine; Config values
// may be used by many.
package corpus

import (
	"fmt"
	"math"
	"math/bits"
)

// Kind names what the lines look like. How often they repeat is decided by
// Config alone; [Standard] gives each kind the numbers it is known for.
type Kind string

const (
	// URLs are lines as a web crawler meets them, about 65 bytes each: hosts
	// with few and with many pages, sections, dates, slugs, query strings. All
	// hosts are in the reserved top-level domain .example.
	URLs Kind = "urls"
	// Short are lines of some ten bytes, such as the names of devices or users
	// in a log, of which few distinct ones repeat many times.
	Short Kind = "short"
	// Paths are absolute file names, about 50 bytes each.
	Paths Kind = "paths"
	// IDs are 16 hexadecimal digits without structure, as random ids have.
	IDs Kind = "ids"
)

// Kinds returns all kinds in the order in which reports list them.
func Kinds() []Kind { return []Kind{URLs, Short, Paths, IDs} }

// MaxLines is the largest number of lines a Config may ask for.
const MaxLines = 1 << 40

// Config describes a corpus completely. Configs are comparable with ==.
type Config struct {
	// Kind is what the lines look like.
	Kind Kind
	// Lines is the number of lines, 1 to MaxLines.
	Lines uint64
	// Distinct is the exact number of distinct lines, 1 to Lines. The other
	// Lines - Distinct lines repeat an earlier one: the one with ordinal r with
	// a probability proportional to 1/(r+1), Zipf's law with exponent 1 over
	// the lines seen so far. New lines come three times as often at the start
	// as at the end and never dry up, as the pages of a crawl.
	Distinct uint64
	// Seed selects one of 2^64 corpora of the same shape.
	Seed uint64
}

// Standard returns the full-size corpus that published figures refer to:
//
//	urls    20 M lines, 5 M distinct
//	short   50 M lines, 100 k distinct
//	paths    6 M lines, all distinct
//	ids    100 M lines, all distinct
//
// Seed is 1. A kind that does not exist gives a Config that Validate refuses.
func Standard(k Kind) Config {
	c := Config{Kind: k, Seed: 1}
	switch k {
	case URLs:
		c.Lines, c.Distinct = 20_000_000, 5_000_000
	case Short:
		c.Lines, c.Distinct = 50_000_000, 100_000
	case Paths:
		c.Lines, c.Distinct = 6_000_000, 6_000_000
	case IDs:
		c.Lines, c.Distinct = 100_000_000, 100_000_000
	}
	return c
}

// Scale returns c with Lines and Distinct multiplied by f and rounded, each at
// least 1, so that the share of distinct lines stays what it is. It is an error
// if f is not positive or the result does not pass Validate.
func (c Config) Scale(f float64) (Config, error) {
	if !(f > 0) || math.IsInf(f, 1) {
		return Config{}, fmt.Errorf("corpus: scale %v is not a positive number", f)
	}
	lines := math.Round(float64(c.Lines) * f)
	if lines > MaxLines {
		return Config{}, fmt.Errorf("corpus: %d lines times %v are more than the %d lines a corpus may have", c.Lines, f, uint64(MaxLines))
	}
	c.Lines = max(1, uint64(lines))
	c.Distinct = max(1, uint64(math.Round(float64(c.Distinct)*f)))
	return c, c.Validate()
}

// Validate reports what keeps c from describing a corpus.
func (c Config) Validate() error {
	switch c.Kind {
	case URLs, Short, Paths, IDs:
	default:
		return fmt.Errorf("corpus: unknown kind %q; known are %v", c.Kind, Kinds())
	}
	if c.Lines < 1 || c.Lines > MaxLines {
		return fmt.Errorf("corpus: %d lines; a corpus has 1 to %d", c.Lines, uint64(MaxLines))
	}
	if c.Distinct < 1 || c.Distinct > c.Lines {
		return fmt.Errorf("corpus: %d distinct of %d lines; there must be at least 1 and at most as many as lines", c.Distinct, c.Lines)
	}
	return nil
}

// AppendLine appends the text of the line with the given ordinal to dst,
// without a newline, and returns the longer slice. The ordinal must be less
// than c.Distinct, and c must pass Validate.
//
// The text of ordinals differs because every line but an id holds, as its last
// run of digits, a number that is a permutation of the ordinal, and an id is a
// permutation of all 64-bit numbers.
func (c Config) AppendLine(dst []byte, ordinal uint64) []byte {
	s := scribe{random{mix(ordinal ^ mix(c.Seed))}}
	switch c.Kind {
	case URLs:
		return s.url(dst, c.number(ordinal), c.Distinct, c.Seed)
	case Short:
		return s.short(dst, c.number(ordinal))
	case Paths:
		return s.path(dst, c.number(ordinal))
	}
	return appendHex(dst, mix(ordinal^mix(c.Seed)))
}

// number maps ordinals to numbers of the same count of bits, one to one: each
// step is invertible modulo 2^width. Lines that follow each other in a corpus
// then do not hold numbers that follow each other.
func (c Config) number(ordinal uint64) uint64 {
	width := max(2, bits.Len64(c.Distinct-1))
	mask := uint64(1)<<width - 1
	x := ordinal
	for round := range 2 {
		x = (x*0x9e3779b97f4a7c15 + mix(c.Seed+uint64(round))) & mask
		x ^= x >> (width / 2)
	}
	return x
}
