package bloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seen/bloom"
	"seen/internal/filtertest"
)

func newCuckoo(c bloom.CuckooConfig) *bloom.Cuckoo { return must(bloom.NewCuckoo(c)) }

// tables returns the bytes of all tables.
func tables(f *bloom.Cuckoo) (all []byte) {
	for iterator := int64(1); iterator != 0; {
		iterator, all = f.ScanDump(all, iterator)
	}
	return all
}

// TestCuckooModel plays random operations against a multiset, and on a second filter
// that goes through bytes on the way and is never prepared.
func TestCuckooModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := bloom.CuckooConfig{
			Capacity:      rapid.Uint64Range(1, 60).Draw(t, "capacity"),
			BucketSize:    rapid.SampledFrom([]int{1, 2, 3, 4, 8, 255}).Draw(t, "bucket size"),
			MaxIterations: rapid.IntRange(1, 40).Draw(t, "iterations"),
			Expansion:     rapid.IntRange(0, 3).Draw(t, "expansion"),
			MaxFilters:    rapid.IntRange(1, 6).Draw(t, "filters"),
		}
		f, g := newCuckoo(c), newCuckoo(c)
		hs := filtertest.RandomHashes(1, 200)
		hash := rapid.SampledFrom(hs)
		model := map[uint64]uint64{}
		total := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for _, h := range rapid.SliceOfN(hash, 1, 30).Draw(t, "hashes") {
					if rapid.Bool().Draw(t, "another is prepared") {
						_ = f.PrepareHash(hs[0])
					}
					errPrepare := f.PrepareHash(h)
					before := tables(f)
					err, errG := f.AddHash(h), g.AddHash(h)
					if fmt.Sprint(err) != fmt.Sprint(errG) || (err == nil) != (errPrepare == nil) {
						t.Fatalf("prepared %v: %v; not prepared: %v", errPrepare, err, errG)
					}
					if err == nil {
						model[h]++
						total++
						continue
					}
					if want := map[bool]error{true: bloom.ErrFull, false: bloom.ErrMaxFilters}[c.Expansion == 0]; !errors.Is(err, want) {
						t.Fatalf("%v, want %v", err, want)
					}
					if !bytes.Equal(tables(f), before) {
						t.Fatal("adding failed and changed the tables")
					}
				}
			},
			"remove": func(t *rapid.T) {
				for _, h := range rapid.SliceOfN(hash, 1, 30).Draw(t, "hashes") {
					if model[h] == 0 {
						continue
					}
					if rapid.Bool().Draw(t, "another is prepared") {
						_ = f.PrepareHash(hs[0])
					}
					if !f.RemoveHash(h) || !g.RemoveHash(h) {
						t.Fatal("a key that is there cannot be removed")
					}
					model[h]--
					total--
				}
			},
			"compact": func(t *rapid.T) {
				f.Compact()
				g.Compact()
				if f.Removed() != 0 {
					t.Fatalf("%d removed after a compaction", f.Removed())
				}
			},
			"through bytes": func(t *rapid.T) {
				v, err := bloom.Decode(must(g.MarshalBinary()), bloom.LoadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				g = v.(*bloom.Cuckoo)
				g.SetMaxFilters(c.MaxFilters)
			},
			"through a clone": func(t *rapid.T) {
				old := g
				g = must(g.Clone())
				old.Clear()
			},
			"through chunks": func(t *rapid.T) {
				if f.Added() > 0 {
					g = throughChunks(t, g, c.MaxFilters)
				}
			},
			"clear": func(t *rapid.T) {
				f.Clear()
				g.Clear()
				clear(model)
				total = 0
			},
			"": func(t *rapid.T) {
				for h, n := range model {
					if n > 0 && (!f.HasHash(h) || !g.HasHash(h)) {
						t.Fatal("false negative")
					}
					if got := f.CountHash(h); got < n || got > total {
						t.Fatalf("a count of %d for %d copies of %d in all", got, n, total)
					}
				}
				found := make([]bool, len(hs))
				n := f.HasHashes(found, hs)
				for i, h := range hs {
					if found[i] != f.HasHash(h) || found[i] != (f.CountHash(h) > 0) {
						t.Fatal("HasHashes, HasHash and CountHash differ")
					}
					if found[i] {
						n--
					}
				}
				if n != 0 || f.Added() != total || f.Stats().Ones != total {
					t.Fatalf("%d added, %d slots in use, want %d", f.Added(), f.Stats().Ones, total)
				}
				if !f.Equal(g) {
					t.Fatal("the same operations leave different filters")
				}
				if i := f.Info(); i.Filters > c.MaxFilters {
					t.Fatalf("%d sub-filters of at most %d", i.Filters, c.MaxFilters)
				}
			},
		})
	})
}

