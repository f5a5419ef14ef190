package interop

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
	"unicode/utf16"
)

func init() {
	goldenCases = append(goldenCases, goldenCase{
		dir: "java-bitset-2p12", spec: "java-bitset:bits=4096", build: "java-bitset:bits=4096", capacity: 1, errorRate: 0.1,
	})
}

func TestJavaBitSetProbes(t *testing.T) {
	compareBits(t, goldenCase{dir: "java-bitset-2p12"}, false, func(key []byte) (all []uint64) {
		units := utf16.Encode([]rune(string(key)))
		for _, seed := range []uint32{5, 7, 11, 13, 31, 37, 61} {
			sum, power := uint32(0), uint32(1)
			for i := len(units) - 1; i >= 0; i-- { // from the last term of the polynomial on
				sum += power * uint32(units[i])
				power *= seed
			}
			all = append(all, uint64(sum%4096))
		}
		return all
	})
}

// TestJavaBitSetLarge has the set of the size that was published, which is kept
// compressed.
func TestJavaBitSetLarge(t *testing.T) {
	v := readVector(t, "java-bitset-2p25")
	r, err := gzip.NewReader(bytes.NewReader(v.File(t, "filter.bin.gz")))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(content, Spec{Name: "java-bitset"})
	if err != nil {
		t.Fatal(err)
	}
	v.compareForeign(t, "opened", f.Has)
	made, err := newBitmap(javaBitSet{1 << 25}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	adds(t, made, v.Keys[:3])
	for _, key := range v.Keys {
		if _, err := made.Add(key); err != nil {
			t.Fatal(err)
		}
	}
	expectBytes(t, v.Dir, written(t, made), content)
}
