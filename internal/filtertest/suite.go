// Package filtertest holds what the tests of the filters share: one conformance
// suite that every filter must pass, families of keys, and limits for measured
// error rates that are computed and not guessed. Only tests import it.
package filtertest

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"seen/bloom"
)

// Filter is what every filter type offers, with F the type itself.
type Filter[F any] interface {
	bloom.Set
	Add(key []byte) bool
	AddString(key string) bool
	AddKeys(added []bool, keys [][]byte) int
	AddStrings(added []bool, keys []string) int
	Has(key []byte) bool
	HasString(key string) bool
	HasKeys(found []bool, keys [][]byte) int
	HasStrings(found []bool, keys []string) int
	Union(F) error
	Clone() F
	Equal(F) bool
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	io.ReaderFrom
}

// Suite describes a filter type to the suite.
type Suite[F Filter[F]] struct {
	// New returns an empty filter for Capacity keys at ErrorRate.
	New func(t testing.TB) F
	// Unlike returns a filter with other parameters, for which Union must fail;
	// nil if there is none.
	Unlike    func(t testing.TB) F
	Capacity  int
	ErrorRate float64
	// NoUnion says that Union fails for any two filters.
	NoUnion bool
	// UnionErrorRate bounds the error rate of the union of two filters that hold
	// Capacity keys together; 0 means ErrorRate.
	UnionErrorRate float64
	// Exact says that the filter makes no errors at this size.
	Exact bool
}

// Run runs the suite.
func Run[F Filter[F]](t *testing.T, s Suite[F]) {
	t.Run("Model", s.model)
	t.Run("Batch", s.batch)
	t.Run("Keys", s.keys)
	t.Run("ErrorRate", s.errorRate)
	t.Run("Binary", s.binary)
	t.Run("Union", s.union)
	t.Run("CloneClearEqual", s.clone)
	t.Run("Stats", s.stats)
	t.Run("Allocations", s.allocations)
}

// model plays random additions and questions against a map.
func (s Suite[F]) model(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := s.New(t)
	model := map[uint64]bool{}
	var known []uint64
	errors := 0
	for range 2 * s.Capacity {
		h := r.Uint64()
		if len(known) > 0 && r.IntN(3) == 0 {
			h = known[r.IntN(len(known))]
		}
		if r.IntN(2) == 0 || len(model) >= s.Capacity {
			if had := f.HasHash(h); model[h] && !had {
				t.Fatalf("false negative: key %x was added and is not there", h)
			} else if had && !model[h] {
				errors++
			}
			continue
		}
		before := f.HasHash(h)
		isNew := f.AddHash(h)
		if isNew == before {
			t.Fatalf("Add says new: %v, but Has said %v just before", isNew, before)
		}
		if isNew && model[h] {
			t.Fatalf("Add says that key %x is new, which was added before", h)
		}
		if !isNew && !model[h] {
			errors++
		}
		if !f.HasHash(h) {
			t.Fatalf("key %x is not there right after it was added", h)
		}
		if !model[h] {
			model[h] = true
			known = append(known, h)
		}
	}
	for h := range model {
		if !f.HasHash(h) {
			t.Fatalf("false negative: key %x was added and is not there", h)
		}
	}
	if _, most := Limits(2*s.Capacity, s.ErrorRate, 0, 1); errors > most || s.Exact && errors > 0 {
		t.Errorf("%d wrong answers of %d, more than %d", errors, 2*s.Capacity, most)
	}
}

// batch holds batch calls against single ones, for batches of many sizes.
func (s Suite[F]) batch(t *testing.T) {
	one, many := s.New(t), s.New(t)
	hs := RandomHashes(3, s.Capacity)
	r := rand.New(rand.NewPCG(4, 4))
	for i := range hs {
		if i > 0 && r.IntN(4) == 0 {
			hs[i] = hs[i-1-r.IntN(min(i, 40))] // repeats, also within a batch
		}
	}
	for at := 0; at < len(hs); {
		n := min(r.IntN(200), len(hs)-at)
		batch := hs[at : at+n]
		added := make([]bool, n)
		count := 0
		want := make([]bool, n)
		for i, h := range batch {
			if want[i] = one.AddHash(h); want[i] {
				count++
			}
		}
		if r.IntN(4) == 0 {
			added = nil
		}
		if got := many.AddHashes(added, batch); got != count {
			t.Fatalf("AddHashes counts %d new keys, single calls %d", got, count)
		}
		for i := range added {
			if added[i] != want[i] {
				t.Fatalf("AddHashes and AddHash differ at key %d", at+i)
			}
		}
		at += n
	}
	if !one.Equal(many) {
		t.Fatal("batches and single calls leave different filters")
	}
	ask := append(RandomHashes(5, s.Capacity), hs...)
	found := make([]bool, len(ask))
	count := one.HasHashes(found, ask)
	if again := many.HasHashes(nil, ask); again != count {
		t.Errorf("HasHashes counts %d with answers and %d without", count, again)
	}
	for i, h := range ask {
		if found[i] != one.HasHash(h) {
			t.Fatalf("HasHashes and HasHash differ at key %d", i)
		}
		if found[i] {
			count--
		}
	}
	if count != 0 {
		t.Errorf("HasHashes counts %d more than it answers", count)
	}
}

