package bloom_test

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"seen/bloom"
	"seen/internal/bridge"
	"seen/internal/filtertest"
	"seen/internal/frame"
)

func TestAdaptiveExact(t *testing.T) {
	filtertest.Run(t, filtertest.Suite[*bloom.Adaptive]{
		New: func(testing.TB) *bloom.Adaptive {
			return must(bloom.NewAdaptive(bloom.AdaptiveConfig{}))
		},
		Unlike: func(testing.TB) *bloom.Adaptive {
			return must(bloom.NewAdaptive(bloom.AdaptiveConfig{Hash: bloom.Hash{Seed: 1}}))
		},
		Capacity: 5000, ErrorRate: 1e-3, Exact: true,
	})
}

// TestAdaptiveSwitched runs the suite on sets that become filters within it.
func TestAdaptiveSwitched(t *testing.T) {
	for _, p := range []float64{0.1, 1e-3} {
		filtertest.Run(t, filtertest.Suite[*bloom.Adaptive]{
			New: func(testing.TB) *bloom.Adaptive {
				return must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 25_000, ErrorRate: p}))
			},
			Unlike: func(testing.TB) *bloom.Adaptive {
				a := must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 25_000, ErrorRate: p / 2}))
				a.AddHashes(nil, filtertest.RandomHashes(99, 5000))
				return a
			},
			Capacity: 5000, ErrorRate: p, UnionErrorRate: 2 * p,
		})
	}
}

// TestAdaptiveMakesNoErrors asks a set of a million keys, and adds all of them
// twice.
func TestAdaptiveMakesNoErrors(t *testing.T) {
	const n = 1_000_000
	hs := filtertest.RandomHashes(1, n)
	a := must(bloom.NewAdaptive(bloom.AdaptiveConfig{}))
	r := rand.New(rand.NewPCG(2, 2))
	for rest := hs; len(rest) > 0; {
		m := min(r.IntN(3000), len(rest))
		if got := a.AddHashes(nil, rest[:m]); got != m {
			t.Fatalf("%d of %d new keys are new", got, m)
		}
		rest = rest[m:]
	}
	if got := a.AddHashes(nil, hs); got != 0 {
		t.Errorf("%d keys are new again", got)
	}
	if got := a.HasHashes(nil, hs); got != n {
		t.Errorf("%d keys of %d are there", got, n)
	}
	if got := a.HasHashes(nil, filtertest.RandomHashes(3, n)); got != 0 {
		t.Errorf("%d keys are there that were not added", got)
	}
	st := a.Stats()
	// The birthday bound: n²/2 pairs, each alike with probability 2^-64.
	if want := float64(n) * n / 2 / math.Pow(2, 64); !st.Exact || math.Abs(st.ExpectedCollisions/want-1) > 1e-12 {
		t.Errorf("expected collisions of %d keys are %g, want %g", n, st.ExpectedCollisions, want)
	}
	if st.Added != n || st.Bytes > 14*n || st.ErrorRate != n/math.Pow(2, 64) {
		t.Errorf("the statistics are %+v", st)
	}
}

// TestAdaptiveErrorRate measures the rate right after the switch and long after.
func TestAdaptiveErrorRate(t *testing.T) {
	for _, p := range []float64{0.05, 1e-3, 1e-5} {
		trials := min(int(500/p), 2_000_000)
		a := must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 200_000, ErrorRate: p}))
		hs := filtertest.RandomHashes(4, 300_000)
		added := 0
		for !a.Switched() {
			a.AddHash(hs[added])
			added++
		}
		for _, n := range []int{added, 2 * added, len(hs)} {
			a.AddHashes(nil, hs[:n])
			if got := a.HasHashes(nil, hs[:n]); got != n {
				t.Fatalf("p = %g: %d keys of %d are there", p, got, n)
			}
			wrong := a.HasHashes(nil, filtertest.RandomHashes(5, trials))
			if _, most := filtertest.Limits(trials, p, 20/float64(added), 9); wrong > most {
				t.Errorf("p = %g, %d keys: %d wrong answers of %d, more than %d", p, n, wrong, trials, most)
			}
		}
		if st := a.Stats(); st.Exact || st.ExpectedCollisions != 0 || st.Type != "adaptive" || st.AskedErrorRate != p || st.Layers < 2 {
			t.Errorf("p = %g: the statistics are %+v", p, st)
		}
	}
}

