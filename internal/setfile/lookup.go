package setfile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/keyhash"
	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/interop"
)

// cheapSize is the size of the largest filter that is read only to learn its error rate.
const cheapSize = 64 << 20

// A Lookup is a set to ask: a filter file, mapped, a filter in memory, one of another
// system, or the lines of a text, held exactly.
type Lookup struct {
	Name     string
	Hash     bloom.Hash
	Numbers  bool   // keys are numbers
	Empty    bool   // there are certainly no keys
	First    []byte // of a text that is not empty, its first key; else nil
	Exact    bool   // yes is certain too
	Rules    string // of a filter of seen: what was done to its keys; see package keys
	Unpacked uint64 // bytes of memory that the set takes since it is not mapped

	ask func(found []bool, hs []uint64) error
	// askKeys replaces ask for filters with a hash of their own: it asks for the keys
	// of a block, beginning with number from.
	askKeys func(found []bool, b *stream.Block, from int) error
	close   func() error
	stats   func() (st bloom.Stats, known bool, err error) // nil for texts
}

// Close ends the use of the set.
func (s *Lookup) Close() error { return s.close() }

// Label is the name of the set's file without its folder.
func (s *Lookup) Label() string { return filepath.Base(s.Name) }

// Stats describes the filter. It is not known if the header says that the filter is not
// past its error rate, or if more than cheapSize would have to be read. A text has no
// statistics.
func (s *Lookup) Stats() (st bloom.Stats, known bool, err error) {
	if s.stats == nil {
		return st, false, nil
	}
	return s.stats()
}

// AskBlock asks the set for the records from lo to hi of a block, whose hashes
// were taken with the hash h.
func (s *Lookup) AskBlock(b *stream.Block, lo, hi int, h bloom.Hash, found []bool, scratch []uint64) ([]uint64, error) {
	if s.askKeys != nil {
		return scratch, s.askKeys(found, b, lo)
	}
	hs := b.Hashes[lo:hi]
	if s.Hash != h {
		scratch = scratch[:0]
		for i := lo; i < hi; i++ {
			scratch = append(scratch, s.Hash.Sum(b.Key(i)))
		}
		hs = scratch
	}
	return scratch, s.ask(found, hs)
}

// isEmpty reports whether a filter certainly has no keys.
func isEmpty(st bloom.Stats) bool { return st.Added == 0 && st.Ones == 0 }

// NewLookup makes a set to ask of a filter.
func NewLookup(name string, v bloom.View) *Lookup {
	st := v.Stats()
	return &Lookup{
		Name: name, Hash: v.Hash(), Empty: isEmpty(st), Exact: st.Exact, Rules: v.Rules(), close: func() error { return nil },
		ask: func(found []bool, hs []uint64) error {
			v.HasHashes(found, hs)
			return nil
		},
		stats: func() (bloom.Stats, bool, error) { return st, true, nil },
	}
}

// OpenLookup opens a filter file of seen for asking.
func OpenLookup(name string, o bloom.LoadOptions) (*Lookup, error) {
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
	if i := f.Info(); i.Added == 0 && i.Size <= cheapSize {
		st, err := f.Stats()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		empty = isEmpty(st)
	}
	return &Lookup{
		Name: name, Hash: hash, Empty: empty, Exact: f.Info().Exact, Rules: f.Info().Rules, close: f.Close,
		ask: func(found []bool, hs []uint64) error {
			_, err := f.HasHashes(found, hs)
			return err
		},
		stats: func() (bloom.Stats, bool, error) { return cheapStats(f) },
	}, nil
}

// cheapStats describes a filter file. It reads the file only if the header says that it has
// more keys than it was made for, or does not say how many.
func cheapStats(f *bloomfile.File) (st bloom.Stats, known bool, err error) {
	i := f.Info()
	if i.ErrorRate == 0 || i.Added > 0 && i.Added <= i.Capacity || i.Added == 0 && i.Size > cheapSize {
		return st, false, nil
	}
	st, err = f.Stats()
	return st, err == nil, err
}

// ReadText reads the lines of a text into an exact set of their hashes by hash.
func ReadText(ctx context.Context, name string, in *input.Files, c stream.Config, hash bloom.Hash) (*Lookup, error) {
	c.Hash = keyhash.Of(hash.Algorithm, hash.Seed, hash.Secret)
	set, err := bloom.NewAdaptive(bloom.AdaptiveConfig{Hash: hash})
	if err != nil {
		return nil, err
	}
	var first []byte
	err = stream.Run(ctx, in, c, func(b *stream.Block) error {
		for lo, hi := range b.Keyed() {
			if first == nil {
				first = append([]byte{}, b.Key(lo)...)
			}
			set.AddHashes(nil, b.Hashes[lo:hi])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &Lookup{
		Name: name, Hash: hash, Exact: true, Empty: c.Counters.Records.Load() == 0, First: first, close: func() error { return nil },
		ask: func(found []bool, hs []uint64) error {
			set.HasHashes(found, hs)
			return nil
		},
	}, nil
}

// Lookup makes a set to ask of the filter, which Close of the set closes.
func (f *Foreign) Lookup() *Lookup {
	return &Lookup{
		Name: f.Name, Numbers: f.Filter.KeyKind() == interop.KeyInt64, close: f.Close, stats: f.cheapStats,
		askKeys: func(found []bool, b *stream.Block, from int) error {
			return f.Read(func() error {
				for i := range found {
					found[i] = f.Filter.Has(b.Key(from + i))
				}
				return nil
			})
		},
	}
}

// cheapStats describes the filter unless it is too large to read.
func (f *Foreign) cheapStats() (st bloom.Stats, known bool, err error) {
	if f.Size > cheapSize {
		return st, false, nil
	}
	err = f.Read(func() error {
		st = f.Filter.Stats()
		return nil
	})
	return st, err == nil, err
}
