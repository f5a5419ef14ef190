package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// small is a frame of every region: two parts, padding, table.
func small() (*Header, [][]byte) {
	h := &Header{
		Type: TypeScalable, HashSeed: 0x0123456789abcdef, Capacity: 1000, ErrorRate: 1e-3,
		Fields: [16]uint64{0: 7, 15: math.MaxUint64},
		Parts: []Part{
			{Kind: KindBlocked, Lines: 1, Lanes: 8, K: 8, M: 1024, Added: 3, Capacity: 100, ErrorRate: 5e-4, Fields: [4]uint64{1, 2, 3, 4}, Length: 128},
			{Kind: KindBytes, Length: 5},
		},
	}
	return h, [][]byte{bytes.Repeat([]byte{0xa5}, 128), []byte("hello")}
}

func mustAppend(t testing.TB, h *Header, parts [][]byte) []byte {
	t.Helper()
	b, err := Append(nil, h, parts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// random makes a valid frame out of src.
func random(t *rapid.T) (*Header, [][]byte) {
	h := &Header{
		Type:      rapid.SampledFrom([]Type{TypeScalable, TypeWindow, TypeAdaptive, TypeCountMin}).Draw(t, "type"),
		Capacity:  rapid.Uint64().Draw(t, "capacity"),
		ErrorRate: rapid.Float64Range(0, 1).Draw(t, "error rate"),
	}
	if rapid.Bool().Draw(t, "siphash") {
		h.HashAlgorithm, h.HashKeyID = 1, rapid.Uint64().Draw(t, "key id")
	} else {
		h.HashSeed = rapid.Uint64().Draw(t, "seed")
	}
	for i := range h.Fields {
		h.Fields[i] = rapid.Uint64().Draw(t, "field")
	}
	if rapid.Bool().Draw(t, "no tag") {
		h.Fields[tagField] = 0
	}
	words := rapid.SliceOf(rapid.SampledFrom([]string{"trim", "lower", "email", "rule-20", "url", "url-drop=ref", "x-own"})).Draw(t, "rules")
	h.Rules, _ = CanonicalRules(strings.Join(words, " "))
	if version, _ := h.version(); version == 2 {
		h.Rules = strings.TrimSpace(strings.Replace(h.Rules, "rule-20", "", 1)) // only a tag can have it
		h.Rules, _ = CanonicalRules(h.Rules)
	}
	rng := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "bytes")))
	h.Parts = make([]Part, rapid.IntRange(0, 50).Draw(t, "parts"))
	parts := make([][]byte, len(h.Parts))
	for i := range h.Parts {
		p := &h.Parts[i]
		p.Added, p.Capacity, p.ErrorRate = rng.Uint64(), rng.Uint64(), rng.Float64()
		p.Fields = [4]uint64{rng.Uint64(), rng.Uint64()}
		n := rapid.Uint64Range(1, 3000).Draw(t, "size")
		if i == 0 {
			n *= 100 // more than one chunk
		}
		p.Kind = Kind(rapid.IntRange(1, 8).Draw(t, "kind"))
		switch p.Kind {
		case KindClassic:
			p.K, p.M = rng.Uint32N(MaxProbes)+1, n
		case KindBlocked:
			p.Lines, p.Lanes = uint8(rng.IntN(3)+1), uint8(rng.IntN(8)+1)
			p.K, p.M = uint32(p.Lines)*uint32(p.Lanes), n*512*uint64(p.Lines)
		case KindPartitioned:
			p.K = rng.Uint32N(20) + 1
			p.M = n * uint64(p.K)
		case KindCounters:
			p.CounterBits = []uint8{4, 8, 16, 32, 64}[rng.IntN(5)]
			p.K, p.M = rng.Uint32N(20)+1, n
		default:
			p.K, p.M, p.Length = rng.Uint32(), rng.Uint64(), n-1
		}
		if p.Kind <= KindCounters {
			p.Length, _ = WordBytes(p.M, max(p.CounterBits, 1))
		}
		parts[i] = make([]byte, p.Length)
		for j := range parts[i] {
			parts[i][j] = byte(rng.Uint32())
		}
	}
	return h, parts
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, parts := random(t)
		b, err := Append([]byte("before"), h, parts)
		if err != nil {
			t.Fatal(err)
		}
		b = b[len("before"):]
		var w bytes.Buffer
		if n, err := Write(&w, h, parts); err != nil || n != int64(len(b)) || !bytes.Equal(w.Bytes(), b) {
			t.Fatalf("Write: %d bytes, %v; differ from Append's %d: %v", n, err, len(b), !bytes.Equal(w.Bytes(), b))
		}
		l, err := h.Layout()
		if err != nil || l.Total != uint64(len(b)) {
			t.Fatalf("Layout: %+v, %v; frame has %d bytes", l, err, len(b))
		}
		check := func(name string, g *Header, got [][]byte, err error) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := *h
			want.Version, _ = h.version()
			if d := cmp.Diff(&want, g); d != "" {
				t.Fatalf("%s: header differs (-want +got):\n%s", name, d)
			}
			for i := range parts {
				if !bytes.Equal(parts[i], got[i]) {
					t.Fatalf("%s: part %d differs", name, i)
				}
				if l.Offsets[i]%PageSize != 0 {
					t.Fatalf("part %d at %d", i, l.Offsets[i])
				}
			}
		}
		g, got, err := Parse(b)
		check("Parse", g, got, err)
		follow := bytes.NewReader(append(bytes.Clone(b), "after"...))
		g, got, err = Read(iotest.HalfReader(follow))
		check("Read", g, got, err)
		if rest, _ := io.ReadAll(follow); string(rest) != "after" {
			t.Fatalf("Read left %q of what follows the frame", rest)
		}
		for i := range got {
			if _, shared := Words(got[i][:len(got[i])/8*8]); nativeLittle && !shared {
				t.Fatalf("Read: part %d is not aligned", i)
			}
		}
		g, got, err = ReadSized(bytes.NewReader(b), int64(len(b)))
		check("ReadSized", g, got, err)
	})
}

