package redisbloom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"seen/internal/filtertest"
	"seen/sizing"

	"seen/internal/keyhash"
)

func newFilter(t testing.TB, c Config) *Filter {
	t.Helper()
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func encode(t interface{ Fatal(...any) }, f *Filter) []byte {
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMurmur32(t *testing.T) {
	counting := make([]byte, 100)
	for i := range counting {
		counting[i] = byte(i)
	}
	for key, want := range map[string]uint32{
		"": 0x106e08d9, "a": 0xa2d0b27c, "hello world": 0x48d0c363,
		string(counting): 0x298d3236, strings.Repeat("x", 300): 0x18059404,
	} {
		if got := keyhash.SumMurmur32([]byte(key), seed32); got != want {
			t.Errorf("%q: %08x, want %08x", key, got, want)
		}
	}
}

// TestProbes holds the positions against their definition.
func TestProbes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := link{modulus: rapid.Uint64Range(1, 1<<63).Draw(t, "modulus")}
		if rapid.Bool().Draw(t, "small") {
			l.modulus = l.modulus%1000 + 1
		}
		l.wrap = (math.MaxUint64%l.modulus + 1) % l.modulus
		h := Hash{rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")}
		p := l.probe(h)
		for i := range uint64(40) {
			if want := (h.A + i*h.B) % l.modulus; p.at != want {
				t.Fatalf("probe %d is %d, want %d", i, p.at, want)
			}
			p = l.advance(p)
		}
	})
}