// keys holds all calls on keys against the calls on hashes.
func (s Suite[F]) keys(t *testing.T) {
	n := min(s.Capacity, 1000)
	var keys [][]byte
	var texts []string
	for i := range n {
		k := fmt.Appendf(nil, "key %d%s", i%(n-n/8), bytes.Repeat([]byte{'x'}, i%37))
		if i == n/2 {
			k = nil
		}
		keys = append(keys, k)
		texts = append(texts, string(k))
	}
	want := s.New(t)
	hash := want.Hash()
	answers := make([]bool, n)
	count := 0
	for i, k := range keys {
		if answers[i] = want.AddHash(hash.Sum(k)); answers[i] {
			count++
		}
	}
	adders := map[string]func(f F, added []bool) int{
		"AddKeys":    func(f F, added []bool) int { return f.AddKeys(added, keys) },
		"AddStrings": func(f F, added []bool) int { return f.AddStrings(added, texts) },
		"Add": func(f F, added []bool) (c int) {
			for i, k := range keys {
				if added[i] = f.Add(k); added[i] {
					c++
				}
			}
			return c
		},
		"AddString": func(f F, added []bool) (c int) {
			for i, k := range texts {
				if added[i] = f.AddString(k); added[i] {
					c++
				}
			}
			return c
		},
	}
	for name, add := range adders {
		f := s.New(t)
		added := make([]bool, n)
		if c := add(f, added); c != count || !equalBools(added, answers) {
			t.Errorf("%s differs from AddHash: counts %d, want %d", name, c, count)
		}
		if !f.Equal(want) {
			t.Errorf("%s leaves another filter than AddHash", name)
		}
	}
	f := want
	found := make([]bool, n)
	for name, c := range map[string]int{
		"HasKeys":    f.HasKeys(found, keys),
		"HasStrings": f.HasStrings(nil, texts),
	} {
		if c != n {
			t.Errorf("%s finds %d of %d added keys", name, c, n)
		}
	}
	for i := range keys {
		if !f.Has(keys[i]) || !f.HasString(texts[i]) {
			t.Fatalf("key %d was added and is not there", i)
		}
		absent := append(bytes.Clone(keys[i]), '!')
		if f.Has(absent) != f.HasHash(hash.Sum(absent)) || f.HasString(string(absent)) != f.Has(absent) {
			t.Fatalf("Has, HasString and HasHash differ for key %q", absent)
		}
	}
}

// errorRate measures the share of wrong yes-answers at capacity, for every
// family of keys, against the rate asked for.
func (s Suite[F]) errorRate(t *testing.T) {
	families := Families()
	for _, keys := range families {
		f := s.New(t)
		buf := make([]byte, 0, 128)
		for i := range s.Capacity {
			buf = keys.At(buf[:0], uint64(i))
			f.Add(buf)
		}
		for i := range s.Capacity {
			if buf = keys.At(buf[:0], uint64(i)); !f.Has(buf) {
				t.Fatalf("%s: key %d was added and is not there", keys.Name, i)
			}
		}
		wrong := 0
		trials := min(int(500/s.ErrorRate), 200_000)
		for i := range trials {
			if buf = keys.At(buf[:0], uint64(s.Capacity+i)); f.Has(buf) {
				wrong++
			}
		}
		// One-sided: the filter's own spread is at most that of one line in
		// hundreds, which relVar stands for.
		_, most := Limits(trials, s.ErrorRate, 20/float64(s.Capacity), len(families))
		if wrong > most || s.Exact && wrong > 0 {
			t.Errorf("%s: %d wrong answers of %d, more than %d: the error rate is %.3g, asked for %.3g",
				keys.Name, wrong, trials, most, float64(wrong)/float64(trials), s.ErrorRate)
		}
	}
}