// TestAdaptiveSwitchInBatch holds one call, in which the set becomes a filter and
// the filter grows, against single ones.
func TestAdaptiveSwitchInBatch(t *testing.T) {
	hs := filtertest.RandomHashes(13, 6000)
	hs = append(hs, hs[:3000]...)
	c := bloom.AdaptiveConfig{MaxBytes: 25_000, ErrorRate: 0.01}
	one, many := must(bloom.NewAdaptive(c)), must(bloom.NewAdaptive(c))
	added, count := make([]bool, len(hs)), 0
	n := many.AddHashes(added, hs)
	for i, h := range hs {
		isNew := one.AddHash(h)
		if isNew != added[i] {
			t.Fatalf("key %d is new: %v, in a batch %v", i, isNew, added[i])
		}
		if isNew {
			count++
		}
	}
	if n != count || !one.Equal(many) || !many.Switched() {
		t.Errorf("%d keys are new in a batch, %d one by one; switched %v", n, count, many.Switched())
	}
}

func TestAdaptiveConfig(t *testing.T) {
	for _, c := range []bloom.AdaptiveConfig{
		{}, {ErrorRate: 0.01}, {MaxBytes: 4096, ErrorRate: 0.01}, {MaxBytes: 1 << 30, ErrorRate: 1e-6},
		{MaxBytes: 1 << 20, ErrorRate: 0.01, Growth: 1.5, FilterMaxBytes: 1 << 20, Overfill: true},
	} {
		if _, err := bloom.NewAdaptive(c); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, c := range []bloom.AdaptiveConfig{
		{MaxBytes: 4096}, {MaxBytes: 4095, ErrorRate: 0.01}, {MaxBytes: 1, ErrorRate: 0.01},
		{MaxBytes: 4096, ErrorRate: 1}, {MaxBytes: 4096, ErrorRate: -1}, {MaxBytes: 4096, ErrorRate: math.NaN()},
		{MaxBytes: 4096, ErrorRate: 1e-19}, {MaxBytes: 1 << 62, ErrorRate: 1e-6},
		{MaxBytes: 4096, ErrorRate: 0.01, Growth: 1}, {MaxBytes: 4096, ErrorRate: 0.01, Growth: math.NaN()},
		{MaxBytes: 4096, ErrorRate: 0.01, FilterMaxBytes: 4095},
		{ErrorRate: 2}, {ErrorRate: math.NaN()}, {Growth: 2}, {FilterMaxBytes: 5000}, {Overfill: true},
		{Hash: bloom.Hash{Algorithm: bloom.SipHash}},
	} {
		if _, err := bloom.NewAdaptive(c); err == nil {
			t.Errorf("NewAdaptive accepts %+v", c)
		}
	}
}

// TestAdaptiveFull fills the filter up to its limit.
func TestAdaptiveFull(t *testing.T) {
	hs := filtertest.RandomHashes(6, 100_000)
	c := bloom.AdaptiveConfig{MaxBytes: 50_000, FilterMaxBytes: 50_000, ErrorRate: 1e-3}
	a := must(bloom.NewAdaptive(c))
	added := make([]bool, len(hs))
	n, err := a.TryAddHashes(added, hs)
	if !errors.Is(err, bloom.ErrFull) || !errors.Is(a.Err(), bloom.ErrFull) || !a.Switched() {
		t.Fatalf("adding %d keys: error %v, Err %v", len(hs), err, a.Err())
	}
	if st := a.Stats(); st.Bytes > c.FilterMaxBytes || st.Bytes < c.FilterMaxBytes/2 {
		t.Errorf("it is full at %d bytes of %d", st.Bytes, c.FilterMaxBytes)
	}
	if a.HasHashes(nil, hs[:n]) != n || a.HasHash(hs[n]) {
		t.Errorf("not just the first %d keys are there", n)
	}
	single := must(bloom.NewAdaptive(c))
	for i, h := range hs {
		isNew, err := single.TryAddHash(h)
		if i < n && (err != nil || isNew != added[i]) || i == n && (!errors.Is(err, bloom.ErrFull) || !isNew) {
			t.Fatalf("key %d of %d: new %v, error %v", i, n, isNew, err)
		}
		if i == n {
			break
		}
	}
	if !single.Equal(a) {
		t.Error("batches and single calls leave different filters")
	}
	for range 2 {
		if !a.AddHash(hs[n]) || a.HasHash(hs[n]) {
			t.Error("a key without room is not new each time")
		}
	}
	other := must(bloom.NewAdaptive(c))
	other.AddHashes(nil, hs[n:n+500])
	if err := a.Union(other); !errors.Is(err, bloom.ErrFull) {
		t.Errorf("union with a full filter: error %v", err)
	}
	before := other.Clone()
	if err := other.Union(a); !errors.Is(err, bloom.ErrFull) || !other.Equal(before) || other.Switched() {
		t.Errorf("union of a set with a full filter: error %v", err)
	}
	if err := a.SetLimits(c.MaxBytes, 2*c.FilterMaxBytes, false); err != nil || a.Err() != nil {
		t.Errorf("raising the limit: error %v, Err %v", err, a.Err())
	}
	if isNew, err := a.TryAddHash(hs[n]); err != nil || !isNew || !a.HasHash(hs[n]) {
		t.Errorf("adding above the former limit: new %v, error %v", isNew, err)
	}
	if err := a.SetLimits(c.MaxBytes, c.FilterMaxBytes, true); err != nil {
		t.Error(err)
	}
	a.AddHashes(nil, hs)
	if a.HasHashes(nil, hs) != len(hs) || a.Stats().ErrorRate < c.ErrorRate {
		t.Error("Overfill does not overfill")
	}
}

// TestAdaptiveKeepsLimits checks that files and unions do not lose the limits of
// the filter.
func TestAdaptiveKeepsLimits(t *testing.T) {
	hs := filtertest.RandomHashes(14, 60_000)
	for _, overfill := range []bool{false, true} {
		c := bloom.AdaptiveConfig{MaxBytes: 50_000, FilterMaxBytes: 50_000, ErrorRate: 1e-3, Overfill: overfill}
		read := new(bloom.Adaptive)
		if err := read.UnmarshalBinary(must(must(bloom.NewAdaptive(c)).MarshalBinary())); err != nil {
			t.Fatal(err)
		}
		unlimited := must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 50_000, ErrorRate: 1e-3, Growth: 2}))
		unlimited.AddHashes(nil, hs[:10_000])
		united := must(bloom.NewAdaptive(c))
		united.AddHash(1)
		if err := united.Union(unlimited); err != nil {
			t.Fatal(err)
		}
		for name, a := range map[string]*bloom.Adaptive{"read": read, "united": united, "cloned": united.Clone()} {
			if _, err := a.TryAddHashes(nil, hs); (err == nil) != overfill || a.Err() == nil {
				t.Errorf("%s, overfill %v: error %v, Err %v", name, overfill, err, a.Err())
			}
		}
	}
}

