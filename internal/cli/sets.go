package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
)

// A lookupSet is a set to ask: a filter file, mapped, or the lines of a text
// file, held exactly.
type lookupSet struct {
	name string
	hash bloom.Hash
	ask  func(found []bool, hs []uint64) error
	done func() error
	// askKeys, unless it is nil, is for filters with a hash of their own: it asks for
	// the keys of a block from number from on, instead of ask.
	askKeys  func(found []bool, b keyReader, from int) error
	numbers  bool         // keys are numbers
	past     func() error // says if the error rate is above the one that was asked for; nil for texts
	empty    bool         // there are certainly no keys
	unpacked uint64       // bytes of memory that the set takes since it is not mapped
	lineEnd  lineEnd      // of a text
}

// openLookup opens SET for asking. Lines of a text file are keys, to which the
// normalising options apply as to the keys of the input; the options that pick a
// part of a line do not.
func (a *app) openLookup(name string, r *recordFlags, h *hashFlags, flags *foreignFlags) (*lookupSet, error) {
	set, err := a.openSet(name, flags, r, false)
	if err != nil {
		return nil, err
	}
	var s *lookupSet
	switch {
	case set.kind == textSet:
		text := *r
		text.anyBytes = flags.format.lines
		s, err = a.readTextSet(name, set.text, &text, h)
	case set.kind == foreignSet:
		if s, err = set.foreign.lookup(r); err != nil {
			set.foreign.Close() // it is only read
		}
	case set.own != nil:
		s, err = loadOwn(name, set.own, h)
	default:
		s, err = openOwn(name, h)
	}
	if err == nil {
		s.unpacked = set.unpacked
	}
	return s, err
}

// unpackedSaid is the size of an unpacked set from which on a note says what memory it takes.
const unpackedSaid = 64 << 20

// sayOfSets warns of sets without keys, and says what memory large ones take that are
// unpacked.
func (a *app) sayOfSets(cmd *cobra.Command, sets []*lookupSet, r *recordFlags, flags *foreignFlags) {
	if r.quiet {
		return
	}
	for _, s := range sets {
		if s.empty && !flags.allowEmpty {
			a.say(cmd, "warning: %s is empty: it has no keys; --allow-empty silences this", s.name)
		}
		if s.unpacked >= unpackedSaid {
			a.say(cmd, "note: %s is held in %s of memory, since it is compressed or comes through a pipe; an uncompressed file is mapped instead", s.name, formatBytes(s.unpacked))
		}
	}
}

// isStdin reports whether a name is standard input's.
func isStdin(name string) bool { return name == "-" || name == "/dev/stdin" || name == "/dev/fd/0" }

// isEmpty reports whether a filter certainly has no keys.
func isEmpty(st bloom.Stats) bool { return st.Added == 0 && st.Ones == 0 }

