package cli

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"seen/internal/stream"
	"seen/internal/stream/keyspec"
)

// Without --crlf, the CR of CR LF is part of a key. A text with CR LF then has no key
// in common with a text with LF, and a note says so.

// lineEnd is what the lines of a text end in, as far as it is part of their keys.
type lineEnd uint8

const (
	noLineEnd lineEnd = iota // not known, or not part of the keys
	endLF
	endCRLF
)

// lineEndOf returns what the first line of a file ends in.
func lineEndOf(first []byte, key *keyspec.Key) lineEnd {
	text, _, isWhole := bytes.Cut(first, []byte("\n"))
	if !isWhole {
		return noLineEnd
	}
	if key != nil {
		var err error
		if text, err = key.Extract(text, new(keyspec.Scratch)); err != nil {
			return noLineEnd
		}
	}
	if bytes.HasSuffix(text, []byte("\r")) {
		return endCRLF
	}
	return endLF
}

// atStart makes a run call do for each file with its line end, unless records are not
// lines or --crlf is given.
func atStart(c *stream.Config, do func(file string, end lineEnd)) {
	check, key := c.Start, c.Key
	if check == nil || c.CRLF {
		return
	}
	c.Start = func(file string, first []byte) error {
		if err := check(file, first); err != nil {
			return err
		}
		do(file, lineEndOf(first, key))
		return nil
	}
}

// sayOfKeysWithCR makes a run that adds or removes keys print a note about each file
// whose keys end in CR.
func (a *app) sayOfKeysWithCR(cmd *cobra.Command, r *recordFlags, c *stream.Config) {
	if r.quiet {
		return
	}
	atStart(c, func(file string, end lineEnd) {
		if end == endCRLF {
			a.say(cmd, "note: the keys of %s end in CR, because its lines end in CR LF; --crlf leaves the CR out", file)
		}
	})
}

// sayOfOtherEnds makes a run that asks text sets print a note, once for each set, if
// only one of the set and the input has keys that end in CR.
func (a *app) sayOfOtherEnds(cmd *cobra.Command, sets []*lookupSet, r *recordFlags, c *stream.Config) {
	if r.quiet {
		return
	}
	said := map[*lookupSet]bool{}
	compare := func(file string, end lineEnd) {
		for _, s := range sets {
			switch {
			case said[s]:
				continue
			case s.lineEnd == endCRLF && end == endLF:
				a.sayOfCR(cmd, s.Name, file)
			case s.lineEnd == endLF && end == endCRLF:
				a.sayOfCR(cmd, file, s.Name)
			default:
				continue
			}
			said[s] = true
		}
	}
	if c.Start == nil && a.stdinName != "" {
		compare(a.stdinName, endLF) // arguments
	}
	atStart(c, compare)
}

// sayOfCR prints a note that the keys of one text end in CR, and those of another do
// not.
func (a *app) sayOfCR(cmd *cobra.Command, with, without string) {
	a.say(cmd, "note: the keys of %s end in CR, because its lines end in CR LF, and those of %s do not; --crlf leaves the CR out", with, without)
}

// sayOfTextWithCR makes the reading of the text of --confirm print a note if its keys
// end in CR and no key that is looked up does.
func (c *confirmer) sayOfTextWithCR(config *stream.Config) {
	if c.run.records.quiet || c.said {
		return
	}
	atStart(config, func(file string, end lineEnd) {
		hasCR := func(key string) bool { return strings.HasSuffix(key, "\r") }
		if end == endCRLF && !slices.ContainsFunc(slices.Collect(maps.Keys(c.want)), hasCR) {
			c.said = true
			c.run.app.sayOfCR(c.run.cmd, file, "the input")
		}
	})
}
