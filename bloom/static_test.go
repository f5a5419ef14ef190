package bloom_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/internal/frame"
)

// TestStaticHasItsKeys goes through small sets one by one, where the shape of the
// array is most irregular, and some larger ones.
func TestStaticHasItsKeys(t *testing.T) {
	sizes := []int{1000, 4095, 4096, 65537, 300_000}
	for n := range 70 {
		sizes = append(sizes, n)
	}
	for _, bits := range []int{8, 16, 32} {
		for _, n := range sizes {
			hs := filtertest.RandomHashes(uint64(n), n)
			f := must(bloom.NewStatic(bloom.StaticConfig{Bits: bits, Hashes: slices.Clone(hs)}))
			for i, h := range hs {
				if !f.HasHash(h) {
					t.Fatalf("%d bits, %d keys: key %d is missing", bits, n, i)
				}
			}
			if f.Added() != uint64(n) {
				t.Errorf("%d bits, %d keys: Added is %d", bits, n, f.Added())
			}
			if st := f.Stats(); st.Added != uint64(n) || st.Type != "static" || st.Bits == 0 ||
				st.Bytes != st.Bits*uint64(bits)/8 || st.Cardinality.Value != float64(n) {
				t.Errorf("%d bits, %d keys: statistics %+v", bits, n, st)
			}
		}
	}
}

func TestStaticOfNothing(t *testing.T) {
	f := must(bloom.NewStatic(bloom.StaticConfig{ErrorRate: 0.01}))
	hs := filtertest.RandomHashes(1, 10_000)
	found := slices.Repeat([]bool{true}, len(hs))
	if f.HasHashes(found, hs) != 0 || slices.Contains(found, true) || slices.ContainsFunc(hs, f.HasHash) {
		t.Error("a filter without keys has some")
	}
	if st := f.Stats(); st.ErrorRate != 0 {
		t.Errorf("the error rate without keys is %g", st.ErrorRate)
	}
}

// TestStaticErrorRate measures the rate of every width against the formula.
func TestStaticErrorRate(t *testing.T) {
	const n, trials = 100_000, 4_000_000
	for _, bits := range []int{8, 16, 32} {
		f := must(bloom.NewStatic(bloom.StaticConfig{Bits: bits, Hashes: filtertest.RandomHashes(1, n)}))
		wrong := f.HasHashes(nil, filtertest.RandomHashes(2, trials))
		lo, hi := filtertest.Limits(trials, math.Ldexp(1, -bits), 0, 3)
		if wrong < lo || wrong > hi {
			t.Errorf("%d bits: %d wrong answers of %d, outside %d..%d", bits, wrong, trials, lo, hi)
		}
		if got, want := f.Stats().ErrorRate, math.Ldexp(1, -bits); math.Abs(got/want-1) > 1e-4 {
			t.Errorf("%d bits: the error rate is reported as %g, want %g", bits, got, want)
		}
	}
}

// TestStaticErrorRateOfKeys measures the rate for keys that are alike.
func TestStaticErrorRateOfKeys(t *testing.T) {
	const n, trials = 20_000, 200_000
	families := filtertest.Families()
	for _, keys := range families {
		b := must(bloom.NewStaticBuilder(bloom.StaticConfig{ErrorRate: 0.01}))
		for i := range uint64(n) {
			b.Add(keys.At(nil, i))
		}
		f := must(b.Build())
		var buf []byte
		for i := range uint64(n) {
			if buf = keys.At(buf[:0], i); !f.Has(buf) {
				t.Fatalf("%s: key %d is missing", keys.Name, i)
			}
		}
		wrong := 0
		for i := range uint64(trials) {
			if buf = keys.At(buf[:0], n+i); f.Has(buf) {
				wrong++
			}
		}
		if lo, hi := filtertest.Limits(trials, math.Ldexp(1, -8), 0, len(families)); wrong < lo || wrong > hi {
			t.Errorf("%s: %d wrong answers of %d, outside %d..%d", keys.Name, wrong, trials, lo, hi)
		}
	}
}