func throughChunks(t *rapid.T, f *bloom.Cuckoo, maxFilters int) *bloom.Cuckoo {
	iterator, header := f.ScanDump(nil, 0)
	g, err := bloom.NewCuckooFromHeader(header, bloom.CuckooConfig{MaxFilters: maxFilters})
	if err != nil {
		t.Fatal(err)
	}
	for {
		next, data := f.ScanDump(nil, iterator)
		if next == 0 {
			return g
		}
		if err := g.LoadChunk(next, data); err != nil {
			t.Fatal(err)
		}
		iterator = next
	}
}

// plainCuckoo is one table as the layout describes it, with evictions by swapping.
type plainCuckoo struct {
	slots   []byte
	buckets uint64
	size    int
	steps   int
	moved   int
	circle  bool // a slot came twice
}

func (p *plainCuckoo) bucket(i uint64) []byte { return p.slots[int(i)*p.size : (int(i)+1)*p.size] }

func (p *plainCuckoo) add(h uint64) bool {
	fp := byte(h%255 + 1)
	first := h % p.buckets
	second := (h ^ uint64(fp)*0x5bd1e995) % p.buckets
	for _, b := range []uint64{first, second} {
		if i := bytes.IndexByte(p.bucket(b), 0); i >= 0 {
			p.bucket(b)[i] = fp
			return true
		}
	}
	before := bytes.Clone(p.slots)
	seen := map[uint64]bool{}
	b := first
	for n := range p.steps {
		slot := b*uint64(p.size) + uint64(n%p.size)
		p.circle = p.circle || seen[slot]
		seen[slot] = true
		fp, p.slots[slot] = p.slots[slot], fp
		b = (b ^ uint64(fp)*0x5bd1e995) % p.buckets
		if i := bytes.IndexByte(p.bucket(b), 0); i >= 0 {
			p.bucket(b)[i] = fp
			p.moved++
			return true
		}
	}
	p.slots = before
	return false
}

// TestCuckooLayout fills a table and one that swaps fingerprints as RedisBloom's
// layout has it: the bytes are the same as long as no way has gone in a circle.
func TestCuckooLayout(t *testing.T) {
	for _, size := range []int{1, 2, 3, 4, 5, 7, 8, 16} {
		f := newCuckoo(bloom.CuckooConfig{Capacity: 4096, BucketSize: size, MaxIterations: 20})
		p := plainCuckoo{buckets: f.Info().Buckets, size: size, steps: 20}
		p.slots = make([]byte, int(p.buckets)*size)
		if p.buckets&(p.buckets-1) != 0 || int(p.buckets)*size < 4096/size*size || int(p.buckets)/2*size >= 4096 {
			t.Errorf("%d buckets of %d for a capacity of 4096", p.buckets, size)
		}
		failed := 0
		for i, h := range filtertest.RandomHashes(uint64(size), len(p.slots)) {
			ok := p.add(h)
			if p.circle {
				break
			}
			if err := f.AddHash(h); (err == nil) != ok {
				t.Fatalf("size %d, key %d: %v; swapping says %v", size, i, err, ok)
			}
			if !ok {
				failed++
			}
			if i%50 == 0 && !bytes.Equal(tables(f), p.slots) {
				t.Fatalf("size %d: the tables differ after key %d", size, i)
			}
		}
		if p.moved < 40 {
			t.Errorf("size %d: only %d keys were added by moving others, %d failed", size, p.moved, failed)
		}
	}
}

// TestCuckooFill: a table takes the share of keys that the documentation promises
// before the first is refused.
func TestCuckooFill(t *testing.T) {
	for size, want := range map[int]float64{2: 0.60, 4: 0.80, 8: 0.90} {
		f := newCuckoo(bloom.CuckooConfig{Capacity: 1 << 16, BucketSize: size})
		n := 0
		for _, h := range filtertest.RandomHashes(9, 1<<16) {
			if f.AddHash(h) != nil {
				break
			}
			n++
		}
		if fill := float64(n) / (1 << 16); fill < want-0.02 || fill > want+0.06 {
			t.Errorf("buckets of %d: full at %.3f, not about %v", size, fill, want)
		}
	}
}