// TestOldDumps asks filters of the early versions, whose lengths are powers of
// two and whose hashes may have 32 bits, and holds them against the definition.
func TestOldDumps(t *testing.T) {
	for _, c := range []struct {
		name    string
		options uint32
		power   uint8
		bytes   uint64
	}{
		{"32 bits", 0, 12, 512},
		{"32 bits in part of the array", noRound, 11, 512},
		{"32-bit hashes without a power of two", noRound, 0, 400},
		{"64 bits", force64, 12, 512},
		{"64 bits, 3 bytes", force64, 4, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shape{bytes: c.bytes, bits: 8 * c.bytes, errorRate: 0.1, bitsPerKey: 7 / ln2, hashes: 7, capacity: 500, power: c.power}
			s.hashes = uint32(math.Ceil(ln2 * s.bitsPerKey))
			f, err := FromHeader(header{c.options, 2, []shape{s}, []uint64{0}}.append(nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			modulus := new(big.Int).SetUint64(s.bits)
			if c.power != 0 {
				modulus.Lsh(big.NewInt(1), uint(c.power))
			}
			want := make([]byte, c.bytes)
			for i := range 100 {
				key := fmt.Appendf(nil, "key %d", i)
				h := f.Hash(key)
				if c.options&force64 == 0 {
					a := keyhash.SumMurmur32(key, 0x9747b28c)
					if h.A != uint64(a) || h.B != uint64(keyhash.SumMurmur32(key, a)) {
						t.Fatalf("hash %x of %q", h, key)
					}
				}
				if _, err := f.AddHash(h); err != nil {
					t.Fatal(err)
				}
				for j := range int64(s.hashes) {
					x := new(big.Int).Mul(big.NewInt(j), new(big.Int).SetUint64(h.B))
					x.Add(x, new(big.Int).SetUint64(h.A)).And(x, new(big.Int).SetUint64(math.MaxUint64))
					at := x.Mod(x, modulus).Uint64()
					want[at/8] |= 1 << (at % 8)
				}
			}
			if _, got := f.ScanDump(nil, 1); !bytes.Equal(got, want) {
				t.Error("the bits are not those of the definition")
			}
			// Growing keeps to the options; the dump of the result loads.
			for i := range 2000 {
				if _, err := f.Add(fmt.Appendf(nil, "more %d", i)); err != nil {
					t.Fatal(err)
				}
			}
			for i, l := range f.chain()[1:] {
				before := f.chain()[i]
				if rounded := c.options&noRound == 0; rounded != (l.power != 0) {
					t.Errorf("the new sub-filter has a length of %d, power %d", l.bits, l.power)
				}
				if most := uint64(float64(l.modulus) / l.bitsPerKey); l.capacity < 2*before.capacity || l.capacity > max(2*before.capacity, most) {
					t.Errorf("capacity %d after %d in %d bits", l.capacity, before.capacity, l.modulus)
				}
				if l.errorRate != before.errorRate/2 {
					t.Errorf("error rate %v after %v", l.errorRate, before.errorRate)
				}
			}
			if len(f.chain()) < 2 && c.bytes > 100 {
				t.Error("it did not grow")
			}
			g, err := Decode(encode(t, f), nil)
			if err != nil || !bytes.Equal(encode(t, g), encode(t, f)) {
				t.Errorf("the dump does not come back: %v", err)
			}
			if g, err = Restore(f.AppendDump(nil), nil); err != nil || !bytes.Equal(encode(t, g), encode(t, f)) {
				t.Errorf("the payload does not come back: %v", err)
			}
		})
	}
}

// TestModel plays random operations against a map, and every one of them also
// on a filter that is encoded and decoded on the way.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := New(Config{
			Capacity:  rapid.Uint64Range(1, 50).Draw(t, "capacity"),
			ErrorRate: rapid.Float64Range(1e-6, 0.9).Draw(t, "error rate"),
			Expansion: rapid.Uint32Range(0, 4).Draw(t, "expansion"),
		})
		if err != nil {
			t.Fatal(err)
		}
		g, err := f.Clone()
		if err != nil {
			t.Fatal(err)
		}
		model := map[Hash]bool{}
		hash := rapid.Custom(func(t *rapid.T) Hash {
			return f.Hash(fmt.Append(nil, rapid.IntRange(0, 300).Draw(t, "key")))
		})
		added := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				hs := rapid.SliceOfN(hash, 1, 150).Draw(t, "hashes")
				many := make([]bool, len(hs))
				done, errMany := f.AddHashes(many, hs)
				for i, h := range hs {
					before := g.HasHash(h)
					isNew, err := g.AddHash(h)
					if err != nil {
						if i != done || !errors.Is(err, ErrFull) || !errors.Is(errMany, ErrFull) || before {
							t.Fatalf("key %d of %d: %v; the batch ended at %d: %v", i, len(hs), err, done, errMany)
						}
						return
					}
					if i >= done || isNew != many[i] || isNew == before {
						t.Fatalf("key %d: new %v, the batch says %v, it was there: %v", i, isNew, many[i], before)
					}
					if isNew && model[h] {
						t.Fatal("a key that was added is said to be new")
					}
					model[h] = true
					if isNew {
						added++
					}
				}
				if errMany != nil {
					t.Fatalf("single calls went through, the batch: %v", errMany)
				}
			},
			"prepare": func(t *rapid.T) {
				n := rapid.Uint64Range(0, 200).Draw(t, "keys")
				ok, err := f.Prepare(n)
				if ok > n || (ok == n) != (err == nil) {
					t.Fatalf("%d of %d, %v", ok, n, err)
				}
			},
			"through bytes": func(t *rapid.T) {
				var err error
				if g, err = Decode(encode(t, g), nil); err != nil {
					t.Fatal(err)
				}
			},
			"clear": func(t *rapid.T) {
				f.Clear()
				g.Clear()
				clear(model)
				added = 0
			},
			"": func(t *rapid.T) {
				for h := range model {
					if !f.HasHash(h) || !g.HasHash(h) {
						t.Fatal("false negative")
					}
				}
				if f.Added() != added || g.Added() != added {
					t.Fatalf("%d and %d added, want %d", f.Added(), g.Added(), added)
				}
				a, b := encode(t, f), encode(t, g)
				if !bytes.Equal(a, b) {
					t.Fatal("batches and single calls leave different filters")
				}
			},
		})
	})
}

func TestErrorRate(t *testing.T) {
	const capacity, rate, trials = 20_000, 0.01, 200_000
	for _, expansion := range []uint32{0, 2} {
		f := newFilter(t, Config{Capacity: capacity, ErrorRate: rate, Expansion: expansion})
		for i := range capacity {
			if _, err := f.Add(fmt.Append(nil, i)); err != nil && !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
		}
		wrong := 0
		for i := range trials {
			if f.Has(fmt.Append(nil, capacity+i)) {
				wrong++
			}
		}
		// The classic formula for what is in the one sub-filter. Keys that were wrongly
		// found when they were added are not in it, hence Added.
		l := f.chain()[0]
		k, m := float64(l.hashes), float64(l.bits)
		want := math.Pow(1-math.Exp(-k*float64(f.Added())/m), k)
		params := sizing.Params{Shape: sizing.Classic, M: l.bits, K: int(l.hashes)}
		low, high := filtertest.Limits(trials, want, filtertest.Spread(params, f.Added()), 2)
		if len(f.chain()) != 1 || want > rate || wrong > high || wrong < low {
			t.Errorf("expansion %d: %d wrong answers of %d, not between %d and %d", expansion, wrong, trials, low, high)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		config Config
		text   string
	}{
		{Config{ErrorRate: 0.1}, "capacity is 0"},
		{Config{Capacity: 1}, "error rate 0; give a number between 0 and 1"},
		{Config{Capacity: 1, ErrorRate: 1}, "error rate 1; give"},
		{Config{Capacity: 1, ErrorRate: math.NaN()}, "error rate NaN; give"},
		{Config{Capacity: 1 << 60, ErrorRate: 0.1}, "more than the limit of 35184372088832; lower"},
	} {
		if f, err := New(c.config); err == nil || f != nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.text)
		}
	}
}