// TestAdaptiveSetLimits lowers and raises the limit of a set.
func TestAdaptiveSetLimits(t *testing.T) {
	hs := filtertest.RandomHashes(7, 20_000)
	a := must(bloom.NewAdaptive(bloom.AdaptiveConfig{ErrorRate: 1e-4}))
	a.AddHashes(nil, hs[:10_000])
	for _, limits := range [][2]uint64{{1 << 62, 0}, {5000, 4999}, {1, 0}} {
		if err := a.SetLimits(limits[0], limits[1], false); err == nil {
			t.Errorf("limits %v are accepted", limits)
		}
	}
	if a.AddHashes(nil, hs[:11_000]); a.Switched() {
		t.Error("limits that were refused take effect")
	}
	if err := a.SetLimits(100_000, 0, false); err != nil || a.Switched() {
		t.Errorf("lowering the limit: error %v, switched %v", err, a.Switched())
	}
	if n := a.AddHashes(nil, hs); n < 8990 || !a.Switched() || a.HasHashes(nil, hs) != len(hs) {
		t.Errorf("%d keys are new above the lowered limit; switched %v", n, a.Switched())
	}
	a = must(bloom.NewAdaptive(bloom.AdaptiveConfig{ErrorRate: 2e-14}))
	if err := a.Clone().SetLimits(5000, 0, false); err != nil {
		t.Errorf("lowering the limit of an empty set: %v", err)
	}
	a.AddHashes(nil, filtertest.RandomHashes(7, 200_000))
	if err := a.SetLimits(5000, 0, false); err == nil {
		t.Error("64-bit hashes cannot give 200,000 keys this error rate")
	}
	none := must(bloom.NewAdaptive(bloom.AdaptiveConfig{}))
	if err := none.SetLimits(5000, 0, false); err == nil {
		t.Error("a set without an error rate accepts to become a filter")
	}
}

