package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/figure"
	"seen/internal/setfile"
	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
)

// A lookupSet is a set to ask, with what the notes of the command need.
type lookupSet struct {
	*setfile.Lookup
	lineEnd lineEnd // of a text
	matched bool    // a line was in it
}

// past returns an error if the error rate is above the one asked for.
func (s *lookupSet) past() error {
	st, known, err := s.Stats()
	if err != nil || !known {
		return err
	}
	return past(s.Name, st)
}

// openLookups opens sets for asking. Without options about keys, r gets those that the
// filters of seen were made with. The lines of a text file are keys: the options that
// normalise keys apply to them as to the input; the options that select a part of a line do
// not. The caller closes the sets, also after an error.
func (a *app) openLookups(names []string, r *recordFlags, h *hashFlags, flags *foreignFlags) ([]*lookupSet, error) {
	opened := make([]*setfile.Set, len(names))
	sets := make([]*lookupSet, len(names))
	var ruled []ruledSet
	stdin := 0
	for i, name := range names {
		if isStdin(name) {
			if stdin++; stdin > 1 {
				return sets, usagef("standard input can be only one SET")
			}
		}
		set, err := a.openSet(name, flags, r, false)
		if err != nil {
			return sets, err
		}
		opened[i] = set
		switch set.Kind {
		case setfile.KindForeign:
			sets[i] = &lookupSet{Lookup: set.Foreign.Lookup()}
		case setfile.KindOwn:
			if sets[i], err = openOwn(name, set.Own, h); err != nil {
				return sets, err
			}
		default:
			continue
		}
		ruled = append(ruled, ruledSet{name, sets[i].Rules})
	}
	if err := r.follow(ruled...); err != nil {
		return sets, err
	}
	for i, set := range opened {
		var err error
		switch set.Kind {
		case setfile.KindText:
			text := *r
			text.anyBytes = flags.format.lines
			sets[i], err = a.readTextSet(names[i], set.Text, &text, h)
		case setfile.KindForeign:
			err = r.encodeFor(set.Foreign)
		}
		if err != nil {
			return sets, err
		}
		sets[i].Unpacked = set.Unpacked
	}
	return sets, nil
}

// closeSets closes the sets that were opened, which are only read.
func closeSets(sets []*lookupSet) {
	for _, s := range sets {
		if s != nil {
			s.Close() // it is only read
		}
	}
}

// openOwn opens a filter of seen for asking, from its bytes or, if they are nil, from
// the file.
func openOwn(name string, b []byte, h *hashFlags) (*lookupSet, error) {
	o, err := h.load()
	if err != nil {
		return nil, err
	}
	if b == nil {
		set, err := setfile.OpenLookup(name, o)
		if err != nil {
			return nil, err
		}
		return &lookupSet{Lookup: set}, nil
	}
	v, err := bloom.Decode(b, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &lookupSet{Lookup: setfile.NewLookup(name, v)}, nil
}

// unpackedSaid is the size from which a note says how much memory an unpacked set
// needs.
const unpackedSaid = 64 << 20

// sayOfSets warns about sets without keys, and prints how much memory large unpacked
// sets need.
func (a *app) sayOfSets(cmd *cobra.Command, sets []*lookupSet, r *recordFlags, flags *foreignFlags) {
	if r.quiet {
		return
	}
	for _, s := range sets {
		if s.Empty && !flags.allowEmpty {
			a.say(cmd, "warning: %s is empty; --allow-empty turns this warning off", s.Name)
		}
		if s.Unpacked >= unpackedSaid {
			a.say(cmd, "note: %s needs %s of memory, because it is compressed or comes through a pipe; an uncompressed file is mapped instead", s.Name, figure.Bytes(s.Unpacked))
		}
	}
}

// isStdin reports whether name is standard input.
func isStdin(name string) bool { return name == "-" || name == "/dev/stdin" || name == "/dev/fd/0" }

// checkReplaceable refuses to replace a file that is not a filter: it may be the list
// of keys that the filter is made from. A filter is not written to standard output,
// because it is replaced as a whole at the end.
func (a *app) checkReplaceable(name string, flags *foreignFlags) error {
	if name == "-" {
		return usagef("a filter cannot be written to standard output; name a file (./- for a file named -)")
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() == 0 || !info.Mode().IsRegular() {
		return nil // the writer reports what is wrong, if anything is
	}
	set, err := a.openSet(name, flags, new(recordFlags), true)
	if err == nil && set.Kind != setfile.KindText {
		if set.Foreign != nil {
			set.Foreign.Close() // it is only read
		}
		return set.CheckFile(name)
	}
	return fmt.Errorf("%s exists and is not a filter; remove it first, or choose another name", name)
}

// textConfig opens a text set to be read as whole lines, which are normalised like the
// keys of the input.
func (r *recordFlags) textConfig(a *app, name string, text io.Reader) (*input.Files, stream.Config, error) {
	whole := r.whole()
	if text == nil {
		return whole.open(a, []string{name})
	}
	whole.plain = true
	env := a.env
	env.Stdin = text
	return whole.open(&app{env: env, ctx: a.ctx, stdinName: name}, nil)
}

// whole returns r for records that are keys themselves.
func (r *recordFlags) whole() recordFlags {
	whole := *r
	whole.key = keyspec.Options{
		FoldCase: r.key.FoldCase, Lower: r.key.Lower, Trim: r.key.Trim,
	}
	return whole
}

// readTextSet reads the lines of a text file into an exact set, from text unless it is
// nil.
func (a *app) readTextSet(name string, text io.Reader, r *recordFlags, h *hashFlags) (*lookupSet, error) {
	in, c, err := r.textConfig(a, name, text)
	if err != nil {
		return nil, err
	}
	hash, err := h.private()
	if err != nil {
		return nil, err
	}
	var end lineEnd
	atStart(&c, func(_ string, found lineEnd) { end = found })
	set, err := setfile.ReadText(a.ctx, name, in, c, hash)
	return &lookupSet{Lookup: set, lineEnd: end}, err
}

// changeSet locks the filter file name, loads it, calls change, and replaces the file
// by its result. If change fails, the file stays as it is.
func changeSet(name string, o bloom.LoadOptions, change func(v bloom.View) (bloom.View, error)) error {
	lock, err := bloomfile.Lock(name)
	if err != nil {
		return err
	}
	defer lock.Close() // a lock file that is left behind does no harm
	v, err := lock.Read(o)
	if err != nil {
		return setfile.ExplainCompressed(name, err)
	}
	if v, err = change(v); err != nil {
		return err
	}
	return lock.Write(v)
}

// asSet returns v as a set to which keys can be added.
func asSet(name string, v bloom.View) (bloom.Set, error) {
	if s, ok := v.(bloom.Set); ok {
		return s, nil
	}
	if _, ok := v.(*bloom.Cuckoo); ok {
		return nil, fmt.Errorf("%s is a cuckoo filter, which keeps copies of keys; only programs change it, with package bloom. Build another type", name)
	}
	return nil, fmt.Errorf("%s is a %s filter, which is read-only; build it again with all keys, or build another type", name, v.Design().Type)
}