// TestCuckooErrorRate measures the share of absent keys that are found, against the
// formula and against what Stats says.
func TestCuckooErrorRate(t *testing.T) {
	const trials = 100_000
	families := filtertest.Families()
	for _, keys := range families {
		for _, expansion := range []int{0, 1} {
			f := newCuckoo(bloom.CuckooConfig{Capacity: 1 << 12, Expansion: expansion})
			n := 2000
			if expansion != 0 {
				n = 9000
			}
			var buf []byte
			for i := range n {
				buf = keys.At(buf[:0], uint64(i))
				if err := f.Add(buf); err != nil {
					t.Fatal(err)
				}
			}
			wrong := 0
			for i := range trials {
				buf = keys.At(buf[:0], uint64(n+i))
				if f.Has(buf) {
					wrong++
				}
			}
			s := f.Stats()
			// Stats takes the fill of all buckets for equal. A bucket of two holds 0, 1 or 2,
			// which spreads over the trials and lowers the mean by less than its square.
			lo, hi := filtertest.Limits(trials, s.ErrorRate, 0, 2*len(families))
			if slack := int(float64(trials) * s.ErrorRate * s.ErrorRate); wrong > hi || wrong < lo-slack {
				t.Errorf("%s, expansion %d: %d wrong answers of %d, not between %d and %d", keys.Name, expansion, wrong, trials, lo-slack, hi)
			}
			if most := 1 - math.Pow(254.0/255, 4*float64(s.Layers)); s.ErrorRate > most || s.ErrorRateAtCapacity != most {
				t.Errorf("%d sub-filters: error rate %v, at capacity %v, want at most %v", s.Layers, s.ErrorRate, s.ErrorRateAtCapacity, most)
			}
		}
	}
}

// TestCuckooCopies: as many copies as fit two buckets, and growth for more.
func TestCuckooCopies(t *testing.T) {
	f := newCuckoo(bloom.CuckooConfig{Capacity: 1000, BucketSize: 2, Expansion: 2})
	key := []byte("again")
	for i := range uint64(20) {
		if err := f.Add(key); err != nil {
			t.Fatal(err)
		}
		if n := f.Count(key); n != i+1 {
			t.Fatalf("%d copies count as %d", i+1, n)
		}
	}
	if n := f.Info().Filters; n < 5 || n > 6 {
		t.Errorf("20 copies take %d sub-filters", n)
	}
	for i := range uint64(20) {
		if !f.Remove(key) || f.Count(key) != 19-i {
			t.Fatalf("after removing %d of 20 copies the count is %d", i+1, f.Count(key))
		}
	}
	if f.Remove(key) || f.Has(key) || f.Added() != 0 {
		t.Error("something is left")
	}
	if n := f.Info().Filters; n != 1 {
		t.Errorf("%d sub-filters are left of an empty filter", n)
	}
}

// TestCuckooCompacts: removing gives sub-filters back by itself, and only then.
func TestCuckooCompacts(t *testing.T) {
	f := newCuckoo(bloom.CuckooConfig{Capacity: 1024, Expansion: 1})
	hs := filtertest.RandomHashes(4, 3000)
	for _, h := range hs {
		if err := f.AddHash(h); err != nil {
			t.Fatal(err)
		}
	}
	filters, bytes := f.Info().Filters, f.Bytes()
	if filters < 3 {
		t.Fatalf("%d sub-filters", filters)
	}
	n := 0
	for ; f.Removed() == uint64(n); n++ {
		if n > len(hs)/8 {
			t.Fatalf("%d of %d are removed, and nothing is compacted", n, len(hs))
		}
		if !f.RemoveHash(hs[n]) {
			t.Fatal("it is not there")
		}
	}
	if left := len(hs) - n; 10*n <= left || 10*(n-1) > left+1 {
		t.Errorf("compacted after %d were removed and %d left", n, left)
	}
	for ; n < 2500; n++ {
		if !f.RemoveHash(hs[n]) {
			t.Fatal("it is not there")
		}
	}
	if f.HasHashes(nil, hs[n:]) != len(hs)-n || f.Added() != uint64(len(hs)-n) {
		t.Error("keys are lost")
	}
	f.Compact()
	if i := f.Info(); i.Filters >= filters || f.Bytes() >= bytes {
		t.Errorf("%d sub-filters, there were %d; %d bytes of %d", i.Filters, filters, f.Bytes(), bytes)
	}
}

