package redisbloom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"seen/internal/filtertest"
	"seen/internal/rdb"
)

// exercise uses a filter that was decoded in every way that must not fail, and
// expects it to come back from each of its forms.
func exercise(t *testing.T, f *Filter) {
	b := encode(t, f)
	g, err := Decode(b, nil)
	if err != nil {
		t.Fatalf("what was decoded and encoded cannot be decoded: %v", err)
	}
	if !bytes.Equal(encode(t, g), b) {
		t.Fatal("decoding and encoding again changes the bytes")
	}
	if g, err = Restore(f.AppendDump(nil), nil); err != nil || !bytes.Equal(encode(t, g), b) {
		t.Fatalf("the payload does not come back: %v", err)
	}
	_, header := f.ScanDump(nil, 0)
	g, err = FromHeader(header, nil)
	if err != nil {
		t.Fatal(err)
	}
	for iterator := int64(1); ; {
		next, data := f.ScanDump(nil, iterator)
		if next == 0 {
			break
		}
		if err := g.LoadChunk(next, data); err != nil {
			t.Fatal(err)
		}
		iterator = next
	}
	if !bytes.Equal(encode(t, g), b) {
		t.Fatal("the chunks do not come back")
	}
	if info := f.Info(); len(info.Filters) == 0 {
		t.Fatal("no sub-filters")
	}
	hs := make([]Hash, 20)
	found := make([]bool, len(hs))
	for i := range hs {
		hs[i] = f.Hash(fmt.Append(nil, i))
	}
	f.HasHashes(found, hs)
	for i, h := range hs {
		if f.HasHash(h) != found[i] {
			t.Fatal("HasHash and HasHashes differ")
		}
	}
	f.SetReserve(atMost(1 << 20))
	for i := range hs {
		isNew, err := f.AddHash(hs[i])
		if err == nil && (isNew && found[i] || !f.HasHash(hs[i])) {
			t.Fatal("a key that was there is new, or one that was added is not there")
		}
		if isNew && err != nil {
			t.Fatal("new, and an error")
		}
	}
}

func small(t testing.TB, expansion uint32) *Filter {
	f := newFilter(t, Config{Capacity: 10, ErrorRate: 0.05, Expansion: expansion})
	for i := range 10 {
		if _, err := f.Add(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if expansion != 0 {
		for i := range 20 {
			if _, err := f.Add(fmt.Append(nil, "more", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return f
}

func FuzzDecode(f *testing.F) {
	for _, expansion := range []uint32{0, 1, 2} {
		b := encode(f, small(f, expansion))
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	for _, name := range vectorNames {
		f.Add(encode(f, readVector(f, name).load(f)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := filtertest.HeapAllocs()
		g, err := Decode(b, nil)
		if n := filtertest.HeapAllocs() - before; n > 2<<20+16*uint64(len(b)) {
			t.Fatalf("decoding %d bytes allocated %d", len(b), n)
		}
		if (g == nil) == (err == nil) {
			t.Fatalf("%v and %v", g, err)
		}
		if err != nil {
			if !errors.Is(err, ErrBadData) {
				t.Fatal(err)
			}
			return
		}
		exercise(t, g)
	})
}

// FuzzChunks makes a filter of a header, and throws chunks at it.
func FuzzChunks(f *testing.F) {
	g := small(f, 2)
	_, chunk := g.ScanDump(nil, 1)
	f.Add(g.AppendHeader(nil), int64(1+len(chunk)), chunk)
	f.Add(g.AppendHeader(nil), int64(len(chunk)), chunk)
	f.Add(g.AppendHeader(nil), int64(1)<<62, []byte{1})
	f.Fuzz(func(t *testing.T, header []byte, iterator int64, data []byte) {
		g, err := FromHeader(header, atMost(1<<20))
		if (g == nil) == (err == nil) {
			t.Fatalf("%v and %v", g, err)
		}
		if err != nil {
			if !errors.Is(err, ErrBadData) && !errors.Is(err, errTooMuch) {
				t.Fatal(err)
			}
			return
		}
		before := encode(t, g)
		if err := g.LoadChunk(iterator, data); err != nil {
			if !errors.Is(err, ErrBadData) && !errors.Is(err, ErrNoLink) && !errors.Is(err, ErrTooBig) {
				t.Fatal(err)
			}
			if !bytes.Equal(encode(t, g), before) {
				t.Fatal("a refused chunk has changed the filter")
			}
		} else {
			want := before
			copy(want[len(header)+int(iterator)-1-len(data):], data)
			if !bytes.Equal(encode(t, g), want) {
				t.Fatal("the chunk is not where it belongs")
			}
		}
		exercise(t, g)
	})
}

// FuzzRestore restores payloads, as they are and with their checksum made
// right.
func FuzzRestore(f *testing.F) {
	for _, expansion := range []uint32{0, 2} {
		b := small(f, expansion).AppendDump(nil)
		f.Add(b, true)
		f.Add(b[:len(b)-20], true)
	}
	for _, name := range []string{"redisbloom-scaling", "redisbloom-nonscaling"} {
		f.Add(readVector(f, name).File(f, "dump-payload.bin"), false)
	}
	_, compressed, _ := bytes.Cut(readVector(f, "redis-rdb").File(f, "dump.rdb"), []byte("bf:empty"))
	f.Add(append(append([]byte{rdb.KindModule}, compressed[:90]...), make([]byte, rdb.TailSize)...), true)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if end := len(b) - 8; sealed && end >= 0 {
			b = binary.LittleEndian.AppendUint64(b[:end:end], rdb.Checksum(b[:end]))
		}
		before := filtertest.HeapAllocs()
		g, err := Restore(b, nil)
		// Compressed, three bytes may stand for 264; and for each filter two copies.
		if n := filtertest.HeapAllocs() - before; n > 2<<20+2*264*uint64(len(b)) {
			t.Fatalf("restoring %d bytes allocated %d", len(b), n)
		}
		if (g == nil) == (err == nil) {
			t.Fatalf("%v and %v", g, err)
		}
		if err != nil {
			if !errors.Is(err, ErrBadData) {
				t.Fatal(err)
			}
			return
		}
		exercise(t, g)
	})
}
