// Package flagvalue reads and prints the values of options as people write them:
// counts (10k), sizes (64MiB), error rates (1e-6, 0.1%), time spans (7d) and words
// from a short list. Its types are values of flags, of the settings of the server and
// of whatever else has the methods of Value. It knows neither flags nor commands. A
// value belongs to one goroutine.
package flagvalue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"seen/internal/figure"
)

// Value is a value that is set from a text and printed as one. Every pflag.Value is
// one.
type Value interface {
	Set(text string) error
	String() string
	Type() string // what the help calls it, such as SIZE
}

// Count is a number of keys: 10k, 5M, 2G, 1e9, 1_000_000.
type Count uint64

// Set reads a count.
func (v *Count) Set(s string) error {
	n, err := figure.ParseCount(s)
	*v = Count(n)
	return err
}

// String returns the number, or "" for 0.
func (v *Count) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*v), 10)
}

// Type returns N.
func (v *Count) Type() string { return "N" }

// Size is an amount of memory: 64MiB, 2GB, 512M, 4096.
type Size uint64

// Set reads a size.
func (v *Size) Set(s string) error {
	n, err := figure.ParseSize(s)
	*v = Size(n)
	return err
}

// String returns the size exactly, or "" for 0.
func (v *Size) String() string {
	if *v == 0 {
		return ""
	}
	return figure.Size(uint64(*v))
}

// Type returns SIZE.
func (v *Size) Type() string { return "SIZE" }

// Rate is an error rate: 1e-6, 0.001, 0.1%, 1/1000.
type Rate float64

// Set reads an error rate.
func (v *Rate) Set(s string) error {
	p, err := figure.ParseRate(s)
	*v = Rate(p)
	return err
}

// String returns the rate, or "" for 0.
func (v *Rate) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*v), 'g', -1, 64)
}

// Type returns P.
func (v *Rate) Type() string { return "P" }

// Choice is one word of a list. The zero value takes no word.
type Choice struct {
	Value string // the word, "" if none is set
	words []string
}

// OneOf returns a choice among words. preset is its value until another is set; it
// may be "".
func OneOf(preset string, words ...string) Choice { return Choice{preset, words} }

// Words returns the words to choose from.
func (v *Choice) Words() []string { return v.words }

// Set takes a word of the list.
func (v *Choice) Set(s string) error {
	if !slices.Contains(v.words, s) {
		return fmt.Errorf("%q is not one of %s", s, strings.Join(v.words, ", "))
	}
	v.Value = s
	return nil
}

// String returns the word.
func (v *Choice) String() string { return v.Value }

// Type returns the words if there are two, otherwise WORD.
func (v *Choice) Type() string {
	if len(v.words) == 2 {
		return strings.Join(v.words, "|")
	}
	return "WORD"
}