// TestLayoutOfBytes compares a frame with the layout in the package's doc comment.
func TestLayoutOfBytes(t *testing.T) {
	h, parts := small()
	b := mustAppend(t, h, parts)
	le := binary.LittleEndian
	if len(b) != 3*4096+8 {
		t.Fatalf("%d bytes", len(b))
	}
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"magic", string(b[:8]), "\x89SEEN\r\n\x1a"},
		{"version", le.Uint32(b[8:]), uint32(1)},
		{"header length", le.Uint32(b[12:]), uint32(4096)},
		{"type", le.Uint16(b[16:]), uint16(5)},
		{"algorithm", b[18], byte(0)},
		{"seed", le.Uint64(b[24:]), uint64(0x0123456789abcdef)},
		{"key id", le.Uint64(b[32:]), uint64(0)},
		{"capacity", le.Uint64(b[40:]), uint64(1000)},
		{"error rate", math.Float64frombits(le.Uint64(b[48:])), 1e-3},
		{"field 0", le.Uint64(b[56:]), uint64(7)},
		{"field 15", le.Uint64(b[176:]), uint64(math.MaxUint64)},
		{"parts", le.Uint32(b[184:]), uint32(2)},
		{"chunk size", le.Uint32(b[188:]), uint32(65536)},
		{"total", le.Uint64(b[192:]), uint64(len(b))},
		{"body end", le.Uint64(b[200:]), uint64(3 * 4096)},
		{"kind", le.Uint16(b[512:]), uint16(2)},
		{"lines, lanes, counter bits", string(b[514:517]), "\x01\x08\x00"},
		{"k", le.Uint32(b[520:]), uint32(8)},
		{"m", le.Uint64(b[528:]), uint64(1024)},
		{"added", le.Uint64(b[536:]), uint64(3)},
		{"part capacity", le.Uint64(b[544:]), uint64(100)},
		{"part error rate", math.Float64frombits(le.Uint64(b[552:])), 5e-4},
		{"part field 3", le.Uint64(b[584:]), uint64(4)},
		{"offset", le.Uint64(b[592:]), uint64(4096)},
		{"length", le.Uint64(b[600:]), uint64(128)},
		{"offset of part 1", le.Uint64(b[608+80:]), uint64(8192)},
		{"length of part 1", le.Uint64(b[608+88:]), uint64(5)},
		{"header checksum", le.Uint32(b[4092:]), crc32.ChecksumIEEE(b[:4092])},
		{"body", string(b[8192:8198]), "hello\x00"},
		{"chunk checksum", le.Uint32(b[12288:]), crc32.ChecksumIEEE(b[4096:12288])},
		{"table checksum", le.Uint32(b[12292:]), crc32.ChecksumIEEE(b[12288:12292])},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// sources are the three ways in; each must give the same answer.
