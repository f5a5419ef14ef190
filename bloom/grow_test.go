package bloom_test

import (
	"errors"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
)

// A filter that was made to grow has its keys, takes others without end, and stays at the
// error rate that it was made for; so does its copy in a file.
func TestGrow(t *testing.T) {
	const n, rate = 1000, 0.01
	f := must(bloom.New(bloom.Config{Capacity: n, ErrorRate: rate, Hash: bloom.Hash{Seed: 5}}))
	hs := filtertest.RandomHashes(21, 50*n)
	f.AddHashes(nil, hs[:n*9/10])
	f.SetTag(7)
	if err := f.SetRules("email"); err != nil {
		t.Fatal(err)
	}
	s, err := f.Grow()
	if err != nil {
		t.Fatal(err)
	}
	if s.Added() != f.Added() || s.Tag() != 7 || s.Rules() != "email" || s.Hash() != f.Hash() || s.Design().ErrorRate != rate {
		t.Errorf("%d keys, tag %d, rules %q, hash %v, %+v", s.Added(), s.Tag(), s.Rules(), s.Hash(), s.Design())
	}
	s.AddHashes(nil, hs[n*9/10:])
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	v, err := bloom.Decode(must(s.MarshalBinary()), bloom.LoadOptions{})
	if err != nil || !s.Equal(v.(*bloom.Scalable)) {
		t.Fatalf("as a file it is another filter: %v", err)
	}
	if got := v.HasHashes(nil, hs); got != len(hs) {
		t.Errorf("%d of %d keys are there", got, len(hs))
	}
	const trials = 200_000
	wrong := v.HasHashes(nil, filtertest.RandomHashes(22, trials))
	if _, most := filtertest.Limits(trials, rate, 0, 1); wrong > most {
		t.Errorf("%d wrong answers of %d, more than %d", wrong, trials, most)
	}
	if f.HasHashes(nil, hs[n:]) > n*5 {
		t.Error("keys of the copy are in the original")
	}
	s.Clear()
	if s.Added() != 0 || s.HasHashes(nil, hs) != 0 {
		t.Error("keys are left after Clear")
	}
	f.AddHashes(nil, hs[:n])
	if _, err := f.Grow(); !errors.Is(err, bloom.ErrFull) {
		t.Errorf("a filter at its capacity: %v, want ErrFull", err)
	}
	p := f.Params()
	if _, err := must(bloom.New(bloom.Config{Params: p})).Grow(); err == nil || errors.Is(err, bloom.ErrFull) {
		t.Errorf("a filter without an error rate: %v", err)
	}
}