// TestAdaptiveUnion unites all combinations of sets and filters.
func TestAdaptiveUnion(t *testing.T) {
	hs := filtertest.RandomHashes(8, 12_000)
	small, large := hs[:1000], hs[500:]
	make := func(keys []uint64) *bloom.Adaptive {
		a := must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 100_000, ErrorRate: 1e-4}))
		a.AddHashes(nil, keys)
		return a
	}
	for name, c := range map[string]struct {
		f, g     []uint64
		switched bool
	}{
		"set, set":       {small, hs[900:2000], false},
		"sets, too many": {hs[:5000], hs[4000:9000], true},
		"set, filter":    {small, large, true},
		"filter, set":    {large, small, true},
		"filter, filter": {hs[:10_000], large, true},
		"empty, filter":  {nil, large, true},
		"filter, empty":  {large, nil, true},
	} {
		f, g := make(c.f), make(c.g)
		before := g.Clone()
		if err := f.Union(g); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if f.HasHashes(nil, c.f) != len(c.f) || f.HasHashes(nil, c.g) != len(c.g) {
			t.Errorf("%s: keys are missing in the union", name)
		}
		if f.Switched() != c.switched {
			t.Errorf("%s: the union is a filter: %v", name, f.Switched())
		}
		if !g.Equal(before) {
			t.Errorf("%s: Union changed its argument", name)
		}
		f.AddHashes(nil, filtertest.RandomHashes(9, 20_000))
		if !g.Equal(before) {
			t.Errorf("%s: the union shares memory with its argument", name)
		}
		if err := f.Union(f); err != nil {
			t.Errorf("%s: union with itself: %v", name, err)
		}
	}
	growth := must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 100_000, ErrorRate: 1e-4, Growth: 3}))
	if err := growth.Union(make(large)); err != nil || growth.Config().Growth != 3 {
		t.Errorf("union of unlike growths: error %v, growth %v", err, growth.Config().Growth)
	}
	if read := must(bloom.Decode(must(growth.MarshalBinary()), bloom.LoadOptions{})); !read.(*bloom.Adaptive).Equal(growth) {
		t.Error("a union of unlike growths is read as another filter")
	}
	rate := must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 100_000, ErrorRate: 1e-5}))
	if err := rate.Union(make(large)); !errors.Is(err, bloom.ErrIncompatible) {
		t.Errorf("union of unlike error rates: error %v", err)
	}
	if make(small).Equal(make(large)) || make(large).Equal(make(small)) {
		t.Error("a set equals a filter")
	}
}

