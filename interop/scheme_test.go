package interop

import (
	"testing"

	"seen/internal/recipe"
)

// TestPlainNoCopy parses what is as long as filters may be, and asks it: neither takes
// memory.
func TestPlainNoCopy(t *testing.T) {
	const size = 16 << 20
	expectNoCopy(t, func(b []byte) (Foreign, error) {
		// The capacity whose size these bytes have: 14,000,000 keys at 0.01.
		m, _, err := pySize(14_000_000, 0.01)
		if err != nil {
			return nil, err
		}
		b = pyFooter{14_000_000, 0, 0.01}.append(b[:bytesOf(m):bytesOf(m)+pyFooterSize], false)
		return foreign(openPyBloom(b, pyOptions{}))
	}, nil, size+1<<20)
	expectNoCopy(t, func(b []byte) (Foreign, error) {
		return foreign(openBitmap(b, redisson{Size: 8 * size, Iterations: 7}))
	}, nil, size)
	expectNoCopy(t, func(b []byte) (Foreign, error) {
		return foreign(openRedisRecipe(b, recipe.Scrapy{}))
	}, nil, size)
	expectNoCopy(t, func(b []byte) (Foreign, error) { return foreign(openBitmap(b, javaBitSet{8 * size})) }, nil, size)
	expectNoCopy(t, func(b []byte) (Foreign, error) {
		return foreign(openBitmap(b, bitarray{bitarrayMD5Dot, 8 * size, 4}))
	}, nil, size)
	expectNoCopy(t, func(b []byte) (Foreign, error) {
		b[len(b)-1] = 6
		return foreign(openLevelDB(b))
	}, nil, size)
	expectNoCopy(t, func(b []byte) (Foreign, error) {
		b[len(b)-5], b[len(b)-3] = 0xff, 6
		return foreign(openRocksDB(b))
	}, nil, size+5)
	expectNoCopy(t, func(b []byte) (Foreign, error) {
		return foreign(openClickHouse(b, clickHouseIndex{Kind: clickHouseGrams, Probes: 4, Gram: 3}))
	}, nil, size)
}

// TestFNV holds the hash of pyprobables and npm bloomfilter against FNV-1a.
func TestFNV(t *testing.T) {
	for i, want := range []uint64{0xcbf29ce484222325, 0xaf63dc4c8601ec8c, 0x779a65e7023cd2e7, 0xfb5c8cec60d83ab1, 0xe78ddf9f1ba85555} {
		key := anchors()[i]
		for _, o := range []pyOptions{{}, {Bytes: true}} {
			if got := o.hashes(nil, key, 1)[0]; got != want {
				t.Errorf("%d bytes: %x, want %x", len(key), got, want)
			}
		}
	}
}

// TestPlainCounts counts keys that are new, and for pyprobables all of them.
func TestPlainCounts(t *testing.T) {
	f, err := newLevelDB(10, 10)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPyBloom(pyConfig{Capacity: 10, ErrorRate: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"one", "two", "one"} {
		for _, a := range []Adder{f, p} {
			if _, err := a.Add([]byte(key)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a, b := f.Stats().Added, p.Stats().Added; a != 2 || b != 3 {
		t.Errorf("%d and %d keys were added, want 2 and 3", a, b)
	}
	if _, err := p.Add([]byte("\xff")); err == nil || p.Stats().Added != 3 {
		t.Error("what was refused is counted", err)
	}
}

// TestBitsBeyond has bits set behind the last: they are told, kept, and not counted.
func TestBitsBeyond(t *testing.T) {
	b := []byte{0x80, 0x3f} // the first, and all from the eleventh on
	f, err := openBitmap(b, bitarray{bitarraySHA1, 10, 1})
	if err != nil {
		t.Fatal(err)
	}
	if notes := f.Describe().Notes; len(notes) != 1 || notes[0] != "6 bits beyond the 10 of the filter are set; they have no effect and are kept" {
		t.Errorf("%q", notes)
	}
	if ones := f.Stats().Ones; ones != 1 {
		t.Errorf("%d bits are set", ones)
	}
	clone, err := f.Clone()
	if err != nil {
		t.Fatal(err)
	}
	expectBytes(t, "the clone", written(t, clone), b)
	g, err := openBitmap([]byte{1, 0, 0, 0x70}, redisson{Size: 26, Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	if notes := g.Describe().Notes; len(notes) != 2 || notes[1][:7] != "2 bits " {
		t.Errorf("%q", notes)
	}
}