// TestFull: a filter that does not grow takes its capacity, and answers for what
// is there also when it is full.
func TestFull(t *testing.T) {
	f := newFilter(t, Config{Capacity: 100, ErrorRate: 1e-9})
	if ok, err := f.Prepare(150); ok != 100 || !errors.Is(err, ErrFull) {
		t.Errorf("Prepare: %d, %v", ok, err)
	}
	for i := range 100 {
		if isNew, err := f.Add(fmt.Append(nil, i)); !isNew || err != nil {
			t.Fatal(i, isNew, err)
		}
	}
	if isNew, err := f.Add([]byte("5")); isNew || err != nil {
		t.Errorf("a key that is there: %v, %v", isNew, err)
	}
	before := encode(t, f)
	if isNew, err := f.Add([]byte("new")); isNew || !errors.Is(err, ErrFull) || !bytes.Equal(encode(t, f), before) {
		t.Errorf("a new key: %v, %v, or it changed the filter", isNew, err)
	}
	hs := []Hash{f.Hash([]byte("7")), f.Hash([]byte("new")), f.Hash([]byte("8"))}
	if done, err := f.AddHashes(make([]bool, 3), hs); done != 1 || !errors.Is(err, ErrFull) {
		t.Errorf("a batch: %d, %v", done, err)
	}
	if f.Info().Scaling || f.Info().Expansion != 0 {
		t.Errorf("%+v", f.Info())
	}
}

// TestCannotGrow: at expansion 1 the error rate is halved until it is 0.
func TestCannotGrow(t *testing.T) {
	f := newFilter(t, Config{Capacity: 1, ErrorRate: 0.0001, Expansion: 1})
	if ok, err := f.Prepare(2000); ok != 1061 || !errors.Is(err, ErrGrow) {
		t.Fatalf("%d sub-filters, %v", ok, err)
	}
	var err error
	for i := 0; err == nil && i < 1_000_000; i++ {
		_, err = f.Add(fmt.Append(nil, i))
	}
	if !errors.Is(err, ErrGrow) || len(f.Info().Filters) != 1061 {
		t.Errorf("%d sub-filters, %v", len(f.Info().Filters), err)
	}
	g, err := Decode(encode(t, f), nil)
	if err != nil || !bytes.Equal(encode(t, g), encode(t, f)) {
		t.Errorf("the dump does not come back: %v", err)
	}
}

var errTooMuch = errors.New("too much")

// atMost returns a Reserve function that grants n bytes in all.
func atMost(n uint64) func(bytes uint64) error {
	return func(bytes uint64) error {
		if bytes > n {
			return errTooMuch
		}
		n -= bytes
		return nil
	}
}

// TestReserve: memory that is refused leaves everything as it is, and what was
// granted is what Bytes says.
func TestReserve(t *testing.T) {
	if f, err := New(Config{Capacity: 1 << 30, ErrorRate: 1e-300, Reserve: atMost(1 << 20)}); f != nil || !errors.Is(err, errTooMuch) {
		t.Errorf("190 GB: %v", err)
	}
	granted := uint64(0)
	limit := uint64(1 << 20)
	f := newFilter(t, Config{Capacity: 10, ErrorRate: 0.01, Expansion: 2, Reserve: func(bytes uint64) error {
		if granted+bytes > limit {
			return errTooMuch
		}
		granted += bytes
		return nil
	}})
	i := 0
	for ; i < 1_000_000; i++ {
		before := f.Added()
		if isNew, err := f.Add(fmt.Append(nil, i)); err != nil {
			if !errors.Is(err, errTooMuch) || isNew || f.Added() != before || f.Has(fmt.Append(nil, i)) {
				t.Fatalf("%v, or something changed", err)
			}
			break
		}
		if f.Bytes() != granted {
			t.Fatalf("%d bytes, %d were granted", f.Bytes(), granted)
		}
	}
	if i < 10_000 || i == 1_000_000 {
		t.Errorf("it took %d keys", i)
	}
	if ok, err := f.Prepare(1); ok != 0 || !errors.Is(err, errTooMuch) {
		t.Errorf("Prepare: %d, %v", ok, err)
	}
	b := encode(t, f)
	if g, err := Decode(b, atMost(f.Bytes()-1)); g != nil || !errors.Is(err, errTooMuch) {
		t.Errorf("decoding with a byte too few: %v", err)
	}
	if g, err := Decode(b, atMost(f.Bytes())); g == nil || err != nil || g.Bytes() != f.Bytes() {
		t.Errorf("decoding: %v", err)
	}
	limit = math.MaxUint64
	if ok, err := f.Prepare(500_000); ok != 500_000 || err != nil || f.Bytes() != granted {
		t.Fatalf("Prepare: %d, %v; %d bytes, %d were granted", ok, err, f.Bytes(), granted)
	}
	f.SetReserve(atMost(0))
	for range 500_000 {
		if _, err := f.Add(fmt.Append(nil, i)); err != nil {
			t.Fatalf("a key that Prepare has made room for: %v", err)
		}
		i++
	}
}