// TestAdaptiveMapped asks a set where its file lies, with every byte that is read
// announced first, and then adds to it.
func TestAdaptiveMapped(t *testing.T) {
	hs := filtertest.RandomHashes(10, 20_000)
	for _, n := range []int{0, 1, 1000, 10_000} {
		a := must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 150_000, ErrorRate: 0.01}))
		a.AddHashes(nil, hs[:n])
		h, parts, err := frame.Parse(must(a.MarshalBinary()))
		if err != nil {
			t.Fatal(err)
		}
		var disk [][]byte
		for i := range parts {
			disk = append(disk, bytes.Clone(parts[i]))
		}
		load := func() *bloom.Adaptive {
			for i := range parts {
				clear(parts[i]) // bytes come in as they are announced
			}
			v, err := bloom.FromFrame(h, parts, bloom.LoadOptions{}, func(part int, off, n uint64) {
				copy(parts[part][off:off+n], disk[part][off:])
			})
			if err != nil {
				t.Fatal(err)
			}
			return v.(*bloom.Adaptive)
		}
		if m := load(); !m.Clone().Equal(a) {
			t.Errorf("%d keys: the clone of a mapped set differs", n)
		}
		m := load()
		for _, h := range hs {
			if m.HasHash(h) != a.HasHash(h) {
				t.Fatalf("%d keys: the answers for %x differ", n, h)
			}
		}
		if m.HasHashes(nil, hs) != a.HasHashes(nil, hs) || !m.Equal(a) || !m.Clone().Equal(a) {
			t.Errorf("%d keys: mapped and unmapped differ", n)
		}
		if st := m.Stats(); st.Added != a.Added() || st.Exact == a.Switched() {
			t.Errorf("%d keys: the statistics are %+v", n, st)
		}
		if !bytes.Equal(must(m.MarshalBinary()), must(a.MarshalBinary())) {
			t.Errorf("%d keys: encoding again changes the bytes", n)
		}
		if !a.Switched() {
			// A filter would be changed in the file.
			if m.AddHashes(nil, hs) != a.AddHashes(nil, hs) || !m.Equal(a) {
				t.Errorf("%d keys: adding to a mapped set leaves another one", n)
			}
			u := load()
			if err := u.Union(a); err != nil || u.HasHashes(nil, hs) != len(hs) {
				t.Errorf("%d keys: union of a mapped set: error %v", n, err)
			}
			u = load()
			if u.Clear(); u.HasHashes(nil, hs) != 0 || u.Added() != 0 {
				t.Errorf("%d keys: keys are left after Clear", n)
			}
		}
	}
}

// TestAdaptiveCanonical checks that the bytes of a set say nothing of its history.
func TestAdaptiveCanonical(t *testing.T) {
	hs := filtertest.RandomHashes(11, 70_000)
	hs = append(hs, 0, 1, math.MaxUint64)
	a := must(bloom.NewAdaptive(bloom.AdaptiveConfig{}))
	a.AddHashes(nil, hs)
	b := must(bloom.NewAdaptive(bloom.AdaptiveConfig{}))
	slices.Reverse(hs)
	for _, h := range hs {
		b.AddHash(h)
	}
	if !bytes.Equal(must(a.MarshalBinary()), must(b.MarshalBinary())) || a.Stats() != b.Stats() || !a.Equal(b) {
		t.Error("the order of additions leaves traces")
	}
	// Docs promise the hashes in order.
	h, parts, err := frame.Parse(must(a.MarshalBinary()))
	if err != nil {
		t.Fatal(err)
	}
	words, _ := frame.Words(parts[0])
	if slices.Sort(hs); !slices.Equal(words, hs) {
		t.Error("the file does not hold the hashes in order")
	}
	if p := h.Parts[0]; p.M != uint64(len(hs)) || p.Added != p.M {
		t.Errorf("the file counts %d hashes, %d added, of %d", p.M, p.Added, len(hs))
	}
}

