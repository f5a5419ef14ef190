package setfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/figure"
	"seen/interop"
)

// An Opener opens a set by its name. The caller reads its bits and does not ask it for keys.
type Opener func(name string) (*Set, error)

// UnlikeError says that two sets cannot be united or compared.
type UnlikeError struct {
	A, B        string // the names of the sets
	Differences string // such as "type classic and blocked; k 7 and 6"
	RandomKey   bool   // the hashes differ, and one has a random key

	// What two filters of seen with one hash have to be made for so that one can take the
	// keys of both. Type is empty for other sets, and for types that build does not size.
	Type           string
	Keys           uint64 // of both together
	ErrorRate      float64
	Rules          string // of the first
	DifferentRules bool
}

func (e *UnlikeError) Error() string {
	return fmt.Sprintf("%s and %s differ: %s", e.A, e.B, e.Differences)
}

// United is a union, ready to be written.
type United interface {
	io.WriterTo
	Stats() bloom.Stats
}

// Unite makes the union of sets, which must all be filter files of seen or all be filters of
// one other system. The error is an [UnlikeError] if the sets differ.
func Unite(ctx context.Context, names []string, open Opener) (United, error) {
	first, err := open(names[0])
	switch {
	case err != nil:
		return nil, err
	case first.Kind == KindForeign:
		defer first.Foreign.Close() // it is only read
		return uniteForeign(ctx, first.Foreign, names[1:], open)
	}
	all, err := readSet(names[0])
	if err != nil {
		return nil, err
	}
	for _, name := range names[1:] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		other, err := readSet(name)
		if err != nil {
			return nil, err
		}
		if err := all.unite(other); err != nil {
			return nil, err
		}
	}
	return all.view, nil
}

// uniteForeign makes the union of filters of one other system.
func uniteForeign(ctx context.Context, first *Foreign, names []string, open Opener) (United, error) {
	all, err := first.Merger()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := addForeign(all, first.Name, name, open); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addForeign adds all keys of the set name to a filter of another system.
func addForeign(all interop.Merger, first, name string, open Opener) error {
	f, err := openOther(first, name, open)
	if err != nil {
		return err
	}
	defer f.Close() // it is only read
	return f.Read(func() error {
		if err := all.Union(f.Filter); err != nil {
			return fmt.Errorf("%s and %s cannot be merged: %w", first, name, err)
		}
		return nil
	})
}

// openOther opens a set that must be a filter of another system, as first is.
func openOther(first, name string, open Opener) (*Foreign, error) {
	s, err := open(name)
	if err != nil {
		return nil, err
	}
	if s.Kind != KindForeign {
		return nil, &UnlikeError{A: first, B: name, Differences: name + " is not a filter of another system"}
	}
	return s.Foreign, nil
}

// fileSet is a filter read from a file.
type fileSet struct {
	name string
	info bloomfile.Info
	view bloom.View
}

// readSet reads a filter file. It does not need the secret of its hash.
func readSet(name string) (*fileSet, error) {
	f, err := bloomfile.Open(name, bloomfile.Options{})
	if err != nil {
		return nil, ExplainCompressed(name, err)
	}
	s := &fileSet{name: name, info: f.Info()}
	if err := f.Close(); err != nil {
		return nil, err
	}
	s.view, err = bloomfile.Read(name, bloom.LoadOptions{Inspect: true})
	return s, err
}

// unite adds all keys of other to s, or says which files differ and how.
func (s *fileSet) unite(other *fileSet) error {
	if s.info.Type != other.info.Type {
		return s.unlike(other)
	}
	err := bloom.Union(s.view, other.view)
	if !errors.Is(err, bloom.ErrIncompatible) {
		return err
	}
	if unlike := s.unlike(other); unlike != nil {
		return unlike
	}
	return fmt.Errorf("%s and %s cannot be merged: %w", s.name, other.name, err)
}

// unlike returns an [UnlikeError] with the differences in type, hash and layout, or nil.
func (s *fileSet) unlike(other *fileSet) error {
	e := &UnlikeError{A: s.name, B: other.name}
	var list []string
	differ := func(what string, a, b any) bool {
		if a == b {
			return false
		}
		list = append(list, fmt.Sprintf("%s %v and %v", what, a, b))
		return true
	}
	differ("type", s.info.Type, other.info.Type)
	otherHash := differ("hash", HashText(s.info), HashText(other.info))
	if otherHash {
		e.RandomKey = s.info.Hash.Algorithm == bloom.NH || other.info.Hash.Algorithm == bloom.NH
	}
	e.DifferentRules = differ("rules of keys", orNone(s.info.Rules), orNone(other.info.Rules))
	if s.info.Type == other.info.Type {
		a, b := s.view.Stats(), other.view.Stats()
		p, q := a.Params, b.Params
		differ("m", figure.Comma(p.M), figure.Comma(q.M))
		differ("k", p.K, q.K)
		differ("lines", p.Lines, q.Lines)
		differ("counter bits", p.CounterBits, q.CounterBits)
		if p.M == 0 {
			differ("error rate", figure.Rate(a.AskedErrorRate), figure.Rate(b.AskedErrorRate))
		}
	}
	if len(list) == 0 {
		return nil
	}
	e.Differences = strings.Join(list, "; ")
	if _, ok := s.view.(bloom.Set); ok && !otherHash && s.info.Type != "window" && s.info.Type != "adaptive" && s.info.Type != "cascade" {
		e.Type, e.Keys = s.info.Type, s.info.Added+other.info.Added
		e.ErrorRate, e.Rules = s.info.ErrorRate, s.info.Rules
	}
	return e
}

// orNone returns rules, or a word for none.
func orNone(rules string) string { return cmp.Or(rules, "none") }

// HashText describes the hash of a filter file, with the id of its secret or random key.
func HashText(i bloomfile.Info) string {
	switch a := i.Hash.Algorithm; {
	case a == bloom.NH:
		return fmt.Sprintf("%v, random key %016x", a, i.KeyID)
	case a.HasSecret():
		return fmt.Sprintf("%v, keyed with the secret %016x", a, i.KeyID)
	default:
		return fmt.Sprintf("%v, seed %d", a, i.Hash.Seed)
	}
}
