package sketch

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/internal/frame"
)

// anySketch is what the codec of each type offers.
type anySketch interface {
	encoder
	Hash() bloom.Hash
	encoding.BinaryAppender
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	io.WriterTo
	io.ReaderFrom
}

// sample is a sketch with an empty one of the same type and hash to read it into.
type sample struct {
	name         string
	full, blank  anySketch
	equal        func() bool // full and blank
	blankIsClean func() bool
}

func sampleOf[S any, P interface {
	*S
	anySketch
	Equal(*S) bool
}](name string, full, blank P) sample {
	clean := must(blank.MarshalBinary())
	return sample{name, full, blank, func() bool { return full.Equal(blank) }, func() bool { return bytes.Equal(must(blank.MarshalBinary()), clean) }}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// encoded returns the header and the bytes of the part of a sketch.
func encoded(s encoder) (frame.Header, []byte) {
	h, body, tail := s.encode()
	return h, slices.Concat(body, tail)
}

// samples returns sketches of every type and form.
func samples(t testing.TB) []sample {
	var all []sample
	for name, hash := range map[string]bloom.Hash{"xxh3": {Seed: 12345}, "siphash": bloom.SecretHash([16]byte{1, 2, 3})} {
		// What is read replaces the seed of the receiver, but needs its secret.
		blankHash := hash
		if hash.Algorithm == bloom.XXH3 {
			blankHash.Seed = 1
		}
		for _, conservative := range []bool{false, true} {
			s := newCountMin(t, CountMinConfig{Width: 1000, Depth: 3, Conservative: conservative, Hash: hash})
			for i, h := range filtertest.RandomHashes(2, 2000) {
				s.AddHash(h, uint64(i))
			}
			all = append(all, sampleOf("count-min "+name, s, newCountMin(t, CountMinConfig{Width: 5, Depth: 1, Hash: blankHash})))
		}
		stuck := newCountMin(t, CountMinConfig{Width: 2, Depth: 2, Hash: hash})
		stuck.AddString("a", math.MaxUint64)
		stuck.AddString("b", 1)
		all = append(all, sampleOf("stuck count-min "+name, stuck, newCountMin(t, CountMinConfig{Width: 2, Depth: 2, Hash: blankHash})))
		for form, n := range map[string]int{"empty ": 0, "": 5000} {
			small := newCountMin32(t, CountMin32Config{Width: 33, Depth: 3, Hash: hash})
			top := newTopK(t, TopKConfig{K: 10, Width: 20, Depth: 2, Hash: hash, Seed: 3})
			for i, h := range filtertest.RandomHashes(2, n) {
				small.AddHash(h%100, uint64(i))
				top.Add(binary.AppendUvarint(nil, h%100))
			}
			all = append(all,
				sampleOf(form+"count-min-32 "+name, small, newCountMin32(t, CountMin32Config{Width: 5, Depth: 1, Hash: blankHash})),
				sampleOf(form+"top-k "+name, top, newTopK(t, TopKConfig{K: 1, Hash: blankHash})))
		}
		for form, n := range map[string]int{"empty ": 0, "exact ": 128, "dense ": 129} {
			log := newHyperLogLog(t, 10, hash)
			fm := newFlajoletMartin(t, 64, hash)
			for _, h := range filtertest.RandomHashes(3, n) {
				log.AddHash(h)
				fm.AddHash(h)
			}
			all = append(all,
				sampleOf(form+"hyperloglog "+name, log, newHyperLogLog(t, 4, blankHash)),
				sampleOf(form+"flajolet-martin "+name, fm, newFlajoletMartin(t, 1, blankHash)))
		}
		for maps := 1; maps <= 4; maps *= 2 {
			fm := newFlajoletMartin(t, maps, hash)
			fm.AddHash(0) // the highest bit
			all = append(all, sampleOf("small flajolet-martin "+name, fm, newFlajoletMartin(t, 8, blankHash)))
		}
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	for _, s := range samples(t) {
		b, err := s.full.MarshalBinary()
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		appended, err := s.full.AppendBinary([]byte("before"))
		if err != nil || string(appended) != "before"+string(b) {
			t.Errorf("%s: AppendBinary differs from MarshalBinary: %v", s.name, err)
		}
		var w bytes.Buffer
		if n, err := s.full.WriteTo(&w); err != nil || n != int64(len(b)) || !bytes.Equal(w.Bytes(), b) {
			t.Errorf("%s: WriteTo: %d bytes, %v; or not those of MarshalBinary", s.name, n, err)
		}
		if err := s.blank.UnmarshalBinary(b); err != nil || s.blank.Hash() != s.full.Hash() || !s.equal() {
			t.Errorf("%s: UnmarshalBinary: %v, or not equal", s.name, err)
		}
		again, err := s.blank.MarshalBinary()
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: written again it differs: %v", s.name, err)
		}
		clear(b) // what was read does not use it
		if !s.equal() {
			t.Errorf("%s: shares memory with the bytes it was read from", s.name)
		}
	}
	for _, s := range samples(t) {
		b, err := s.full.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.blank.ReadFrom(iotest.HalfReader(bytes.NewReader(b))); err != nil || n != int64(len(b)) || !s.equal() {
			t.Errorf("%s: ReadFrom: %d bytes, %v; or not equal", s.name, n, err)
		}
	}
}

func TestDamageIsFound(t *testing.T) {
	for _, s := range samples(t) {
		b, err := s.full.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, b []byte, want error) {
			t.Helper()
			err := s.blank.UnmarshalBinary(b)
			_, streamErr := s.blank.ReadFrom(bytes.NewReader(b))
			for _, err := range []error{err, streamErr} {
				var damage *bloom.CorruptError
				if want == nil && !errors.As(err, &damage) || want != nil && !errors.Is(err, want) {
					t.Errorf("%s, %s: %v, want %v", s.name, what, err, want)
				}
			}
			if !s.blankIsClean() {
				t.Fatalf("%s, %s: the receiver changed", s.name, what)
			}
		}
		check("foreign", []byte("hello, this is not a sketch"), frame.ErrNotFrame)
		check("empty", nil, frame.ErrTruncated)
		check("one byte short", b[:len(b)-1], frame.ErrTruncated)
		check("header only", b[:4096], frame.ErrTruncated)
		check("one byte long", append(bytes.Clone(b), 0), frame.ErrOversized)
		for at := 8; at < len(b); at += 131 {
			damaged := bytes.Clone(b)
			damaged[at] ^= 0x10
			check("bit flip", damaged, nil)
		}
		failing := errors.New("disk on fire")
		for _, n := range []int{100, len(b) - 50, len(b)} {
			r := io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(failing))
			if _, err := s.blank.ReadFrom(r); !errors.Is(err, failing) || !s.blankIsClean() {
				t.Errorf("%s: the error of the reader after %d bytes becomes %v", s.name, n, err)
			}
		}
	}
}