// TestAdaptiveHostileFile changes headers and contents that checksums cannot
// protect, as somebody may have made them.
func TestAdaptiveHostileFile(t *testing.T) {
	a := must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 1 << 20, ErrorRate: 0.01}))
	a.AddHashes(nil, filtertest.RandomHashes(12, 100))
	for name, change := range map[string]func(h *frame.Header, parts [][]byte){
		"unordered":    func(_ *frame.Header, parts [][]byte) { clear(parts[0][80:96]) },
		"equal":        func(_ *frame.Header, parts [][]byte) { copy(parts[0][8:], parts[0][:8]) },
		"odd length":   func(h *frame.Header, parts [][]byte) { parts[0], h.Parts[0].Length = parts[0][1:], 799 },
		"count":        func(h *frame.Header, _ [][]byte) { h.Parts[0].M++ },
		"added":        func(h *frame.Header, _ [][]byte) { h.Parts[0].Added-- },
		"capacity":     func(h *frame.Header, _ [][]byte) { h.Capacity = 5 },
		"flags":        func(h *frame.Header, _ [][]byte) { h.Fields[2] = 2 },
		"fields":       func(h *frame.Header, _ [][]byte) { h.Fields[14] = 1 },
		"growth":       func(h *frame.Header, _ [][]byte) { h.Fields[0] = math.Float64bits(0.5) },
		"budget":       func(h *frame.Header, _ [][]byte) { h.Fields[3] = 1 },
		"filter limit": func(h *frame.Header, _ [][]byte) { h.Fields[1] = 1 },
		"rate":         func(h *frame.Header, _ [][]byte) { h.ErrorRate = 0 },
		"no part":      func(h *frame.Header, _ [][]byte) { h.Parts = nil },
		"two parts":    func(h *frame.Header, _ [][]byte) { h.Parts = append(h.Parts, h.Parts[0]) },
		"kind":         func(h *frame.Header, _ [][]byte) { h.Parts[0].Kind = frame.KindBytes },
	} {
		h, parts, err := frame.Parse(must(a.MarshalBinary()))
		if err != nil {
			t.Fatal(err)
		}
		change(h, parts)
		var corrupt *bloom.CorruptError
		if v, err := bloom.FromFrame(h, append(parts, parts...), bloom.LoadOptions{}, nil); !errors.As(err, &corrupt) {
			t.Errorf("%s: %v, error %v; want a CorruptError", name, v, err)
		}
	}
}