// TestConcurrent asks for keys while one goroutine adds; a key whose addition
// has ended must be there, however the filter has grown.
func TestConcurrent(t *testing.T) {
	f := newFilter(t, Config{Capacity: 10, ErrorRate: 0.01, Expansion: 2})
	const keys = 20_000
	hs := make([]Hash, keys)
	for i := range hs {
		hs[i] = f.Hash(fmt.Append(nil, i))
	}
	var added atomic.Int64
	var wg sync.WaitGroup
	for r := range 3 {
		wg.Go(func() {
			found := make([]bool, 100)
			for n := 0; n < keys; {
				n = int(added.Load())
				from := max(0, n-100)
				if r == 0 {
					f.Info()
					_, header := f.ScanDump(nil, 0)
					if _, err := parseHeader(header); err != nil {
						t.Error(err)
						return
					}
					f.ScanDump(nil, 1)
				}
				if got := f.HasHashes(found[:n-from], hs[from:n]); got != n-from {
					t.Errorf("%d of the keys %d to %d are there", got, from, n)
					return
				}
				if n > 0 && !f.HasHash(hs[n*7919%n]) {
					t.Errorf("a key is missing")
					return
				}
			}
		})
	}
	for i, h := range hs {
		if _, err := f.AddHash(h); err != nil {
			t.Error(err)
		}
		added.Store(int64(i) + 1)
	}
	wg.Wait()
}