// binary checks that encodings agree with each other, come back equal, and that
// no damage goes unnoticed.
func (s Suite[F]) binary(t *testing.T) {
	f := s.New(t)
	f.AddHashes(nil, RandomHashes(6, s.Capacity/2))
	f.SetTag(77)
	if err := f.SetRules("lower email lower"); err != nil || f.Rules() != "email lower" {
		t.Errorf("the rules are %q, %v", f.Rules(), err)
	}
	b, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	appended, err := f.AppendBinary([]byte("before"))
	if err != nil || !bytes.Equal(appended, append([]byte("before"), b...)) {
		t.Errorf("AppendBinary and MarshalBinary differ (error %v)", err)
	}
	var w bytes.Buffer
	n, err := f.WriteTo(&w)
	if err != nil || n != int64(w.Len()) || !bytes.Equal(w.Bytes(), b) {
		t.Errorf("WriteTo and MarshalBinary differ (wrote %d of %d, error %v)", n, len(b), err)
	}

	g := s.New(t)
	input := bytes.Clone(b)
	if err := g.UnmarshalBinary(input); err != nil {
		t.Fatal(err)
	}
	clear(input) // the filter must not use the memory of its input
	s.same(t, "UnmarshalBinary", f, g)
	g = s.New(t)
	if n, err := g.ReadFrom(&w); err != nil || n != int64(len(b)) {
		t.Fatalf("ReadFrom read %d of %d, error %v", n, len(b), err)
	}
	s.same(t, "ReadFrom", f, g)
	v, err := bloom.Decode(b, bloom.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := v.AppendBinary(nil); err != nil || !bytes.Equal(again, b) {
		t.Errorf("decoding and encoding again changes the bytes (error %v)", err)
	}

	g = s.New(t)
	g.AddHash(1)
	before := g.Clone()
	r := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		bad := bytes.Clone(b)
		at := r.IntN(len(bad))
		bad[at] ^= 1 << r.IntN(8)
		if err := g.UnmarshalBinary(bad); err == nil {
			t.Fatalf("a flipped bit in byte %d goes unnoticed", at)
		}
		if err := g.UnmarshalBinary(b[:r.IntN(len(b))]); err == nil {
			t.Fatal("a truncated encoding goes unnoticed")
		}
	}
	if err := g.UnmarshalBinary(append(bytes.Clone(b), 0)); err == nil {
		t.Error("a byte after the end goes unnoticed")
	}
	if _, err := g.ReadFrom(bytes.NewReader(append(bytes.Clone(b), 0))); err == nil {
		t.Error("ReadFrom overlooks a byte after the end")
	}
	if !g.Equal(before) {
		t.Error("a failed decoding changed the filter")
	}
}

// same checks that g answers as f does and goes on as f does.
func (s Suite[F]) same(t *testing.T, how string, f, g F) {
	t.Helper()
	if !f.Equal(g) || !g.Equal(f) {
		t.Fatalf("%s returns another filter", how)
	}
	if f.Tag() != g.Tag() {
		t.Errorf("%s changes the tag from %d to %d", how, f.Tag(), g.Tag())
	}
	if f.Rules() != g.Rules() {
		t.Errorf("%s changes the rules from %q to %q", how, f.Rules(), g.Rules())
	}
	if a, b := f.Stats(), g.Stats(); a != b {
		t.Errorf("%s changes the statistics:\n%+v\n%+v", how, a, b)
	}
	f = f.Clone()
	for _, h := range RandomHashes(8, s.Capacity) {
		if f.HasHash(h) != g.HasHash(h) || f.AddHash(h) != g.AddHash(h) {
			t.Fatalf("%s returns a filter that answers differently", how)
		}
	}
}