// TestAdaptiveAgainstModel plays additions, unions, limits and files against a
// map, with budgets so small that sets become filters often.
func TestAdaptiveAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		budget := rapid.SampledFrom([]uint64{0, 4096, 20_000, 200_000}).Draw(t, "budget")
		empty := func() *bloom.Adaptive {
			return must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: budget, ErrorRate: 0.01}))
		}
		a, model := empty(), map[uint64]bool{}
		hashes := func(most int) []uint64 {
			hs := make([]uint64, rapid.IntRange(0, most).Draw(t, "hashes"))
			for i := range hs {
				switch hs[i] = random.Uint64(); random.IntN(4) {
				case 0:
					hs[i] >>= 52
				case 1:
					hs[i] |= math.MaxUint64 >> 10
				}
			}
			return hs
		}
		check := func(hs []uint64, isNew []bool) {
			for i, h := range hs {
				if isNew[i] && model[h] {
					t.Fatalf("hash %x is new again", h)
				}
				if !isNew[i] && !model[h] && !a.Switched() {
					t.Fatalf("hash %x is not new to an exact set", h)
				}
				model[h] = true
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				for h := range model {
					if !a.HasHash(h) {
						t.Fatalf("hash %x is missing", h)
					}
				}
				if st := a.Stats(); !a.Switched() && st.Added != uint64(len(model)) || st.Exact == a.Switched() {
					t.Fatalf("%d keys were added, the statistics are %+v", len(model), st)
				}
			},
			"add": func(t *rapid.T) {
				for _, h := range hashes(20) {
					check([]uint64{h}, []bool{a.AddHash(h)})
				}
			},
			"add batch": func(t *rapid.T) {
				hs := hashes(600)
				isNew := make([]bool, len(hs))
				a.AddHashes(isNew, hs)
				check(hs, isNew)
			},
			"has": func(t *rapid.T) {
				hs := hashes(50)
				found := make([]bool, len(hs))
				a.HasHashes(found, hs)
				for i, h := range hs {
					if found[i] != a.HasHash(h) || model[h] && !found[i] || !model[h] && found[i] && !a.Switched() {
						t.Fatalf("hash %x: %v, but added: %v", h, found[i], model[h])
					}
				}
			},
			"union": func(t *rapid.T) {
				other, hs := empty(), hashes(2000)
				other.AddHashes(nil, hs)
				switch rapid.IntRange(0, 1).Draw(t, "order") {
				case 0:
					if err := a.Union(other); err != nil {
						t.Fatal(err)
					}
				case 1:
					if err := other.Union(a); err != nil {
						t.Fatal(err)
					}
					a = other
				}
				for _, h := range hs {
					model[h] = true
				}
			},
			"clear": func(t *rapid.T) {
				a.Clear()
				clear(model)
			},
			"clone": func(t *rapid.T) {
				old := a
				a = a.Clone()
				old.AddHashes(nil, hashes(100))
			},
			"decode": func(t *rapid.T) {
				b := must(a.MarshalBinary())
				was := a
				a = empty()
				if err := a.UnmarshalBinary(b); err != nil {
					t.Fatal(err)
				}
				if !a.Equal(was) || a.Stats() != was.Clone().Stats() { // a mapped set takes less memory
					t.Fatal("decoding makes another set")
				}
			},
			"map": func(t *rapid.T) {
				h, parts, err := frame.Parse(must(a.MarshalBinary()))
				if err != nil {
					t.Fatal(err)
				}
				a = must(bloom.FromFrame(h, parts, bloom.LoadOptions{}, func(int, uint64, uint64) {})).(*bloom.Adaptive)
			},
		})
	})
}

// A bounded set is full where a filter would take over, keeps what it has, and can be
// emptied.
func TestBoundedExact(t *testing.T) {
	bound := bridge.BoundExact.(func(*bloom.Adaptive, uint64))
	drain := bridge.DrainExact.(func(*bloom.Adaptive) iter.Seq[[]uint64])
	a := must(bloom.NewAdaptive(bloom.AdaptiveConfig{}))
	bound(a, 64<<10)
	hs := filtertest.RandomHashes(7, 20_000)
	hs[3] = 0
	added := make([]bool, len(hs))
	n, err := a.TryAddHashes(added, hs)
	if !errors.Is(err, bloom.ErrFull) || n < 3000 || n > 8000 || a.Switched() || a.Bytes() > 64<<10 {
		t.Fatalf("%d hashes in %d bytes, %v", n, a.Bytes(), err)
	}
	if isNew, err := a.TryAddHash(hs[n]); !errors.Is(err, bloom.ErrFull) || !isNew {
		t.Errorf("one more: %t, %v", isNew, err)
	}
	if isNew, err := a.TryAddHash(hs[n-1]); err != nil || isNew {
		t.Errorf("one that is there: %t, %v", isNew, err)
	}
	var all []uint64
	for some := range drain(a) {
		all = append(all, some...)
	}
	slices.Sort(all)
	want := slices.Sorted(slices.Values(hs[:n]))
	if !slices.Equal(all, want) || a.Added() != 0 {
		t.Errorf("%d hashes of %d, %d are left", len(all), n, a.Added())
	}
}
