package keyhash

import (
	"fmt"
	"testing"
)

// TestBatches compares every way to hash many keys, or one by the default, with
// Sum, for all lengths that XXH3 treats differently.
func TestBatches(t *testing.T) {
	var keys [][]byte
	var texts []string
	flat := []byte("before")
	begin := len(flat)
	var ends []int
	for n := range 300 {
		key := make([]byte, n)
		for i := range key {
			key[i] = byte(i*n + i>>3)
		}
		keys, texts = append(keys, key), append(texts, string(key))
		flat = append(flat, key...)
		ends = append(ends, len(flat))
	}
	for _, h := range []Hash{{}, {Seed: 7}, Keyed([SecretSize]byte{1, 2, 3})} {
		want := make([]uint64, len(keys))
		for i, key := range keys {
			want[i] = h.Sum(key)
			if h == (Hash{}) && Default(key) != want[i] {
				t.Errorf("length %d: Default is %x, Sum %x", i, Default(key), want[i])
			}
			if h == (Hash{}) && IsShort(key) && Short(key) != want[i] {
				t.Errorf("length %d: Short is %x, Sum %x", i, Short(key), want[i])
			}
		}
		for name, sum := range map[string]func(hs []uint64){
			"SumKeys":    func(hs []uint64) { h.SumKeys(hs, keys) },
			"SumStrings": func(hs []uint64) { h.SumStrings(hs, texts) },
			"SumFlat":    func(hs []uint64) { h.SumFlat(hs, flat, begin, ends) },
		} {
			hs := make([]uint64, len(keys)+1)
			sum(hs)
			if fmt.Sprint(hs[:len(keys)]) != fmt.Sprint(want) || hs[len(keys)] != 0 {
				t.Errorf("%v: %s differs from Sum", h, name)
			}
		}
	}
}