func TestOtherTypesAreRefused(t *testing.T) {
	for _, c := range []struct {
		from, into anySketch
		text       string
	}{
		{newHyperLogLog(t, 4, bloom.Hash{}), newCountMin(t, CountMinConfig{Width: 2, Depth: 2}), "the bytes hold a hyperloglog, not a count-min"},
		{newFlajoletMartin(t, 4, bloom.Hash{}), newHyperLogLog(t, 4, bloom.Hash{}), "the bytes hold a flajolet-martin, not a hyperloglog"},
		{newCountMin(t, CountMinConfig{Width: 2, Depth: 2}), newFlajoletMartin(t, 4, bloom.Hash{}), "the bytes hold a count-min, not a flajolet-martin"},
	} {
		b, err := c.from.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.into.UnmarshalBinary(b); err == nil || err.Error() != c.text {
			t.Errorf("%v, want %q", err, c.text)
		}
	}
}

func TestZeroValuesCanBeReadInto(t *testing.T) {
	for _, s := range samples(t) {
		b, err := s.full.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var zero anySketch
		switch s.full.(type) {
		case *CountMin:
			zero = new(CountMin)
		case *HyperLogLog:
			zero = new(HyperLogLog)
		case *FlajoletMartin:
			zero = new(FlajoletMartin)
		case *CountMin32:
			zero = new(CountMin32)
		case *TopK:
			zero = new(TopK)
		}
		err = zero.UnmarshalBinary(b)
		if s.full.Hash().Algorithm == bloom.XXH3 {
			if again, _ := zero.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
				t.Errorf("%s: %v, or not the same", s.name, err)
			}
		} else if missing := new(bloom.SecretError); !errors.As(err, &missing) || missing.KeyID != s.full.Hash().KeyID() || missing.Given {
			t.Errorf("%s: %v, want a SecretError", s.name, err)
		}
	}
}