func TestCuckooConfig(t *testing.T) {
	for _, c := range []struct {
		config bloom.CuckooConfig
		text   string
	}{
		{bloom.CuckooConfig{}, "capacity 0"},
		{bloom.CuckooConfig{Capacity: 1, BucketSize: -1}, "buckets of -1 fingerprints; the limits are 1 and 255"},
		{bloom.CuckooConfig{Capacity: 1, BucketSize: 256}, "buckets of 256"},
		{bloom.CuckooConfig{Capacity: 1, MaxIterations: -1}, "-1 iterations; the limits are 1 and 65535"},
		{bloom.CuckooConfig{Capacity: 1, MaxIterations: 65536}, "65536 iterations"},
		{bloom.CuckooConfig{Capacity: 1, Expansion: -1}, "expansion -1"},
		{bloom.CuckooConfig{Capacity: 1, Expansion: 32769}, "expansion 32769 of a cuckoo filter; the limits are 0 and 32768"},
		{bloom.CuckooConfig{Capacity: 1, MaxFilters: -1}, "-1 sub-filters"},
		{bloom.CuckooConfig{Capacity: 1, MaxFilters: 4097}, "4097 sub-filters; the limits are 1 and 4096"},
		{bloom.CuckooConfig{Capacity: 1, Hash: bloom.Hash{Algorithm: 9}}, "unknown hash algorithm 9"},
		{bloom.CuckooConfig{Capacity: 1 << 60}, "larger than"},
		{bloom.CuckooConfig{Capacity: 1 << 50, BucketSize: 255}, "larger than"},
	} {
		if f, err := bloom.NewCuckoo(c.config); err == nil || f != nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.text)
		}
	}
	for _, c := range []struct {
		config bloom.CuckooConfig
		want   bloom.CuckooInfo
	}{
		{bloom.CuckooConfig{Capacity: 1}, bloom.CuckooInfo{Buckets: 1, BucketSize: 2, MaxIterations: 20, Filters: 1, Slots: 2}},
		{bloom.CuckooConfig{Capacity: 1000, Expansion: 3}, bloom.CuckooInfo{Buckets: 512, BucketSize: 2, MaxIterations: 20, Expansion: 4, Filters: 1, Slots: 1024}},
		{bloom.CuckooConfig{Capacity: 1025, BucketSize: 4, MaxIterations: 7}, bloom.CuckooInfo{Buckets: 256, BucketSize: 4, MaxIterations: 7, Filters: 1, Slots: 1024}},
		{bloom.CuckooConfig{Capacity: 4, BucketSize: 255}, bloom.CuckooInfo{Buckets: 1, BucketSize: 255, MaxIterations: 20, Filters: 1, Slots: 255}},
	} {
		if got := newCuckoo(c.config).Info(); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.config, got, c.want)
		}
	}
}

// TestCuckooReserve: memory that is refused leaves everything as it is; what was
// granted is what Bytes says.
func TestCuckooReserve(t *testing.T) {
	errNo := errors.New("no")
	granted, limit := uint64(0), uint64(20_000)
	f := newCuckoo(bloom.CuckooConfig{Capacity: 100, Expansion: 2, Reserve: func(bytes uint64) error {
		if granted+bytes > limit {
			return errNo
		}
		granted += bytes
		return nil
	}})
	hs := filtertest.RandomHashes(1, 50_000)
	i := 0
	for ; ; i++ {
		before := tables(f)
		if err := f.AddHash(hs[i]); err != nil {
			if !errors.Is(err, errNo) || !bytes.Equal(tables(f), before) || f.Added() != uint64(i) {
				t.Fatalf("%v, or something changed", err)
			}
			break
		}
		if f.Bytes() != granted {
			t.Fatalf("%d bytes, %d were granted", f.Bytes(), granted)
		}
	}
	if i < 1000 {
		t.Errorf("only %d keys in 20 KB", i)
	}
	limit = math.MaxUint64
	if err := f.PrepareHash(hs[i]); err != nil {
		t.Fatal(err)
	}
	f.SetReserve(func(uint64) error { return errNo })
	if err := f.AddHash(hs[i]); err != nil || f.Bytes() != granted || f.HasHashes(nil, hs[:i+1]) != i+1 {
		t.Errorf("a key that was prepared: %v; %d bytes, %d granted", err, f.Bytes(), granted)
	}
	if g, err := bloom.NewCuckoo(bloom.CuckooConfig{Capacity: 1 << 40, Reserve: func(uint64) error { return errNo }}); g != nil || !errors.Is(err, errNo) {
		t.Errorf("a terabyte: %v", err)
	}
}