func TestStaticMemory(t *testing.T) {
	for n, most := range map[int]float64{1000: 1.45, 100_000: 1.2, 1_000_000: 1.14} {
		f := must(bloom.NewStatic(bloom.StaticConfig{Bits: 8, Hashes: filtertest.RandomHashes(3, n)}))
		if perKey := f.BitsPerKey(); perKey > 8*most || perKey < 8 {
			t.Errorf("%d keys take %.2f bits each, want at most %.2f", n, perKey, 8*most)
		}
		if st := f.Stats(); f.BitsPerKey() != float64(8*st.Bytes)/float64(n) {
			t.Errorf("%d keys: %.2f bits per key, but %d bytes", n, f.BitsPerKey(), st.Bytes)
		}
	}
}

func TestStaticRepetitions(t *testing.T) {
	hs := filtertest.RandomHashes(4, 500)
	once := must(bloom.NewStatic(bloom.StaticConfig{Bits: 16, Hashes: slices.Clone(hs)}))
	many := slices.Concat(hs, hs, hs[:7], hs)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(many), func(i, j int) { many[i], many[j] = many[j], many[i] })
	if f := must(bloom.NewStatic(bloom.StaticConfig{Bits: 16, Hashes: slices.Clone(many)})); !f.Equal(once) {
		t.Error("repeated keys make another filter")
	}
	b := must(bloom.NewStaticBuilder(bloom.StaticConfig{Bits: 16}))
	if n := b.AddHashes(nil, many); n != len(hs) || b.Added() != uint64(len(hs)) {
		t.Errorf("%d keys were new of %d distinct ones; Added is %d", n, len(hs), b.Added())
	}
	if f := must(b.Build()); !f.Equal(once) {
		t.Error("the builder makes another filter")
	}
	if b.Added() != 0 || b.HasHash(hs[0]) || !b.AddHash(hs[0]) {
		t.Error("the builder keeps keys after Build")
	}
	all := must(bloom.NewStatic(bloom.StaticConfig{Bits: 16, Hashes: slices.Repeat([]uint64{7}, 5000)}))
	if !all.HasHash(7) || all.Added() != 1 {
		t.Error("one key, repeated, is not one key")
	}
}

// TestStaticExtremeHashes builds filters of hashes that are anything but random.
func TestStaticExtremeHashes(t *testing.T) {
	for name, at := range map[string]func(i uint64) uint64{
		"sequential": func(i uint64) uint64 { return i },
		"from above": func(i uint64) uint64 { return ^i },
		"high bits":  func(i uint64) uint64 { return i << 40 },
		"one bit":    func(i uint64) uint64 { return 1 << (i % 64) },
	} {
		var hs []uint64
		for i := range uint64(50_000) {
			hs = append(hs, at(i))
		}
		f := must(bloom.NewStatic(bloom.StaticConfig{Bits: 8, Hashes: slices.Clone(hs)}))
		if f.HasHashes(nil, hs) != len(hs) {
			t.Errorf("%s: keys are missing", name)
		}
	}
}

func TestStaticConfig(t *testing.T) {
	hs := filtertest.RandomHashes(5, 1000)
	for rate, bits := range map[float64]int{0.9: 8, 0.004: 8, math.Ldexp(1.001, -8): 8, math.Ldexp(1, -8): 16, 1e-4: 16, 1e-5: 32, 1e-9: 32, math.Ldexp(1.001, -32): 32} {
		f := must(bloom.NewStatic(bloom.StaticConfig{ErrorRate: rate, Hashes: hs}))
		if st := f.Stats(); st.Bytes != st.Bits*uint64(bits)/8 || st.AskedErrorRate != rate || st.ErrorRate > rate {
			t.Errorf("rate %g: %+v, want slots of %d bits", rate, st, bits)
		}
	}
	for _, c := range []bloom.StaticConfig{
		{}, {ErrorRate: -1}, {ErrorRate: 1}, {ErrorRate: math.NaN()}, {ErrorRate: 1e-12}, {ErrorRate: math.Ldexp(1, -32)},
		{Bits: 1}, {Bits: 64}, {Bits: -8}, {Bits: 8, ErrorRate: 2}, {Bits: 8, ErrorRate: math.NaN()},
		{Bits: 8, Hash: bloom.Hash{Algorithm: bloom.SipHash}},
	} {
		c.Hashes = hs
		if _, err := bloom.NewStatic(c); err == nil {
			t.Errorf("NewStatic accepts %+v", c)
		}
		if _, err := bloom.NewStaticBuilder(c); err == nil {
			t.Errorf("NewStaticBuilder accepts %+v", c)
		}
	}
}