func TestSecretIsNeededAndNotInTheBytes(t *testing.T) {
	secret := [16]byte{0xde, 0xad, 0xbe, 0xef, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	s := newHyperLogLog(t, 4, bloom.SecretHash(secret))
	s.AddString("a")
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, secret[:4]) {
		t.Error("the bytes contain the secret")
	}
	for _, hash := range []bloom.Hash{{}, bloom.SecretHash([16]byte{1})} {
		into := newHyperLogLog(t, 4, hash)
		err := into.UnmarshalBinary(b)
		var wrong *bloom.SecretError
		if !errors.As(err, &wrong) || wrong.Given != (hash != bloom.Hash{}) || !strings.Contains(err.Error(), "key id ") || into.Cardinality() != 0 {
			t.Errorf("into %v: %v", hash, err)
		}
	}
	into := newHyperLogLog(t, 4, bloom.SecretHash(secret))
	if err := into.UnmarshalBinary(b); err != nil || into.AddString("a") {
		t.Errorf("with the secret: %v, or the key is not known", err)
	}
}

// TestImpossibleContents changes frames that are whole to what no writer makes.
func TestImpossibleContents(t *testing.T) {
	count := newCountMin(t, CountMinConfig{Width: 4, Depth: 2})
	count.AddHash(1, 10)
	conservative := newCountMin(t, CountMinConfig{Width: 4, Depth: 2, Conservative: true})
	conservative.AddHash(1, 10)
	exact := newHyperLogLog(t, 5, bloom.Hash{})
	exact.AddHash(1)
	exact.AddHash(2)
	dense := newHyperLogLog(t, 5, bloom.Hash{})
	for h := range uint64(5) {
		dense.AddHash(h << 50)
	}
	fm := newFlajoletMartin(t, 4, bloom.Hash{})
	fm.AddHash(1)
	count32 := newCountMin32(t, CountMin32Config{Width: 5, Depth: 1})
	count32.AddHash(1, 10)
	top := newTopK(t, TopKConfig{K: 2, Width: 16, Depth: 1})
	top.Incr([]byte("bb"), 5) // at byte 145, the other at byte 128
	top.Incr([]byte("a"), 7)
	put := func(b []byte, at int, v uint64) { binary.LittleEndian.PutUint64(b[8*at:], v) }
	for _, c := range []struct {
		s      anySketch
		text   string
		change func(h *frame.Header, body []byte) []byte
	}{
		{count, "8 counters with width 5 and depth 2", func(h *frame.Header, b []byte) []byte { h.Fields[0] = 5; return b }},
		{count, "8 counters with width 0 and depth 2", func(h *frame.Header, b []byte) []byte { h.Fields[0] = 0; return b }},
		{count, "8 counters with width 4 and depth 0", func(h *frame.Header, b []byte) []byte { h.Fields[1] = 0; return b }},
		{count, "depth 9223372036854775810", func(h *frame.Header, b []byte) []byte { h.Fields[1] = 1<<63 + 2; return b }},
		{count, "width 4611686018427387908", func(h *frame.Header, b []byte) []byte { h.Fields[0] = 1<<62 + 4; return b }},
		{count, "66 counters with width 2 and depth 33", func(h *frame.Header, b []byte) []byte {
			h.Fields[0], h.Fields[1], h.Parts[0].K, h.Parts[0].M, h.Parts[0].Length = 2, 33, 33, 66, 528
			return make([]byte, 528)
		}},
		{count, "two that must agree do not", func(h *frame.Header, b []byte) []byte { h.Parts[0].K = 3; return b }},
		{count, "update 2", func(h *frame.Header, b []byte) []byte { h.Fields[2] = 2; return b }},
		{count, "a row of counters adds up to 10, the total is 11", func(h *frame.Header, b []byte) []byte { h.Fields[3]++; return b }},
		{count, "a row of counters adds up to 10, the total is 9", func(h *frame.Header, b []byte) []byte { h.Fields[3]--; return b }},
		{count, "a row of counters adds up to 18446744073709551615", func(h *frame.Header, b []byte) []byte { put(b, 7, math.MaxUint64); return b }},
		{conservative, "a row of counters adds up to 10, the total is 9", func(h *frame.Header, b []byte) []byte { h.Fields[3]--; return b }},
		{count, "part of counters with 32 bits", func(h *frame.Header, b []byte) []byte {
			h.Parts[0].CounterBits, h.Parts[0].Length = 32, 32
			return b[:32]
		}},
		{count, "part of registers", func(h *frame.Header, b []byte) []byte { h.Parts[0].Kind = frame.KindRegisters; return b }},
		{count32, "5 counters with width 4 and depth 1", func(h *frame.Header, b []byte) []byte { h.Fields[0] = 4; return b }},
		{count32, "5 counters with width 5 and depth 0", func(h *frame.Header, b []byte) []byte { h.Fields[1] = 0; return b }},
		{count32, "depth 9223372036854775809", func(h *frame.Header, b []byte) []byte { h.Fields[1] = 1<<63 + 1; return b }},
		{count32, "total 9223372036854775808", func(h *frame.Header, b []byte) []byte { h.Fields[2] = 1 << 63; return b }},
		{count32, "a counter beyond the last, number 4", func(h *frame.Header, b []byte) []byte { put(b, 2, 1<<32); return b }},
		{count32, "part of counters with 16 bits", func(h *frame.Header, b []byte) []byte {
			h.Parts[0].CounterBits, h.Parts[0].Length = 16, 16
			return b[:16]
		}},
		{count32, "two that must agree do not", func(h *frame.Header, b []byte) []byte { h.Parts[0].K = 3; return b }},
		{top, "part of registers", func(h *frame.Header, b []byte) []byte { h.Parts[0].Kind = frame.KindRegisters; return b }},
		{top, "k = 0", func(h *frame.Header, b []byte) []byte { h.Fields[0] = 0; return b }},
		{top, "k = 4294967296", func(h *frame.Header, b []byte) []byte { h.Fields[0] = 1 << 32; return b }},
		{top, "width 0", func(h *frame.Header, b []byte) []byte { h.Fields[1] = 0; return b }},
		{top, "width 18446744073709551615", func(h *frame.Header, b []byte) []byte { h.Fields[1] = math.MaxUint64; return b }},
		{top, "depth 1025", func(h *frame.Header, b []byte) []byte { h.Fields[2] = 1025; return b }},
		{top, "decay 0", func(h *frame.Header, b []byte) []byte { h.Fields[3] = 0; return b }},
		{top, "decay NaN", func(h *frame.Header, b []byte) []byte { h.Fields[3] = math.Float64bits(math.NaN()); return b }},
		{top, "21 buckets and 2 of 2 keys in 163 bytes", func(h *frame.Header, b []byte) []byte { h.Fields[1] = 21; return b }},
		{top, "16 buckets and 3 of 2 keys", func(h *frame.Header, b []byte) []byte { h.Fields[5] = 3; return b }},
		{top, "18 bytes follow the last key", func(h *frame.Header, b []byte) []byte { h.Fields[5] = 1; return b }},
		{top, "key 1 of 3 bytes, 2 are there", func(h *frame.Header, b []byte) []byte { b[145+8] = 3; return b }},
		{top, "1 bytes follow the last key", func(h *frame.Header, b []byte) []byte { b[145+8] = 1; return b }},
		{top, "key 0 has a count of 0", func(h *frame.Header, b []byte) []byte { put(b, 16, 0); return b }},
		{top, "key 0 has a count of 4294967296", func(h *frame.Header, b []byte) []byte { put(b, 16, 1<<32); return b }},
		{top, "key 0 has a lower count than key 1", func(h *frame.Header, b []byte) []byte { put(b, 16, 4); return b }},
		{top, "key 1 has a lower count than key 0", func(h *frame.Header, b []byte) []byte { h.Fields[6] = 0; return b }},
		{top, "two that must agree do not", func(h *frame.Header, b []byte) []byte { h.Fields[6] = 2; return b }},
		{top, "two that must agree do not", func(h *frame.Header, b []byte) []byte { h.Fields[7] = 2; return b }},
		{count32, "two that must agree do not", func(h *frame.Header, b []byte) []byte { h.Fields[3] = 2; return b }},
		{top, "key 1 is there twice", func(h *frame.Header, b []byte) []byte {
			h.Parts[0].Length--
			b[145+8] = 1
			return append(b[:145+16], 'a')
		}},
		{top, "the bytes end before key 1", func(h *frame.Header, b []byte) []byte { b[128+8] = 10; return b }},
		{top, "two that must agree do not", func(h *frame.Header, b []byte) []byte { h.Parts[0].M = 3; return b }},
		{exact, "impossible hyperloglog: precision 3", func(h *frame.Header, b []byte) []byte { h.Fields[0] = 3; return b }},
		{exact, "impossible hyperloglog: precision 19", func(h *frame.Header, b []byte) []byte { h.Fields[0] = 19; return b }},
		{exact, "impossible hyperloglog: precision 18446744073709551615", func(h *frame.Header, b []byte) []byte { h.Fields[0] = math.MaxUint64; return b }},
		{exact, "hash 1 does not follow", func(h *frame.Header, b []byte) []byte { put(b, 1, 1); return b }},
		{exact, "hash 1 does not follow", func(h *frame.Header, b []byte) []byte { put(b, 1, 0); return b }},
		{exact, "15 bytes of hashes", func(h *frame.Header, b []byte) []byte { h.Parts[0].Length = 15; return b[:15] }},
		{exact, "40 bytes of hashes with precision 5", func(h *frame.Header, b []byte) []byte {
			h.Parts[0].Length, h.Parts[0].M = 40, 5
			return append(b, make([]byte, 24)...)
		}},
		{exact, "two that must agree do not", func(h *frame.Header, b []byte) []byte { h.Parts[0].M = 3; return b }},
		{exact, "16 registers with precision 5", func(h *frame.Header, b []byte) []byte { h.Parts[0].Kind = frame.KindRegisters; return b }},
		{exact, "part of bytes", func(h *frame.Header, b []byte) []byte { h.Parts[0].Kind = frame.KindBytes; return b }},
		{dense, "register 31 is 61, above the highest possible, 60", func(h *frame.Header, b []byte) []byte { b[31] = 61; return b }},
		{dense, "32 registers with precision 6", func(h *frame.Header, b []byte) []byte { h.Fields[0] = 6; return b }},
		{dense, "two that must agree do not", func(h *frame.Header, b []byte) []byte { h.Parts[0].M = 64; return b }},
		{fm, "24 bytes of bitmaps", func(h *frame.Header, b []byte) []byte { h.Parts[0].Length = 24; return b[:24] }},
		{fm, "0 bytes of bitmaps", func(h *frame.Header, b []byte) []byte { h.Parts[0].Length = 0; return nil }},
		{fm, "33 bytes of bitmaps", func(h *frame.Header, b []byte) []byte { h.Parts[0].Length = 33; return append(b, 0) }},
		{fm, "bitmap 2 has a bit above the highest possible, 62", func(h *frame.Header, b []byte) []byte { put(b, 2, 1<<63); return b }},
		{fm, "part of bytes", func(h *frame.Header, b []byte) []byte { h.Parts[0].Kind = frame.KindBytes; return b }},
		{fm, "two that must agree do not", func(h *frame.Header, b []byte) []byte { h.Fields[0] = 8; return b }},
		{fm, "a field that is not in use", func(h *frame.Header, b []byte) []byte { h.Fields[15] = 1; return b }},
		{fm, "a field that is not in use", func(h *frame.Header, b []byte) []byte { h.Capacity = 1; return b }},
		{fm, "a field that is not in use", func(h *frame.Header, b []byte) []byte { h.Parts[0].Added = 1; return b }},
	} {
		h, body := encoded(c.s)
		body = c.change(&h, bytes.Clone(body))
		checkRefused(t, c.s, &h, [][]byte{body}, c.text)
	}
	for _, s := range []anySketch{count, exact, fm} {
		h, body := encoded(s)
		h.Parts = append(h.Parts, h.Parts[0])
		checkRefused(t, s, &h, [][]byte{body, body}, "2 parts instead of one")
		h.Parts = nil
		checkRefused(t, s, &h, nil, "0 parts instead of one")
	}
}