// union checks that a union is what adding both filters' keys would have given.
func (s Suite[F]) union(t *testing.T) {
	hs := RandomHashes(9, s.Capacity)
	f, g := s.New(t), s.New(t)
	for i, h := range hs {
		if i%3 != 0 {
			f.AddHash(h)
		}
		if i%3 != 1 {
			g.AddHash(h)
		}
	}
	fBefore, gBefore := f.Clone(), g.Clone()
	err := f.Union(g)
	if s.NoUnion {
		if !errors.Is(err, bloom.ErrIncompatible) || !f.Equal(fBefore) {
			t.Errorf("Union, which is impossible: error %v, want ErrIncompatible and an unchanged filter", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, h := range hs {
		if !f.HasHash(h) {
			t.Fatalf("key %d of one of the filters is missing in their union", i)
		}
	}
	if !g.Equal(gBefore) {
		t.Error("Union changed its argument")
	}
	rate := s.ErrorRate
	if s.UnionErrorRate != 0 {
		rate = s.UnionErrorRate
	}
	trials := min(int(500/rate), 1_000_000)
	wrong := f.HasHashes(nil, RandomHashes(10, trials))
	if _, most := Limits(trials, rate, 20/float64(s.Capacity), 1); wrong > most {
		t.Errorf("the union makes %d errors in %d, more than %d", wrong, trials, most)
	}
	if s.Unlike == nil {
		return
	}
	before := f.Clone()
	ruled := g.Clone()
	if err := errors.Join(ruled.SetRules("email"), f.Union(ruled)); !errors.Is(err, bloom.ErrIncompatible) || !strings.Contains(err.Error(), "email") {
		t.Errorf("Union with a filter whose keys have other rules: error %v, want ErrIncompatible", err)
	}
	if err := f.Union(s.Unlike(t)); !errors.Is(err, bloom.ErrIncompatible) {
		t.Errorf("Union with an unlike filter: error %v, want ErrIncompatible", err)
	}
	if !f.Equal(before) {
		t.Error("a failed Union changed the filter")
	}
}

// clone checks Clone, Equal and Clear.
func (s Suite[F]) clone(t *testing.T) {
	f := s.New(t)
	hs := RandomHashes(11, s.Capacity/2)
	f.AddHashes(nil, hs)
	f.SetTag(78)
	if err := f.SetRules("url-drop=x"); err != nil {
		t.Fatal(err)
	}
	g := f.Clone()
	s.same(t, "Clone", f, f.Clone())
	extra := RandomHashes(12, 50)
	f.AddHashes(nil, extra)
	if f.Equal(g) {
		t.Error("a clone grows with its original")
	}
	if n := g.HasHashes(nil, extra); n > 25 {
		t.Error("a clone sees what was added to its original")
	}
	if !g.Add([]byte("only in the clone")) || f.Has([]byte("only in the clone")) {
		t.Error("a key added to the clone goes to the original")
	}
	f.Clear()
	if f.HasHashes(nil, hs) != 0 {
		t.Error("keys are left after Clear")
	}
	fresh := s.New(t)
	if f.Equal(fresh) {
		t.Error("a filter equals one whose keys have other rules")
	}
	if err := fresh.SetRules(f.Rules()); err != nil || !f.Equal(fresh) {
		t.Error("a cleared filter does not equal a new one")
	}
	if st := f.Stats(); st.Added != 0 || st.Ones != 0 {
		t.Errorf("after Clear: %+v", st)
	}
	f.AddHashes(nil, hs)
	if f.HasHashes(nil, hs) != len(hs) {
		t.Error("keys are missing that were added after Clear")
	}
}

func (s Suite[F]) stats(t *testing.T) {
	f := s.New(t)
	if st := f.Stats(); st.Added != 0 || st.Cardinality.Value != 0 || st.ErrorRate != 0 {
		t.Errorf("an empty filter has the statistics %+v", st)
	}
	n := f.AddHashes(nil, RandomHashes(13, s.Capacity))
	st := f.Stats()
	if st.Type == "" || st.Bytes == 0 || st.Bits == 0 || st.Layers == 0 {
		t.Errorf("statistics are not filled in: %+v", st)
	}
	if st.Added != uint64(n) {
		t.Errorf("Added is %d, but %d calls said new", st.Added, n)
	}
	if off := math.Abs(st.Cardinality.Value - float64(s.Capacity)); !(off <= 5*st.Cardinality.StdErr+float64(s.Capacity-n)) {
		t.Errorf("cardinality is estimated as %.1f +- %.1f, but is %d", st.Cardinality.Value, st.Cardinality.StdErr, s.Capacity)
	}
	if st.ErrorRate > 1.1*s.ErrorRate {
		t.Errorf("error rate at capacity is reported as %g, asked for %g", st.ErrorRate, s.ErrorRate)
	}
	if f.Hash() != (bloom.Hash{}) {
		t.Errorf("the hash is %v, want the zero value", f.Hash())
	}
}

func (s Suite[F]) allocations(t *testing.T) {
	f := s.New(t)
	f.AddHashes(nil, RandomHashes(14, s.Capacity/4))
	key := []byte("some key")
	keys := [][]byte{key, []byte("another"), []byte("third")}
	answers := make([]bool, len(keys))
	for name, call := range map[string]func(){
		"Add":       func() { f.Add(key) },
		"Has":       func() { f.Has(key) },
		"HasString": func() { f.HasString("text") },
		"AddKeys":   func() { f.AddKeys(answers, keys) },
		"HasKeys":   func() { f.HasKeys(answers, keys) },
	} {
		if n := testing.AllocsPerRun(200, call); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func equalBools(a, b []bool) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}