func TestStaticBinary(t *testing.T) {
	hs := filtertest.RandomHashes(6, 3000)
	for _, bits := range []int{8, 16, 32} {
		f := must(bloom.NewStatic(bloom.StaticConfig{Bits: bits, ErrorRate: 0.1, Hash: bloom.Hash{Seed: 5}, Hashes: hs}))
		b := must(f.MarshalBinary())
		var w bytes.Buffer
		if n, err := f.WriteTo(&w); err != nil || n != int64(len(b)) || !bytes.Equal(w.Bytes(), b) {
			t.Errorf("WriteTo and MarshalBinary differ (error %v)", err)
		}
		input := bytes.Clone(b)
		g := new(bloom.Static)
		if err := g.UnmarshalBinary(input); err != nil {
			t.Fatal(err)
		}
		clear(input)
		if !g.Equal(f) || g.Stats() != f.Stats() || g.Hash() != f.Hash() || g.HasHashes(nil, hs) != len(hs) {
			t.Error("UnmarshalBinary returns another filter")
		}
		g = new(bloom.Static)
		if n, err := g.ReadFrom(&w); err != nil || n != int64(len(b)) || !g.Equal(f) || !g.Has(nil) == f.Has(nil) {
			t.Errorf("ReadFrom returns another filter (error %v)", err)
		}
		if again := must(g.AppendBinary([]byte("x"))); !bytes.Equal(again[1:], b) {
			t.Error("decoding and encoding again changes the bytes")
		}
		other := must(bloom.NewStatic(bloom.StaticConfig{Bits: bits, Hash: bloom.Hash{Seed: 6}, Hashes: hs}))
		if other.Equal(f) {
			t.Error("filters with unlike hashes are equal")
		}
	}
}

// TestStaticHostileHeader changes each number of a header that says where slots
// are. Whatever passes must be safe to ask.
func TestStaticHostileHeader(t *testing.T) {
	hs := filtertest.RandomHashes(7, 3000)
	b := must(must(bloom.NewStatic(bloom.StaticConfig{Bits: 16, Hashes: hs})).MarshalBinary())
	h, parts, err := frame.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	good, body := h.Parts[0], parts[0]
	accepts := func(change func(p *frame.Part)) bool {
		h.Parts[0] = good
		change(&h.Parts[0])
		v, err := bloom.FromFrame(h, parts, bloom.LoadOptions{}, nil)
		if err != nil {
			var corrupt *bloom.CorruptError
			if !errors.As(err, &corrupt) {
				t.Fatalf("%+v: error %v, want a CorruptError", h.Parts[0], err)
			}
			return false
		}
		v.HasHashes(nil, hs)
		return true
	}
	numbers := []uint64{0, 1, 2, 3, 1 << 18, 1 << 19, 1 << 31, 1 << 32, 1<<32 - 1, 1 << 63, math.MaxUint64}
	for _, x := range numbers {
		for _, y := range numbers {
			for _, change := range []func(p *frame.Part){
				func(p *frame.Part) { p.Fields[1], p.Fields[2] = x, y },
				func(p *frame.Part) { p.Fields[1], p.M = x, y },
				func(p *frame.Part) { p.Fields[2], p.M = x, y },
			} {
				if accepts(change) {
					t.Errorf("the array %+v is accepted", h.Parts[0])
				}
			}
		}
	}
	for bits := range 256 {
		if accepts(func(p *frame.Part) { p.CounterBits = uint8(bits) }) && bits != 16 {
			t.Errorf("slots of %d bits are accepted", bits)
		}
	}
	// As many slots as the segments ask for, whatever their length.
	for i := range uint64(100) {
		ok := accepts(func(p *frame.Part) {
			p.Fields[1], p.Fields[2] = i+1, 20
			p.M, p.Length, p.Added, p.Capacity, h.Capacity = 22*(i+1), 44*(i+1), 0, 0, 0
			parts[0] = body[:p.Length]
		})
		if power := i&(i+1) == 0; ok != power {
			t.Errorf("segments of %d slots are accepted: %v", i+1, ok)
		}
	}
	parts[0] = body
	for name, change := range map[string]func(p *frame.Part){
		"a field without meaning": func(p *frame.Part) { p.Fields[3] = 1 },
		"more keys than slots":    func(p *frame.Part) { p.Added, p.Capacity, h.Capacity = p.M+1, p.M+1, p.M+1 },
		"unlike capacities":       func(p *frame.Part) { p.Capacity++ },
		"unlike counts":           func(p *frame.Part) { p.Added-- },
		"another kind":            func(p *frame.Part) { p.Kind = frame.KindBytes },
	} {
		if h.Capacity = good.Capacity; accepts(change) {
			t.Errorf("%s is accepted", name)
		}
	}
	if h.Capacity = good.Capacity; !accepts(func(*frame.Part) {}) {
		t.Error("the header as it was is refused")
	}
	if h.Fields[3] = 1; accepts(func(*frame.Part) {}) {
		t.Error("a field of the header without meaning is accepted")
	}
	h.Parts = nil
	if _, err := bloom.FromFrame(h, nil, bloom.LoadOptions{}, nil); err == nil {
		t.Error("a static filter without a part is accepted")
	}
}