func TestLoadChunk(t *testing.T) {
	f := newFilter(t, Config{Capacity: 10, ErrorRate: 0.01, Expansion: 2})
	for i := range 25 {
		if _, err := f.Add(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	g, err := FromHeader(f.AppendHeader(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, first := f.ScanDump(nil, 1)
	_, second := f.ScanDump(nil, 1+int64(len(first)))
	n, m := int64(len(first)), int64(len(second))
	empty := encode(t, g)
	for _, c := range []struct {
		iterator int64
		data     []byte
		want     error
	}{
		{0, first, ErrBadData}, {-1, first, ErrBadData}, {math.MinInt64, nil, ErrBadData}, {n - 1, first, ErrBadData},
		{0, nil, ErrBadData},
		{n, first, ErrNoLink},
		{n + m + 2, second[:1], ErrNoLink}, {math.MaxInt64, first, ErrNoLink}, {n + m + 1, nil, ErrNoLink},
		{n + 2, first, ErrTooBig}, {n + m + 2, second, ErrTooBig}, {n + m + 1, append(bytes.Clone(first), second...), ErrTooBig},
	} {
		if err := g.LoadChunk(c.iterator, c.data); !errors.Is(err, c.want) {
			t.Errorf("iterator %d with %d bytes: %v, want %v", c.iterator, len(c.data), err, c.want)
		}
	}
	if !bytes.Equal(encode(t, g), empty) {
		t.Error("a refused chunk has changed the filter")
	}
	// Any pieces, in any order, at any offset.
	body := append(bytes.Clone(first), second...)
	for at := len(body); at > 0; {
		size := min(5, at)
		if int64(at) > n {
			size = min(size, at-int(n))
		}
		if err := g.LoadChunk(int64(at)+1, body[at-size:at]); err != nil {
			t.Fatal(err)
		}
		at -= size
	}
	if !bytes.Equal(encode(t, g), encode(t, f)) {
		t.Error("the chunks make another filter")
	}
	for iterator := range n + m + 4 {
		next, data := f.ScanDump(nil, iterator)
		want := int64(0)
		switch {
		case iterator == 0:
			want = 1
		case iterator <= n:
			want = n + 1
		case iterator <= n+m:
			want = n + m + 1
		}
		if next != want || iterator > 0 && (next != 0 && int64(len(data)) != next-iterator || next == 0 && len(data) != 0) {
			t.Errorf("ScanDump(%d): %d and %d bytes, want %d", iterator, next, len(data), want)
		}
	}
	for _, iterator := range []int64{-1, math.MinInt64, math.MaxInt64} {
		if next, data := f.ScanDump(nil, iterator); next != 0 || len(data) != 0 {
			t.Errorf("ScanDump(%d): %d, %d bytes", iterator, next, len(data))
		}
	}
}

func TestHeaderRefusals(t *testing.T) {
	f := newFilter(t, Config{Capacity: 10, ErrorRate: 0.01, Expansion: 2})
	if _, err := f.Prepare(25); err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		if _, err := f.Add(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	good := f.AppendHeader(nil)
	le := binary.LittleEndian
	for _, c := range []struct {
		text   string
		change func(b []byte) []byte
	}{
		{"a header of 19 bytes", func(b []byte) []byte { return b[:19] }},
		{"a header of 125 bytes that needs 126", func(b []byte) []byte { return b[:len(b)-1] }},
		{"a header of 127 bytes that needs 126", func(b []byte) []byte { return append(b, 0) }},
		{"0 sub-filters", func(b []byte) []byte { le.PutUint32(b[8:], 0); return b[:20] }},
		{"4294967295 sub-filters", func(b []byte) []byte { le.PutUint32(b[8:], math.MaxUint32); return b }},
		{"options 0x15", func(b []byte) []byte { b[12] |= 16; return b }},
		{"25 keys in the filter, 26 in its sub-filters", func(b []byte) []byte { b[20+16]++; return b }},
		{"more than 64 bits can count", func(b []byte) []byte {
			le.PutUint64(b[20+16:], math.MaxUint64)
			return b
		}},
		{"error rate 0", func(b []byte) []byte { le.PutUint64(b[20+24:], 0); return b }},
		{"error rate 1", func(b []byte) []byte { le.PutUint64(b[20+24:], math.Float64bits(1)); return b }},
		{"error rate NaN", func(b []byte) []byte { le.PutUint64(b[20+24:], math.Float64bits(math.NaN())); return b }},
		{"2^64 bits in use", func(b []byte) []byte { b[20+52] = 64; return b }},
		{"2^8 bits in use of 128", func(b []byte) []byte { b[20+52] = 8; le.PutUint64(b[20:], 16); le.PutUint64(b[28:], 128); return b }},
		{"0 bits in 0 bytes", func(b []byte) []byte { le.PutUint64(b[20:], 0); le.PutUint64(b[28:], 0); return b }},
		{"bits in", func(b []byte) []byte { b[28]++; return b }},
		{"bits in 2305843009213693967 bytes", func(b []byte) []byte { le.PutUint64(b[20:], 1<<61+le.Uint64(b[20:])-1); return b }},
		{"more than the limit", func(b []byte) []byte {
			le.PutUint64(b[20:], 1<<50)
			le.PutUint64(b[28:], 1<<53)
			return b
		}},
		{"the arrays take more than", func(b []byte) []byte {
			for _, at := range []int{20, 73} {
				le.PutUint64(b[at:], maxBytes)
				le.PutUint64(b[at+8:], maxBytes*8)
			}
			return b
		}},
		{"9 hashes for", func(b []byte) []byte { b[20+40]++; return b }},
		{"0 hashes for 0 bits per key", func(b []byte) []byte { le.PutUint64(b[20+32:], 0); b[20+40] = 0; return b }},
		{"8 hashes for NaN", func(b []byte) []byte { le.PutUint64(b[20+32:], math.Float64bits(math.NaN())); return b }},
		{"1000001 hashes", func(b []byte) []byte {
			le.PutUint64(b[20+32:], math.Float64bits(1_000_000.5/ln2))
			le.PutUint32(b[20+40:], 1_000_001)
			return b
		}},
	} {
		b := c.change(bytes.Clone(good))
		f, err := FromHeader(b, atMost(0))
		if f != nil || !errors.Is(err, ErrBadData) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want %q", err, c.text)
		}
	}
	if _, err := FromHeader(good, nil); err != nil {
		t.Error(err)
	}
}
