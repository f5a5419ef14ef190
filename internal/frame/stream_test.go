package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/iotest"
)

// allocated returns the bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHeaderCannotBuyMemory announces a petabyte and delivers little.
func TestHeaderCannotBuyMemory(t *testing.T) {
	h := &Header{Type: TypeFilter, Parts: []Part{{Kind: KindClassic, K: 7, M: 8 << 50, Length: 1 << 50}}}
	head, err := AppendHeader(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	b := append(head, make([]byte, 3<<20)...)
	for name, open := range sources {
		var openErr error
		if n := allocated(func() { _, _, openErr = open(b) }); n > 3*uint64(len(b)) {
			t.Errorf("%s allocated %d bytes for %d", name, n, len(b))
		}
		if !errors.Is(openErr, ErrTruncated) {
			t.Errorf("%s: %v", name, openErr)
		}
	}
}

func TestReadSizedAllocatesOnce(t *testing.T) {
	h := &Header{Type: TypeFilter, Parts: []Part{{Kind: KindClassic, K: 7, M: 8 << 24, Length: 1 << 24}}}
	b := mustAppend(t, h, [][]byte{make([]byte, 1<<24)})
	var err error
	n := allocated(func() { _, _, err = ReadSized(bytes.NewReader(b), int64(len(b))) })
	if err != nil || n > 1<<24+1<<18 {
		t.Errorf("%d bytes for a part of %d, %v", n, 1<<24, err)
	}
}

func TestWriteNeedsLittleMemory(t *testing.T) {
	h := &Header{Type: TypeFilter, Parts: []Part{{Kind: KindClassic, K: 7, M: 8 << 24, Length: 1 << 24}}}
	parts := [][]byte{make([]byte, 1<<24)}
	var err error
	if n := allocated(func() { _, err = Write(io.Discard, h, parts) }); err != nil || n > 64<<10 {
		t.Errorf("%d bytes allocated, %v", n, err)
	}
}

// TestWritePieces writes parts that come piece by piece, in memory that is used
// again: the frame must be that of the parts as a whole, and every piece be asked
// for once, in order.
func TestWritePieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, lengths := range [][]uint64{{8}, {ChunkSize}, {ChunkSize + 8}, {3*ChunkSize - 8, 16, 5000 * 8}} {
		h := &Header{Type: TypeScalable}
		var parts [][]byte
		for _, n := range lengths {
			h.Parts = append(h.Parts, Part{Kind: KindClassic, K: 7, M: 8 * n, Length: n})
			part := make([]byte, n)
			for i := range part {
				part[i] = byte(r.Uint32())
			}
			parts = append(parts, part)
		}
		var buffer [ChunkSize]byte
		at, end := 0, uint64(0)
		piece := func(part int, off, n uint64) []byte {
			if part == at+1 && end == lengths[at] {
				at, end = part, 0
			}
			if part != at || off != end || n == 0 || n > ChunkSize {
				t.Fatalf("%d bytes at %d of part %d are asked for after byte %d of part %d", n, off, part, end, at)
			}
			end += n
			clear(buffer[:])
			return buffer[:copy(buffer[:n], parts[part][off:])]
		}
		var b bytes.Buffer
		n, err := WritePieces(&b, h, piece)
		if err != nil || n != int64(b.Len()) || !bytes.Equal(b.Bytes(), mustAppend(t, h, parts)) {
			t.Errorf("parts of %d bytes, piece by piece: %d of %d bytes, %v", lengths, n, b.Len(), err)
		}
	}
}

// failAfter fails once n bytes were written.
type failAfter struct{ n int }

var errDisk = errors.New("disk full")

func (f *failAfter) Write(p []byte) (int, error) {
	if len(p) > f.n {
		n := f.n
		f.n = 0
		return n, errDisk
	}
	f.n -= len(p)
	return len(p), nil
}

func TestIOErrorsPassThrough(t *testing.T) {
	h, parts := small()
	b := mustAppend(t, h, parts)
	for _, n := range []int{0, 100, 4096, 4200, 8192, 8300, 12288, 12291, len(b) - 1} {
		if got, err := Write(&failAfter{n}, h, parts); !errors.Is(err, errDisk) || got != int64(n) {
			t.Errorf("Write failing after %d bytes: %d, %v", n, got, err)
		}
		r := io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(errDisk))
		if _, _, err := Read(r); !errors.Is(err, errDisk) {
			t.Errorf("Read failing after %d bytes: %v", n, err)
		}
	}
}

func TestWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	words := make([]uint64, 100)
	for i := range words {
		words[i] = rng.Uint64()
	}
	b := Bytes(words)
	for i, w := range words {
		if binary.LittleEndian.Uint64(b[8*i:]) != w {
			t.Fatalf("word %d is not little-endian", i)
		}
	}
	if !bytes.Equal(copyBytes(words), b) {
		t.Error("the copying path of Bytes differs")
	}
	for n := range 24 {
		for shift := range 9 {
			got, shared := Words(b[shift : shift+n])
			want := append(bytes.Clone(b[shift:shift+n]), make([]byte, (8-n%8)%8)...)
			if !bytes.Equal(copyBytes(got), want) {
				t.Fatalf("Words of %d bytes at %d: %x, want %x", n, shift, got, want)
			}
			if aligned := n == 0 || n%8 == 0 && shift%8 == 0 && nativeLittle; shared != aligned {
				t.Fatalf("Words of %d bytes at %d: shared is %v", n, shift, shared)
			}
		}
	}
	if !bytes.Equal(copyBytes(copyWords(b)), b) {
		t.Error("the copying path of Words differs")
	}
	if got, shared := Words(b); nativeLittle && (!shared || &got[0] != &words[0]) {
		t.Error("Words of aligned bytes is a copy")
	}
	if Bytes(nil) != nil {
		t.Error("Bytes of nothing is something")
	}
}

func TestStored(t *testing.T) {
	words := make([]uint64, 4)
	want := make([]byte, 32)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		at := rng.Uint64N(32)
		b := make([]byte, rng.Uint64N(33-at))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		Store(words, at, b)
		copy(want[at:], b)
		if !bytes.Equal(copyBytes(words), want) {
			t.Fatalf("%d bytes stored at %d: %x, want %x", len(b), at, words, want)
		}
		if got := AppendStored([]byte("x"), words, at, uint64(len(b))); !bytes.Equal(got, append([]byte("x"), b...)) {
			t.Fatalf("%d bytes from %d: %x, want %x", len(b), at, got, b)
		}
	}
}

func TestWordBytes(t *testing.T) {
	for _, c := range []struct {
		n     uint64
		width uint8
		want  uint64
		ok    bool
	}{
		{1, 1, 8, true}, {64, 1, 8, true}, {65, 1, 16, true}, {16, 4, 8, true}, {17, 4, 16, true},
		{3, 16, 8, true}, {1<<64 - 1, 1, 1 << 61, true}, {1 << 62, 4, 0, false}, {0, 8, 0, true},
	} {
		if got, ok := WordBytes(c.n, c.width); got != c.want || ok != c.ok {
			t.Errorf("WordBytes(%d, %d) = %d, %v, want %d, %v", c.n, c.width, got, ok, c.want, c.ok)
		}
	}
}

func TestState(t *testing.T) {
	h, parts := small()
	b := mustAppend(t, h, parts)
	if s, err := ParseState(b); err != nil || s != (State{}) {
		t.Errorf("new frame: %+v, %v", s, err)
	}
	for _, want := range []State{
		{Mark: MarkDirty, BootID: [16]byte{1, 2, 15: 3}}, {Mark: MarkDirty},
		{Mark: MarkChanged, Added: 1 << 40}, {Mark: MarkChanged},
	} {
		c := bytes.Clone(b)
		copy(c[StateOffset:], AppendState(nil, want))
		if s, err := ParseState(c); err != nil || s != want {
			t.Errorf("%+v, %v, want %+v", s, err, want)
		}
		if _, err := ParseHeader(c); err != nil {
			t.Errorf("the header's checksum depends on the state area: %v", err)
		}
		for i := range StateSize {
			d := bytes.Clone(c)
			d[StateOffset+i] ^= 0x10
			var damage *CorruptError
			if _, err := ParseState(d); !errors.As(err, &damage) || damage.Offset != StateOffset {
				t.Errorf("%+v, byte %d changed: %v", want, i, err)
			}
		}
	}
	unknown := binary.LittleEndian.AppendUint32(nil, 3)
	unknown = append(unknown, make([]byte, 56)...)
	unknown = binary.LittleEndian.AppendUint32(unknown, crc32.ChecksumIEEE(unknown))
	if _, err := ParseState(append(make([]byte, StateOffset), unknown...)); err == nil {
		t.Error("mark 3 was accepted")
	}
	if _, err := ParseState(b[:300]); !errors.Is(err, ErrTruncated) {
		t.Errorf("short: %v", err)
	}
}

func TestChangedInPlace(t *testing.T) {
	h := &Header{Type: TypeFilter, Parts: []Part{{Kind: KindClassic, K: 1, M: 64, Added: 5, Length: 8}}}
	changed := AppendState(nil, State{Mark: MarkChanged, Added: 9})
	b := mustAppend(t, h, [][]byte{make([]byte, 8)})
	copy(b[StateOffset:], changed)
	two, parts := small()
	c := mustAppend(t, two, parts)
	copy(c[StateOffset:], changed)
	for name, open := range sources {
		if g, _, err := open(b); err != nil || g.Parts[0].Added != 9 {
			t.Errorf("%s: %+v, %v, want 9 added", name, g, err)
		}
		var damage *CorruptError
		if _, _, err := open(c); !errors.As(err, &damage) || damage.Offset != StateOffset {
			t.Errorf("%s of a frame with two parts: %v", name, err)
		}
	}
}