func checkRefused(t *testing.T, s anySketch, h *frame.Header, parts [][]byte, text string) {
	t.Helper()
	b, err := frame.Append(nil, h, parts)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var damage *bloom.CorruptError
	if err := s.UnmarshalBinary(b); !errors.As(err, &damage) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %q", err, text)
	}
}

// TestFormat reads sketches as docs/FORMAT.md tells a stranger to.
func TestFormat(t *testing.T) {
	hashes := []uint64{0x0123456789abcdef, 0, math.MaxUint64}
	count := newCountMin(t, CountMinConfig{Width: 1000, Depth: 5, Hash: bloom.Hash{Seed: 7}})
	for range 3 {
		count.AddHash(hashes[0], 2)
	}
	h, body := encoded(count)
	if h.Type != 10 || h.HashSeed != 7 || h.Fields != [16]uint64{1000, 5, 0, 6} || h.Parts[0].K != 5 || h.Parts[0].M != 5000 {
		t.Errorf("count-min: %+v", h)
	}
	for row, column := range []int{83, 833, 185, 636, 4} { // see TestColumn
		if got := binary.LittleEndian.Uint64(body[8*(1000*row+column):]); got != 6 {
			t.Errorf("count-min: row %d, column %d holds %d", row, column, got)
		}
	}
	log := newHyperLogLog(t, 4, bloom.Hash{})
	log.AddHash(hashes[0])
	log.AddHash(hashes[1])
	h, body = encoded(log)
	if h.Type != 11 || h.Fields != [16]uint64{4} || h.Parts[0].Kind != 6 || h.Parts[0].M != 2 ||
		string(body) != "\x00\x00\x00\x00\x00\x00\x00\x00\xef\xcd\xab\x89\x67\x45\x23\x01" {
		t.Errorf("hyperloglog of hashes: %+v, %x", h, body)
	}
	log.AddHash(hashes[2])
	h, body = encoded(log)
	// 0 begins with 60 zeros after the register's number, so 61; the rest of
	// 0x0123... begins with 0001, so 4, which is less; 0xf... begins with 1.
	if h.Parts[0].Kind != 7 || h.Parts[0].M != 16 || string(body) != "\x3d"+strings.Repeat("\x00", 14)+"\x01" {
		t.Errorf("hyperloglog of registers: %+v, %x", h, body)
	}
	fm := newFlajoletMartin(t, 16, bloom.Hash{})
	for _, x := range append(hashes, 0x0123456789abc00f) {
		fm.AddHash(x)
	}
	h, body = encoded(fm)
	want := make([]byte, 128)
	want[7] = 1 << 4      // bitmap 0, bit 60: the rest of hash 0 is zero
	want[15*8] = 1<<1 | 1 // bitmap 15, bits 1 and 0: the rests end with ...1110 and ...1111
	want[15*8+1] = 1 << 2 // and bit 10: the rest ends with 0xc00
	if h.Type != 12 || h.Fields != [16]uint64{16} || h.Parts[0].M != 16 || !bytes.Equal(body, want) {
		t.Errorf("flajolet-martin: %+v, %x", h, body)
	}
}