func TestCuckooChunks(t *testing.T) {
	f := newCuckoo(bloom.CuckooConfig{Capacity: 30, BucketSize: 3, Expansion: 2, Hash: bloom.Hash{Algorithm: bloom.Murmur64A}})
	if next, data := f.ScanDump([]byte("x"), 0); next != 0 || string(data) != "x" {
		t.Errorf("an empty filter dumps %q and iterator %d", data, next)
	}
	for i := range 50 {
		if err := f.Add(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	next, header := f.ScanDump(nil, 0)
	if next != 1 || len(header) != 38 || !bytes.Equal(header, f.AppendHeader(nil)) {
		t.Fatalf("header %x", header)
	}
	next, first := f.ScanDump(nil, 1)
	_, second := f.ScanDump(nil, next)
	n, m := int64(len(first)), int64(len(second))
	if n != 48 || m != 96 || next != 49 { // 16 buckets of 3, then 32
		t.Fatalf("chunks of %d and %d", n, m)
	}
	for _, iterator := range []int64{n + m + 1, n + m + 2, -1, math.MinInt64, math.MaxInt64} {
		if next, data := f.ScanDump(nil, iterator); next != 0 || len(data) != 0 {
			t.Errorf("ScanDump(%d): %d, %d bytes", iterator, next, len(data))
		}
	}
	g := must(bloom.NewCuckooFromHeader(header, bloom.CuckooConfig{Hash: f.Hash()}))
	blank := must(g.MarshalBinary())
	for _, c := range []struct {
		iterator int64
		data     []byte
	}{
		{0, first}, {-5, first}, {math.MinInt64, nil}, {n, first}, {n + 2, first}, {n + m + 2, second},
		{n + m + 1, append(bytes.Clone(first), second...)}, {math.MaxInt64, first}, {n + m + 100, second}, {n + m + 1, nil},
	} {
		if err := g.LoadChunk(c.iterator, c.data); !errors.Is(err, bloom.ErrBadDump) {
			t.Errorf("iterator %d with %d bytes: %v", c.iterator, len(c.data), err)
		}
	}
	if !bytes.Equal(must(g.MarshalBinary()), blank) {
		t.Error("a refused chunk has changed the filter")
	}
	for range 2 { // loading again changes nothing
		for at := range m {
			if err := g.LoadChunk(n+at+2, second[at:at+1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.LoadChunk(n+1, first); err != nil {
			t.Fatal(err)
		}
	}
	if !g.Equal(f) || g.Added() != 50 {
		t.Errorf("%d keys, or another filter", g.Added())
	}
	if i, j := f.Info(), g.Info(); i != j {
		t.Errorf("%+v, want %+v", j, i)
	}

	le := binary.LittleEndian
	for name, change := range map[string]func(b []byte) []byte{
		"a header of 37 bytes":   func(b []byte) []byte { return b[:37] },
		"a header of 39 bytes":   func(b []byte) []byte { return append(b, 0) },
		"0 sub-filters":          func(b []byte) []byte { le.PutUint64(b[24:], 0); return b },
		"65537 sub-filters":      func(b []byte) []byte { le.PutUint64(b[24:], 65537); return b },
		"0 buckets":              func(b []byte) []byte { le.PutUint64(b[8:], 0); return b },
		"15 buckets":             func(b []byte) []byte { le.PutUint64(b[8:], 15); return b },
		"72057594037927936 buck": func(b []byte) []byte { le.PutUint64(b[8:], 1<<56); return b },
		"buckets of 0":           func(b []byte) []byte { le.PutUint16(b[32:], 0); return b },
		"buckets of 256":         func(b []byte) []byte { le.PutUint16(b[32:], 256); return b },
		"0 iterations":           func(b []byte) []byte { le.PutUint16(b[34:], 0); return b },
		"expansion 0":            func(b []byte) []byte { le.PutUint16(b[36:], 0); return b },
		"expansion 3":            func(b []byte) []byte { le.PutUint16(b[36:], 3); return b },
		"expansion 65535":        func(b []byte) []byte { le.PutUint16(b[36:], 65535); return b },
		"of more than 2^56 buck": func(b []byte) []byte { le.PutUint64(b[24:], 4000); return b },
	} {
		g, err := bloom.NewCuckooFromHeader(change(bytes.Clone(header)), bloom.CuckooConfig{Reserve: func(uint64) error { return errors.New("asked") }})
		if g != nil || !errors.Is(err, bloom.ErrBadDump) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	big := bytes.Clone(header)
	le.PutUint64(big[8:], 1<<50)
	if g, err := bloom.NewCuckooFromHeader(big, bloom.CuckooConfig{}); g != nil || err == nil {
		t.Error("a petabyte was made")
	}
}

// TestCuckooDump: the numbers of a dump, for a filter small enough to check by hand.
func TestCuckooDump(t *testing.T) {
	f := newCuckoo(bloom.CuckooConfig{Capacity: 8, Expansion: 2, MaxIterations: 20})
	// Fingerprint 1: buckets 0 and 0x5bd1e995 mod 4 = 1.
	for range 3 {
		if err := f.AddHash(255 * 4); err != nil {
			t.Fatal(err)
		}
	}
	if !f.RemoveHash(255 * 4) {
		t.Error("it is not there")
	}
	header := []byte{2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 20, 0, 2, 0}
	if got := f.AppendHeader(nil); !bytes.Equal(got, header) {
		t.Errorf("header %v, want %v", got, header)
	}
	if got := tables(f); !bytes.Equal(got, []byte{0, 1, 1, 0, 0, 0, 0, 0}) {
		t.Errorf("table %v", got)
	}
}

func TestCuckooSecret(t *testing.T) {
	f := newCuckoo(bloom.CuckooConfig{Capacity: 100, Hash: bloom.SecretHash([16]byte{1, 2})})
	if err := f.Add([]byte("x")); err != nil {
		t.Fatal(err)
	}
	f.SetTag(7)
	b := must(f.MarshalBinary())
	var secret *bloom.SecretError
	if _, err := bloom.Decode(b, bloom.LoadOptions{}); !errors.As(err, &secret) {
		t.Errorf("without its secret: %v", err)
	}
	g := newCuckoo(bloom.CuckooConfig{Capacity: 1, Hash: f.Hash()})
	if err := g.UnmarshalBinary(b); err != nil || !g.Equal(f) || !g.Has([]byte("x")) || g.Tag() != 7 {
		t.Errorf("%v, or not equal", err)
	}
	h := new(bloom.Cuckoo)
	if n, err := h.ReadFrom(bytes.NewReader(must(newCuckoo(bloom.CuckooConfig{Capacity: 9}).MarshalBinary()))); err != nil || n == 0 {
		t.Error(err)
	}
	if err := h.Add([]byte("y")); err != nil || !h.Has([]byte("y")) {
		t.Errorf("a filter read into a zero value: %v", err)
	}
	if err := h.UnmarshalBinary(must(newBlocked().MarshalBinary())); err == nil {
		t.Error("a blocked filter is read as a cuckoo filter")
	}
}

func newBlocked() *bloom.Filter {
	return must(bloom.New(bloom.Config{Capacity: 10, ErrorRate: 0.1}))
}

// TestCuckooLarge: tables on pages of their own, and batches.
func TestCuckooLarge(t *testing.T) {
	f := newCuckoo(bloom.CuckooConfig{Capacity: 1 << 21})
	hs := filtertest.RandomHashes(3, 200_000)
	for _, h := range hs {
		if err := f.AddHash(h); err != nil {
			t.Fatal(err)
		}
	}
	found := make([]bool, len(hs))
	if n := f.HasHashes(found, hs); n != len(hs) || slices.Contains(found, false) {
		t.Errorf("%d of %d", n, len(hs))
	}
	f.Release()
}