var sources = map[string]func(b []byte) (*Header, [][]byte, error){
	"Parse":     Parse,
	"Read":      func(b []byte) (*Header, [][]byte, error) { return Read(bytes.NewReader(b)) },
	"ReadSized": func(b []byte) (*Header, [][]byte, error) { return ReadSized(bytes.NewReader(b), int64(len(b))) },
}

func TestEveryBitFlipIsFound(t *testing.T) {
	h, parts := small()
	b := mustAppend(t, h, parts)
	for i := range b {
		bit := byte(1) << (i % 8)
		b[i] ^= bit
		_, _, err := Parse(b)
		b[i] ^= bit
		var damage *CorruptError
		if i < len(magic) && err != nil {
			continue // foreign or damaged, depending on the byte
		}
		if !errors.As(err, &damage) {
			t.Fatalf("byte %d flipped: %v", i, err)
		}
		want := [2]int64{0, 4095} // the header's checksum covers all of it
		switch {
		case i >= 12288:
			want = [2]int64{12288, 12288}
		case i >= 4096:
			want = [2]int64{4096, 4096}
		case i >= StateOffset && i < StateOffset+StateSize:
			want = [2]int64{StateOffset, StateOffset}
		}
		if damage.Offset < want[0] || damage.Offset > want[1] {
			t.Fatalf("byte %d flipped: reported at %d: %v", i, damage.Offset, err)
		}
	}
}

func TestDamageNamesItsChunk(t *testing.T) {
	h := &Header{Type: TypeFilter, Parts: []Part{{Kind: KindClassic, K: 1, M: 8 * 300000, Length: 300000}}}
	b := mustAppend(t, h, [][]byte{make([]byte, 300000)})
	for name, open := range sources {
		for _, at := range []int{4096, 4096 + 65535, 4096 + 65536, 4096 + 299999} {
			c := bytes.Clone(b)
			c[at] = 1
			_, _, err := open(c)
			var damage *CorruptError
			if want := int64((at-4096)/65536*65536 + 4096); !errors.As(err, &damage) || damage.Offset != want {
				t.Errorf("%s, byte %d: %v, want damage at %d", name, at, err, want)
			}
		}
	}
}

func TestEveryLengthButOneIsRefused(t *testing.T) {
	h, parts := small()
	b := mustAppend(t, h, parts)
	for name, open := range sources {
		for n := range b {
			if n > 600 && n%97 != 0 && n < len(b)-10 {
				continue
			}
			if _, _, err := open(b[:n]); !errors.Is(err, ErrTruncated) {
				t.Fatalf("%s of %d bytes of %d: %v", name, n, len(b), err)
			}
		}
		if _, _, err := open(append(bytes.Clone(b), 0)); name != "Read" && !errors.Is(err, ErrOversized) {
			t.Errorf("%s of one byte too many: %v", name, err)
		}
	}
	l, err := h.Layout()
	if err != nil {
		t.Fatal(err)
	}
	if start, end := l.Chunk(0); start != 4096 || end != 12288 {
		t.Errorf("chunk 0 from %d to %d", start, end)
	}
}

func TestForeignBytes(t *testing.T) {
	h, parts := small()
	b := mustAppend(t, h, parts)
	for _, c := range []struct {
		name string
		b    []byte
		want error
		text string
	}{
		{"text", []byte("hello world, a text file\n"), ErrNotFrame, "not a seen file: it does not begin as one"},
		{"one letter", []byte("h"), ErrNotFrame, ""},
		{"gzip", append([]byte{0x1f, 0x8b}, b...), ErrNotFrame, ""},
		{"empty", nil, ErrTruncated, "truncated: 0 bytes of 4096; restore the file from a copy"},
		{"line ends translated", bytes.Replace(b, []byte("\r\n"), []byte("\n"), 1), nil, "damaged at byte 5: line ends were translated; transfer the file in binary mode"},
		{"newer version", reseal(b, func(b []byte) { b[8] = 9 }), ErrVersion, "newer format version 9; this program reads up to version 2, use a newer one"},
		{"dirty", markDirty(b), ErrDirty, ""},
		{"dirty with a journal", append(markDirty(b), 1), ErrDirty, ""},
	} {
		for name, open := range sources {
			_, _, err := open(c.b)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || c.text != "" && err.Error() != c.text {
				t.Errorf("%s of %s: %v, want %v %q", name, c.name, err, c.want, c.text)
			}
		}
	}
}