// TestStaticMapped checks that every byte that is read is announced first.
func TestStaticMapped(t *testing.T) {
	hs := filtertest.RandomHashes(8, 3000)
	for _, bits := range []int{8, 16, 32} {
		f := must(bloom.NewStatic(bloom.StaticConfig{Bits: bits, Hashes: hs}))
		h, parts, err := frame.Parse(must(f.MarshalBinary()))
		if err != nil {
			t.Fatal(err)
		}
		disk := bytes.Clone(parts[0])
		clear(parts[0]) // pages come in as they are announced
		v, err := bloom.FromFrame(h, parts, bloom.LoadOptions{}, func(part int, off, n uint64) {
			copy(parts[part][off:off+n], disk[off:])
		})
		if err != nil {
			t.Fatal(err)
		}
		if !v.HasHash(hs[0]) || v.HasHashes(nil, hs) != len(hs) {
			t.Errorf("%d bits: slots were read that were not announced", bits)
		}
		if !v.(*bloom.Static).Equal(f) {
			t.Errorf("%d bits: a mapped filter is not equal to its original", bits)
		}
	}
}

func TestStaticAllocations(t *testing.T) {
	f := must(bloom.NewStatic(bloom.StaticConfig{Bits: 16, Hashes: filtertest.RandomHashes(9, 3000)}))
	key := []byte("some key")
	keys := [][]byte{key, []byte("another")}
	answers := make([]bool, len(keys))
	if n := testing.AllocsPerRun(200, func() {
		f.Has(key)
		f.HasKeys(answers, keys)
	}); n != 0 {
		t.Errorf("asking allocates %v times", n)
	}
}

// A static filter keeps its tag and the rules of its keys.
func TestStaticLabel(t *testing.T) {
	f := must(bloom.NewStatic(bloom.StaticConfig{ErrorRate: 0.01, Hashes: []uint64{1, 2, 3}}))
	f.SetTag(77)
	if err := f.SetRules("email"); err != nil {
		t.Fatal(err)
	}
	v, err := bloom.Decode(must(f.MarshalBinary()), bloom.LoadOptions{})
	if err != nil || v.Tag() != 77 || v.Rules() != "email" {
		t.Fatalf("%v, %v", v, err)
	}
	if err := f.SetRules("a\nb"); err == nil || f.Rules() != "email" {
		t.Errorf("rules that no file can hold: %v, and now %q", err, f.Rules())
	}
}

// A builder gives its tag and its rules to the filter that it builds.
func TestStaticBuilderLabel(t *testing.T) {
	b := must(bloom.NewStaticBuilder(bloom.StaticConfig{ErrorRate: 0.01, Hashes: []uint64{1, 2, 3}}))
	b.SetTag(77)
	if err := b.SetRules("email"); err != nil {
		t.Fatal(err)
	}
	if f := must(b.Build()); f.Tag() != 77 || f.Rules() != "email" {
		t.Errorf("tag %d and rules %q, want 77 and email", f.Tag(), f.Rules())
	}
}
