package web

import (
	"slices"
	"strings"

	"seen/bloom"
	"seen/sizing"
)

// A cascade answers without errors if all words that will ever be checked are known: each
// level holds the words that the level before reports by mistake. Browsers receive lists of
// revoked certificates in this form: Larisch and others, "CRLite: A Scalable System for
// Pushing All TLS Revocations to All Browsers", 2017.

const (
	// mostLevels bounds a cascade. Each level leaves only a fraction of the words.
	mostLevels = 16
	// cascadeBits is the number of bits per word of a level: few, so that errors occur.
	cascadeBits   = 4
	cascadeProbes = 2
)

// cascade is a cascade for the words of a toy.
type cascade struct {
	Levels []cascadeLevel
	Caught []string // absent words that the first level reports by mistake
	Ask    string
	Known  bool // Ask is one of the words, so the answer is certainly right
	In     bool // the answer
	Path   []cascadeStep
}

// cascadeLevel is a level: a filter of words of one of the sets.
type cascadeLevel struct {
	Number     int
	Of         string // the set that its words are from: in or out
	Words      []string
	Bits, Ones uint64
	Wrong      []string // words of the other set that it reports by mistake
	filter     *bloom.Classic
}

// cascadeStep is what a level says of a word.
type cascadeStep struct {
	Number int
	Of     string
	Has    bool
}

// newCascade makes the levels for two sets of words without a word in common.
func newCascade(in, out []string, ask string) (*cascade, error) {
	c := &cascade{Ask: ask, Known: slices.Contains(in, ask) || slices.Contains(out, ask)}
	mine, others, of := in, out, [2]string{"in", "out"}
	for number := 1; len(mine) > 0 && number <= mostLevels; number++ {
		l, err := newCascadeLevel(number, of[(number+1)%2], mine)
		if err != nil {
			return nil, err
		}
		for _, w := range others {
			if l.filter.HasString(w) {
				l.Wrong = append(l.Wrong, w)
			}
		}
		c.Levels = append(c.Levels, *l)
		// The next level has to separate only the words that this one reports.
		mine, others = l.Wrong, mine
	}
	if len(c.Levels) > 0 {
		c.Caught = c.Levels[0].Wrong
	}
	c.Known = c.Known && len(mine) == 0 // false only if mostLevels levels were not enough
	c.answer()
	return c, nil
}

// newCascadeLevel makes the filter of a level. Each level has its own hash: with the same
// hash, it would be wrong about the same words.
func newCascadeLevel(number int, of string, words []string) (*cascadeLevel, error) {
	m := uint64(max(8, cascadeBits*len(words)))
	f, err := bloom.NewClassic(bloom.Config{Params: sizing.Params{Shape: sizing.Classic, M: m, K: cascadeProbes}, Hash: bloom.Hash{Seed: uint64(number)}})
	if err != nil {
		return nil, err
	}
	for _, w := range words {
		f.AddString(w)
	}
	s := f.Stats()
	return &cascadeLevel{Number: number, Of: of, Words: words, Bits: s.Bits, Ones: s.Ones, filter: f}, nil
}

// answer checks the word level by level until a level does not have it.
func (c *cascade) answer() {
	if c.Ask == "" {
		return
	}
	for i := range c.Levels {
		l := &c.Levels[i]
		has := l.filter.HasString(c.Ask)
		c.Path = append(c.Path, cascadeStep{l.Number, l.Of, has})
		c.In = has == (l.Of == "in")
		if !has {
			return
		}
	}
}

// list joins words with commas.
func list(words []string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = shown(w)
	}
	return strings.Join(all, ", ")
}
