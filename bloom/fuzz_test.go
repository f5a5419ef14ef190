package bloom_test

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/internal/frame"
)

// encodings returns an encoded filter of every type and state, with few keys.
func encodings(t testing.TB) (all [][]byte) {
	t.Helper()
	hs := filtertest.RandomHashes(1, 300)
	c := bloom.Config{Capacity: 40, ErrorRate: 0.1}
	later := time.Unix(2e9, 0)
	shortBudget := bloom.AdaptiveConfig{MaxBytes: 4096, ErrorRate: 0.1}
	secret := bloom.SecretHash([16]byte{1})
	views := []bloom.View{
		must(bloom.NewClassic(c)),
		must(bloom.NewClassic(bloom.Config{Capacity: 40, ErrorRate: 0.1, Hash: secret})),
		must(bloom.New(c)),
		must(bloom.NewPartitioned(c)),
		must(bloom.NewCounting(c)),
		must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 10, ErrorRate: 0.1})),
		must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 10, ErrorRate: 0.1, MaxBytes: 1000, Overfill: true})),
		must(bloom.NewWindow(bloom.WindowConfig{SpanKeys: 50, ErrorRate: 0.1, Generations: 3})),
		must(bloom.NewWindow(bloom.WindowConfig{Span: time.Hour, Capacity: 30, ErrorRate: 0.1, Generations: 2, Clock: func() time.Time {
			later = later.Add(time.Minute)
			return later
		}})),
		must(bloom.NewCascade(bloom.CascadeConfig{Capacity: 10, ErrorRate: 0.1, Levels: 2})),
		must(bloom.NewAdaptive(bloom.AdaptiveConfig{})),
		must(bloom.NewAdaptive(shortBudget)),
		must(bloom.NewStatic(bloom.StaticConfig{Bits: 8})),
		must(bloom.NewStatic(bloom.StaticConfig{Bits: 8, Hashes: hs[:30]})),
		must(bloom.NewStatic(bloom.StaticConfig{Bits: 16, Hashes: hs[:30]})),
		must(bloom.NewStatic(bloom.StaticConfig{Bits: 32, Hashes: hs[:30]})),
	}
	grown := newCuckoo(bloom.CuckooConfig{Capacity: 40, BucketSize: 3, Expansion: 1, Hash: bloom.Hash{Algorithm: bloom.Murmur64A}})
	for _, h := range hs {
		if err := grown.AddHash(h); err != nil {
			t.Fatal(err)
		}
	}
	views = append(views, newCuckoo(bloom.CuckooConfig{Capacity: 10}), grown)
	for _, v := range views {
		b := must(v.AppendBinary(nil))
		all = append(all, b)
		if s, ok := v.(bloom.Set); ok {
			s.AddHashes(nil, hs)
			all = append(all, must(v.AppendBinary(nil)))
		}
	}
	return all
}

// seal makes the checksums of a frame right, as far as its lengths are.
func seal(b []byte) {
	const state, stateEnd, chunk = frame.StateOffset, frame.StateOffset + frame.StateSize, frame.ChunkSize
	le := binary.LittleEndian
	n, err := frame.HeaderLength(b)
	if err != nil || len(b) < n {
		return
	}
	crc := crc32.Update(crc32.ChecksumIEEE(b[:state]), crc32.IEEETable, make([]byte, frame.StateSize))
	le.PutUint32(b[n-4:], crc32.Update(crc, crc32.IEEETable, b[stateEnd:n-4]))
	h, err := frame.ParseHeader(b)
	if err != nil {
		return
	}
	l, err := h.Layout()
	if err != nil || l.Total != uint64(len(b)) {
		return
	}
	table := b[l.BodyEnd:]
	for i := 0; n < int(l.BodyEnd); i++ {
		end := min(n+chunk, int(l.BodyEnd))
		le.PutUint32(table[4*i:], crc32.ChecksumIEEE(b[n:end]))
		n = end
	}
	le.PutUint32(table[len(table)-4:], crc32.ChecksumIEEE(table[:len(table)-4]))
}

func heapAllocs() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// FuzzDecode decodes bytes, as they are and with their checksums made right: the
// result is a filter or an error that says what is wrong, at the price of some
// memory for each byte. A filter answers, takes keys, and is written as a frame
// that makes the same filter.
func FuzzDecode(f *testing.F) {
	for _, b := range encodings(f) {
		f.Add(b, false)
		f.Add(b, true)
		f.Add(b[:len(b)-3], true)
	}
	f.Add([]byte("not a frame"), false)
	hs := filtertest.RandomHashes(1, 100)
	hs = append(hs, 0, 1, 1<<63, 1<<64-1)
	options := bloom.LoadOptions{Inspect: true, Clock: func() time.Time { return time.Unix(2e9, 0) }}
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			b = bytes.Clone(b)
			seal(b)
		}
		before := heapAllocs()
		v, err := bloom.Decode(b, options)
		if n := heapAllocs() - before; n > 2<<20+8*uint64(len(b)) {
			t.Fatalf("decoding %d bytes allocated %d", len(b), n)
		}
		again, errAgain := bloom.Read(bytes.NewReader(b), options)
		if (err == nil) != (errAgain == nil) {
			t.Fatalf("Decode says %v, Read says %v", err, errAgain)
		}
		if err != nil {
			if v != nil || again != nil {
				t.Fatalf("a filter and an error, %v", err)
			}
			var corrupt *bloom.CorruptError
			if !errors.As(err, &corrupt) && err.Error() == "" {
				t.Fatal("an error without a text")
			}
			return
		}
		exercise(t, v, hs, options)
	})
}

