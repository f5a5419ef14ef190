package keyhash

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zeebo/xxh3"
)

// many hashes keys in every way that there is for many, and fails if one of them
// does not give want.
func many(t *testing.T, h Hash, keys [][]byte, want []uint64) {
	t.Helper()
	var texts []string
	for _, key := range keys {
		texts = append(texts, string(key))
	}
	var lines []byte
	var lineEnds []uint32
	for _, key := range keys {
		lines = append(append(lines, key...), "\r\n"...)
		lineEnds = append(lineEnds, uint32(len(lines)))
	}
	for name, sum := range map[string]func(hs []uint64){
		"Summer": func(hs []uint64) {
			sum := h.Summer()
			for i, key := range keys {
				hs[i] = sum.Sum(key)
			}
		},
		"SumLines":   func(hs []uint64) { h.SumLines(hs[:len(keys)], lines, lineEnds, 2) },
		"SumKeys":    func(hs []uint64) { h.SumKeys(hs, keys) },
		"SumStrings": func(hs []uint64) { h.SumStrings(hs, texts) },
	} {
		hs := make([]uint64, len(keys)+1)
		if sum(hs); hs[len(keys)] != 0 {
			t.Fatalf("%v: %s writes a hash too many", h, name)
		}
		for i, key := range keys {
			if hs[i] != want[i] {
				t.Fatalf("%v: %s says %x for %q, which is %d of %d, want %x", h, name, hs[i], key, i, len(keys), want[i])
			}
		}
	}
}

// TestBatches compares every way to hash many keys with Sum, and that with the
// library, for all lengths that XXH3 treats differently.
func TestBatches(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		var keys [][]byte
		for n := range 513 {
			key := make([]byte, n)
			for i := range key {
				key[i] = byte(i*n + i>>3)
			}
			keys = append(keys, key)
		}
		for _, h := range []Hash{{}, {Seed: 7}, keyed([SecretSize]byte{1, 2, 3}), {Algorithm: NH, Secret: secret()}} {
			want := make([]uint64, len(keys))
			for i, key := range keys {
				want[i] = h.Sum(key)
				if h.Algorithm == XXH3 && want[i] != xxh3.HashSeed(key, h.Seed) {
					t.Errorf("%v: Sum of %d bytes is %x, want %x", h, i, want[i], xxh3.HashSeed(key, h.Seed))
				}
				if h == (Hash{}) && IsShort(key) && Short(key) != want[i] {
					t.Errorf("length %d: Short is %x, Sum %x", i, Short(key), want[i])
				}
			}
			for at := 0; at < len(keys); at += 100 {
				many(t, h, keys[:at], want)
				many(t, h, keys[at:], want[at:])
			}
			slices.Reverse(keys)
			slices.Reverse(want)
			many(t, h, keys, want)
		}
	})
}

// TestBatchesOfRandomKeys has keys at every alignment, in no order of lengths.
func TestBatchesOfRandomKeys(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		buf := make([]byte, 2000)
		for i := range buf {
			buf[i] = byte(r.Uint32())
		}
		for range 2000 {
			keys := make([][]byte, r.IntN(40))
			want := make([]uint64, len(keys))
			for i := range keys {
				begin := r.IntN(1000)
				keys[i] = buf[begin : begin+r.IntN(1<<r.IntN(10))]
				want[i] = xxh3.Hash(keys[i])
			}
			many(t, Hash{}, keys, want)
		}
	})
}

// FuzzBatches cuts data into keys and compares their hashes with the reference.
func FuzzBatches(f *testing.F) {
	f.Add(bytes.Repeat([]byte("key,"), 100), []byte{0, 1, 2, 3, 4, 8, 9, 16, 17})
	f.Add(bytes.Repeat([]byte{0, 255}, 1000), []byte{128, 129, 240, 241, 255, 0, 16})
	f.Fuzz(func(t *testing.T, data, lengths []byte) {
		var keys [][]byte
		var want []uint64
		for _, n := range lengths {
			n := min(int(n)*2-int(n)%2, len(data))
			keys, want = append(keys, data[:n]), append(want, xxh3.Hash(data[:n]))
			data = data[n/2:] // keys overlap, so that a little data makes many
		}
		everyPath(t, func(t *testing.T) { many(t, Hash{}, keys, want) })
	})
}