// reseal changes a copy of the frame b and makes its checksums right again.
func reseal(b []byte, change func(b []byte)) []byte {
	b = bytes.Clone(b)
	change(b)
	resealInPlace(b)
	return b
}

func resealInPlace(b []byte) {
	n, err := HeaderLength(b)
	if err != nil || len(b) < n {
		return
	}
	binary.LittleEndian.PutUint32(b[n-4:], headerChecksum(b[:n]))
	if h, err := ParseHeader(b); err == nil {
		if l, err := h.Layout(); err == nil && l.Total == uint64(len(b)) {
			var sums chunkSums
			sums.add(b[l.Header:l.BodyEnd])
			copy(b[l.BodyEnd:], appendTable(nil, sums.finish()))
		}
	}
}

func markDirty(b []byte) []byte {
	b = bytes.Clone(b)
	copy(b[StateOffset:], AppendState(nil, State{Mark: MarkDirty, BootID: [16]byte{1, 2, 3}}))
	return b
}

// TestFieldsAreChecked changes one field at a time under a right checksum: what a
// broken or hostile writer could send.
func TestFieldsAreChecked(t *testing.T) {
	h, parts := small()
	b := mustAppend(t, h, parts)
	le := binary.LittleEndian
	const part0, part1 = 512, 608
	for _, c := range []struct {
		name   string
		offset int64
		change func(b []byte)
	}{
		{"version 0", 8, func(b []byte) { b[8] = 0 }},
		{"type 0", 16, func(b []byte) { b[16] = 0 }},
		{"type 99", 16, func(b []byte) { b[16] = 99 }},
		{"algorithm", 18, func(b []byte) { b[18] = 4 }},
		{"reserved", 19, func(b []byte) { b[19] = 1 }},
		{"seed with siphash", 24, func(b []byte) { b[18] = 1 }},
		{"key id with xxh3", 32, func(b []byte) { b[32] = 1 }},
		{"key id with murmur64a", 32, func(b []byte) { b[18], b[32] = 2, 1 }},
		{"seed with nh", 24, func(b []byte) { b[18], b[208] = 3, 1 }},
		{"nh without a secret", 208, func(b []byte) { b[18] = 3; clear(b[24:32]) }},
		{"key id of another secret", 32, func(b []byte) { b[18], b[32], b[208] = 3, 1, 1; clear(b[24:32]) }},
		{"secret with xxh3", 208, func(b []byte) { b[208] = 1 }},
		{"secret with siphash", 208, func(b []byte) { b[18], b[208] = 1, 1; clear(b[24:32]) }},
		{"error rate above 1", 48, func(b []byte) { le.PutUint64(b[48:], math.Float64bits(1.5)) }},
		{"error rate NaN", 48, func(b []byte) { le.PutUint64(b[48:], math.Float64bits(math.NaN())) }},
		{"parts", 184, func(b []byte) { b[186] = 1 }},
		{"parts of a one-array type", 184, func(b []byte) { b[16] = byte(TypeBlocked) }},
		{"chunk size", 189, func(b []byte) { b[189] = 1 }},
		{"total", 192, func(b []byte) { b[199] = 0x7f }},
		{"body end", 200, func(b []byte) { b[200] = 1 }},
		{"reserved before state", 255, func(b []byte) { b[255] = 1 }},
		{"reserved after state", 511, func(b []byte) { b[511] = 1 }},
		{"reserved after parts", 4091, func(b []byte) { b[4091] = 1 }},
		{"kind 0", part0, func(b []byte) { b[part0] = 0 }},
		{"kind 99", part0, func(b []byte) { b[part0] = 99 }},
		{"lines 0", part0 + 2, func(b []byte) { b[part0+2] = 0 }},
		{"lines 4", part0 + 2, func(b []byte) { b[part0+2] = 4 }},
		{"lanes 9", part0 + 3, func(b []byte) { b[part0+3] = 9 }},
		{"counter bits in bits", part0 + 4, func(b []byte) { b[part0+4] = 4 }},
		{"reserved in part", part0 + 5, func(b []byte) { b[part0+5] = 1 }},
		{"k 0", part0 + 8, func(b []byte) { b[part0+8] = 0 }},
		{"k not lines x lanes", part0 + 8, func(b []byte) { b[part0+8] = 7 }},
		{"k huge", part0 + 8, func(b []byte) { b[part0+11] = 0xff }},
		{"k of counters huge", part0 + 8, func(b []byte) { copy(b[part0:], "\x04\x00\x00\x00\x08\x00\x00\x00\x01\x04") }},
		{"m 0", part0 + 16, func(b []byte) { le.PutUint64(b[part0+16:], 0) }},
		{"m not whole lines", part0 + 16, func(b []byte) { le.PutUint64(b[part0+16:], 1000) }},
		{"m overflows", part0 + 88, func(b []byte) { le.PutUint64(b[part0+16:], 1<<63) }},
		{"part error rate", part0 + 40, func(b []byte) { le.PutUint64(b[part0+40:], math.Float64bits(-0.5)) }},
		{"part offset", part0 + 81, func(b []byte) { b[part0+81] = 0x20 }},
		{"part length", part0 + 88, func(b []byte) { b[part0+88]++ }},
		{"length of bytes", 192, func(b []byte) { b[part1+90]++ }},
		{"length overflows", 512, func(b []byte) { b[part1+95] = 0xff }},
		{"classic with lines", part0 + 2, func(b []byte) { b[part0] = 1 }},
		{"counters of 5 bits", part0 + 4, func(b []byte) { copy(b[part0:], "\x04\x00\x00\x00\x05") }},
		{"partitions of unequal size", part0 + 16, func(b []byte) { copy(b[part0:], "\x03\x00\x00\x00\x00\x00\x00\x00\x03") }},
		{"padding", 4096 + 128, func(b []byte) { b[4096+128] = 1 }},
		{"padding of the last part", 8192 + 4095, func(b []byte) { b[8192+4095] = 1 }},
	} {
		bad := reseal(b, c.change)
		for name, open := range sources {
			_, _, err := open(bad)
			var damage *CorruptError
			if !errors.As(err, &damage) || damage.Offset != c.offset {
				t.Errorf("%s, %s: %v, want damage at byte %d", c.name, name, err, c.offset)
			}
		}
	}
}