// exercise uses a decoded filter in every way that must not fail.
func exercise(t *testing.T, v bloom.View, hs []uint64, o bloom.LoadOptions) {
	v.Stats()
	found := make([]bool, len(hs))
	v.HasHashes(found, hs)
	if i := slices.IndexFunc(hs, v.HasHash); i >= 0 && !found[i] {
		t.Fatalf("HasHash and HasHashes differ for %x", hs[i])
	}
	b, err := v.AppendBinary(nil)
	if err != nil {
		t.Fatalf("a decoded filter cannot be encoded: %v", err)
	}
	w, err := bloom.Decode(b, o)
	if err != nil {
		t.Fatalf("an encoded filter cannot be decoded: %v", err)
	}
	if c := must(w.AppendBinary(nil)); !bytes.Equal(b, c) {
		t.Fatal("decoding and encoding again changes the bytes")
	}
	if s, ok := v.(bloom.Set); ok {
		for i, h := range hs {
			if found[i] && s.AddHash(h) {
				t.Fatalf("hash %x was there and is new", h)
			}
		}
		s.AddHashes(found, hs)
	}
	if f, ok := v.(*bloom.Cuckoo); ok {
		exerciseCuckoo(t, f, hs)
	}
}

// exerciseCuckoo changes a cuckoo filter that was decoded or loaded.
func exerciseCuckoo(t *testing.T, f *bloom.Cuckoo, hs []uint64) {
	f.SetReserve(func(bytes uint64) error {
		if bytes > 1<<20 {
			return errors.New("too much")
		}
		return nil
	})
	for i, h := range hs {
		if err := f.AddHash(h); err == nil && !f.HasHash(h) {
			t.Fatalf("hash %x was added and is not there", h)
		} else if err == nil && i%2 == 0 && !f.RemoveHash(h) {
			t.Fatalf("hash %x was added and cannot be removed", h)
		}
	}
	f.Compact()
	if ones := f.Stats().Ones; ones != f.Added() {
		t.Fatalf("%d slots are in use, %d were added", ones, f.Added())
	}
	v, err := bloom.Decode(must(f.MarshalBinary()), bloom.LoadOptions{Inspect: true})
	if err != nil {
		t.Fatal(err)
	}
	if !v.(*bloom.Cuckoo).Equal(f) && f.Hash().Algorithm != bloom.SipHash {
		t.Fatal("decoding makes another filter")
	}
}

// FuzzCuckooChunks makes a filter of a header, and throws a chunk at it.
func FuzzCuckooChunks(f *testing.F) {
	hs := filtertest.RandomHashes(1, 100)
	g := newCuckoo(bloom.CuckooConfig{Capacity: 40, BucketSize: 3, Expansion: 2})
	for _, h := range hs {
		if err := g.AddHash(h); err != nil {
			f.Fatal(err)
		}
	}
	next, chunk := g.ScanDump(nil, 1)
	f.Add(g.AppendHeader(nil), next, chunk)
	f.Add(g.AppendHeader(nil), next-1, chunk)
	f.Add(g.AppendHeader(nil), next+1, chunk)
	f.Add(g.AppendHeader(nil), int64(1)<<62, []byte{1})
	f.Fuzz(func(t *testing.T, header []byte, iterator int64, data []byte) {
		errNo := errors.New("too much")
		g, err := bloom.NewCuckooFromHeader(header, bloom.CuckooConfig{Reserve: func(bytes uint64) error {
			if bytes > 1<<20 {
				return errNo
			}
			return nil
		}})
		if (g == nil) == (err == nil) {
			t.Fatalf("%v and %v", g, err)
		}
		if err != nil {
			return
		}
		before := tables(g)
		err = g.LoadChunk(iterator, data)
		if after := tables(g); err != nil && (!errors.Is(err, bloom.ErrBadDump) || !bytes.Equal(before, after)) {
			t.Fatalf("%v, or the tables changed", err)
		} else if err == nil && g.Added() > 0 && !bytes.Equal(after[iterator-1-int64(len(data)):iterator-1], data) {
			t.Fatal("the chunk is not where it belongs")
		}
		exerciseCuckoo(t, g, hs)
	})
}

// TestDecodeIntoOtherTypes feeds every type the encodings of all others.
func TestDecodeIntoOtherTypes(t *testing.T) {
	for _, b := range encodings(t) {
		taken := 0
		for _, f := range []encoding.BinaryUnmarshaler{
			new(bloom.Classic), new(bloom.Filter), new(bloom.Partitioned), new(bloom.Counting), new(bloom.Scalable),
			new(bloom.Window), new(bloom.Cascade), new(bloom.Adaptive), new(bloom.Static), new(bloom.Cuckoo),
		} {
			if f.UnmarshalBinary(b) == nil {
				taken++
			}
		}
		if h, _ := frame.ParseHeader(b); h.HashAlgorithm != uint8(bloom.SipHash) && taken != 1 || h.HashAlgorithm == uint8(bloom.SipHash) && taken != 0 {
			t.Errorf("%v: %d types take it", h.Type, taken)
		}
	}
}