// loadOwn makes a set to ask of a filter of ours that is in memory.
func loadOwn(name string, b []byte, h *hashFlags) (*lookupSet, error) {
	o, err := h.load()
	if err != nil {
		return nil, err
	}
	v, err := bloom.Decode(b, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	st := v.Stats()
	return &lookupSet{
		name: name, hash: v.Hash(), empty: isEmpty(st), past: func() error { return past(name, st) }, done: func() error { return nil },
		ask: func(found []bool, hs []uint64) error {
			v.HasHashes(found, hs)
			return nil
		},
	}, nil
}

// openOwn opens a filter file of ours for asking.
func openOwn(name string, h *hashFlags) (*lookupSet, error) {
	o, err := h.load()
	if err != nil {
		return nil, err
	}
	f, err := bloomfile.Open(name, bloomfile.Options{Secret: o.Secret})
	if err != nil {
		return nil, err
	}
	hash, err := f.Hash()
	if err != nil {
		f.Close() // it is only read
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	empty := false
	if i := f.Info(); i.Added == 0 && i.Size <= cheapStats {
		st, err := f.Stats()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		empty = isEmpty(st)
	}
	return &lookupSet{
		name: name, hash: hash, empty: empty, done: f.Close,
		ask: func(found []bool, hs []uint64) error {
			_, err := f.HasHashes(found, hs)
			return err
		},
		past: func() error { return pastFile(f, name) },
	}, nil
}

// checkReplaceable refuses to replace a file that is no filter: nobody means to
// lose a list of keys to the filter made from it. A filter is not written to standard
// output, since it is replaced as a whole at the end.
func (a *app) checkReplaceable(name string, flags *foreignFlags) error {
	if name == "-" {
		return usagef("a filter cannot be written to standard output; name a file, or ./- for one of that name")
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() == 0 || !info.Mode().IsRegular() {
		return nil // the writer says what is wrong, if anything is
	}
	kind, f, err := a.kindOf(name, flags, true)
	if f != nil {
		f.Close() // it is only read
	}
	if kind == ownSet || err == nil && kind == foreignSet {
		return err
	}
	return fmt.Errorf("%s exists and is not a filter; remove it first, or choose another name", name)
}

// textConfig is how the lines of a text set are read: whole lines, normalised as
// the keys of the input are.
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

// whole returns r for records that are keys as a whole.
func (r *recordFlags) whole() recordFlags {
	whole := *r
	whole.key = keyspec.Options{
		FoldCase: r.key.FoldCase, Lower: r.key.Lower, Trim: r.key.Trim, Email: r.key.Email,
	}
	return whole
}

// readTextSet reads the lines of a text file into an exact set: those of text, unless it
// is nil.
func (a *app) readTextSet(name string, text io.Reader, r *recordFlags, h *hashFlags) (*lookupSet, error) {
	in, c, err := r.textConfig(a, name, text)
	if err != nil {
		return nil, err
	}
	if c.Hash, err = h.private(); err != nil {
		return nil, err
	}
	set, err := bloom.NewAdaptive(bloom.AdaptiveConfig{Hash: c.Hash})
	if err != nil {
		return nil, err
	}
	var end lineEnd
	atStart(&c, func(_ string, found lineEnd) { end = found })
	err = stream.Run(a.ctx, in, c, func(b *stream.Block) error {
		for lo, hi := range b.Keyed() {
			set.AddHashes(nil, b.Hashes[lo:hi])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &lookupSet{
		name: name, hash: c.Hash, empty: c.Counters.Records.Load() == 0, lineEnd: end, done: func() error { return nil },
		ask: func(found []bool, hs []uint64) error {
			set.HasHashes(found, hs)
			return nil
		},
	}, nil
}

// askBlock asks the set for the records from lo to hi of a block, whose hashes
// were taken with the hash h.
func (s *lookupSet) askBlock(b *stream.Block, lo, hi int, h bloom.Hash, found []bool, scratch []uint64) ([]uint64, error) {
	if s.askKeys != nil {
		return scratch, s.askKeys(found, b, lo)
	}
	hs := b.Hashes[lo:hi]
	if s.hash != h {
		scratch = scratch[:0]
		for i := lo; i < hi; i++ {
			scratch = append(scratch, s.hash.Sum(b.Key(i)))
		}
		hs = scratch
	}
	return scratch, s.ask(found, hs)
}

// label is the name of a set in --tag: its file's, without folder.
func (s *lookupSet) label() string { return filepath.Base(s.name) }

// changeSet locks the filter file name, loads it, lets change work on it and
// replaces it by the result; unless change fails: then the file stays as it is.
func changeSet(name string, o bloom.LoadOptions, change func(v bloom.View) error) error {
	lock, err := bloomfile.Lock(name)
	if err != nil {
		return err
	}
	defer lock.Close() // a lock file that is left behind does no harm
	v, err := lock.Read(o)
	if err != nil {
		return compressedFile(name, err)
	}
	if err := change(v); err != nil {
		return err
	}
	return lock.Write(v)
}

// isDamage reports whether an error of opening a filter file means that the file
// is a filter, but not whole.
func isDamage(err error) bool {
	var corrupt *bloomfile.CorruptError
	return errors.As(err, &corrupt) || errors.Is(err, bloomfile.ErrTruncated) || errors.Is(err, bloomfile.ErrOversized)
}

// asSet returns v as a set to which keys can be added.
func asSet(name string, v bloom.View) (bloom.Set, error) {
	if s, ok := v.(bloom.Set); ok {
		return s, nil
	}
	if _, ok := v.(*bloom.Cuckoo); ok {
		return nil, fmt.Errorf("%s holds a cuckoo filter, which keeps copies of keys and is changed only by programs, with package bloom; build another type", name)
	}
	return nil, fmt.Errorf("%s holds a %s filter, which is read-only: it is built once from all its keys; build it again, or build another type", name, v.Stats().Type)
}