func heapAllocs() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// exercise decodes b as each type and uses what comes out: a value that is written
// back as the same bytes, or an error; no panic, and no memory that the input does
// not account for.
func exercise(t *testing.T, b []byte) {
	for _, s := range []anySketch{new(CountMin), new(HyperLogLog), new(FlajoletMartin), new(CountMin32), new(TopK)} {
		before := heapAllocs()
		err := s.UnmarshalBinary(b)
		// The runtime counts some allocations late and in spans; a hash in a map
		// takes up to five times the room it takes in the bytes.
		if n := heapAllocs() - before; n > 1<<20+12*uint64(len(b)) {
			t.Fatalf("%T allocated %d bytes for %d", s, n, len(b))
		}
		if _, streamErr := s.ReadFrom(bytes.NewReader(b)); (err == nil) != (streamErr == nil) {
			t.Fatalf("%T: UnmarshalBinary says %v, ReadFrom %v", s, err, streamErr)
		}
		if err != nil {
			continue
		}
		again, err := s.MarshalBinary()
		if h, _, _ := frame.Parse(b); h.Type == frame.TypeTopK && h.Fields[6] == 0 { // the order of early versions
			b = again
			err = errors.Join(err, s.UnmarshalBinary(b))
			again, _ = s.MarshalBinary()
		}
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%T: written back it differs: %v", s, err)
		}
		switch s := s.(type) {
		case *CountMin:
			before := s.CountString("a")
			if got := s.AddString("a", 3); got != addSaturating(before, 3) {
				t.Fatalf("count %d becomes %d", before, got)
			}
			if err := s.Merge(s.Clone()); err != nil || s.Stats().Delta <= 0 {
				t.Fatal(err)
			}
		case *HyperLogLog:
			checkUse(t, s)
		case *FlajoletMartin:
			checkUse(t, s)
		case *CountMin32:
			before := s.Count(nil)
			if got := s.Add(nil, 3); got != uint32(min(uint64(before)+3, math.MaxUint32)) {
				t.Fatalf("count %d becomes %d", before, got)
			}
		case *TopK:
			checkTop(t, s)
		}
	}
}