func TestWriteRefusesWhatReadWould(t *testing.T) {
	for name, change := range map[string]func(h *Header, parts [][]byte) [][]byte{
		"unknown type":          func(h *Header, p [][]byte) [][]byte { h.Type = 0; return p },
		"k 0":                   func(h *Header, p [][]byte) [][]byte { h.Parts[0].K = 0; return p },
		"NaN":                   func(h *Header, p [][]byte) [][]byte { h.ErrorRate = math.NaN(); return p },
		"rules in no order":     func(h *Header, p [][]byte) [][]byte { h.Rules = "b a"; return p },
		"rules of bytes":        func(h *Header, p [][]byte) [][]byte { h.Rules = "a\x00b"; return p },
		"rules too long":        func(h *Header, p [][]byte) [][]byte { h.Rules = strings.Repeat("x", MaxRules+1); return p },
		"a rule without a name": func(h *Header, p [][]byte) [][]byte { h.Rules = "rule-20 url-drop=ref"; return p },
		"array too few":         func(h *Header, p [][]byte) [][]byte { return p[:1] },
		"array short":           func(h *Header, p [][]byte) [][]byte { return [][]byte{p[0][1:], p[1]} },
		"too many parts": func(h *Header, p [][]byte) [][]byte {
			h.Parts = make([]Part, MaxParts+1)
			return make([][]byte, MaxParts+1)
		},
	} {
		h, parts := small()
		parts = change(h, parts)
		b, err := Append(nil, h, parts)
		var w bytes.Buffer
		n, werr := Write(&w, h, parts)
		if err == nil || b != nil || werr == nil || n != 0 || w.Len() != 0 {
			t.Errorf("%s: Append %d bytes, %v; Write %d bytes, %v", name, len(b), err, w.Len(), werr)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "") {
			t.Errorf("%s: %q", name, err)
		}
	}
}