func checkUse[S cardinality[S]](t *testing.T, s S) {
	c := s.Cardinality()
	clone := s.Clone()
	s.AddString("a")
	s.AddHash(0)
	if s.AddHash(0) {
		t.Fatalf("%T: 0 is new twice", s)
	}
	if err := s.Merge(clone); err != nil || math.IsNaN(c) || c < 0 {
		t.Fatalf("%T: cardinality %v, %v", s, c, err)
	}
}

func checkTop(t *testing.T, s *TopK) {
	for i := range 20 {
		key := []byte{byte(i)}
		before := s.Count(key)
		if expelled, ok := s.Incr(key, 3); ok && s.Has(expelled) {
			t.Fatal("an expelled key is still there")
		}
		if s.Count(key) < before {
			t.Fatal("a count falls as its key is added")
		}
	}
	if list := s.List(); len(list) > s.K() || !slices.IsSortedFunc(list, func(a, b TopKEntry) int { return int(int64(b.Count) - int64(a.Count)) }) {
		t.Fatalf("%d keys of %d, or not in order", len(list), s.K())
	}
}

// FuzzUnmarshal decodes bytes as they are.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range samples(f) {
		b, err := s.full.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(exercise)
}

// FuzzContents decodes frames whose checksums are right and whose contents are
// anything.
func FuzzContents(f *testing.F) {
	for _, s := range samples(f) {
		h, body := encoded(s.full)
		p := h.Parts[0]
		f.Add(uint8(h.Type), h.Fields[0], h.Fields[1], h.Fields[2], h.Fields[3], h.Fields[4], h.Fields[5], h.Fields[6], h.Fields[7], uint8(p.Kind), p.CounterBits, p.K, p.M, p.Added, body)
	}
	f.Fuzz(func(t *testing.T, typ uint8, f0, f1, f2, f3, f4, f5, f6, f7 uint64, kind, counterBits uint8, k uint32, m, added uint64, body []byte) {
		h := frame.Header{
			Type: frame.Type(typ), Fields: [16]uint64{f0, f1, f2, f3, f4, f5, f6, f7},
			Parts: []frame.Part{{
				Kind: frame.Kind(kind), CounterBits: counterBits, K: k, M: m, Added: added, Length: uint64(len(body)),
			}},
		}
		b, err := frame.Append(nil, &h, [][]byte{body})
		if err == nil {
			exercise(t, b)
		}
	})
}
