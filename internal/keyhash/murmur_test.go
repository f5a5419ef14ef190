package keyhash

import (
	"bytes"
	"testing"
)

// TestMurmur64A holds the function against values of another implementation.
func TestMurmur64A(t *testing.T) {
	counting := make([]byte, 100)
	for i := range counting {
		counting[i] = byte(i)
	}
	for _, c := range []struct {
		key  []byte
		want uint64
	}{
		{nil, 0x1ab11ea5a7b2c56e},
		{[]byte("a"), 0x4292cee227b9150a},
		{[]byte("hello world"), 0xbae8fb35317acde1},
		{counting, 0xd1a51002e2f20c37},
		{bytes.Repeat([]byte("x"), 300), 0x3e6d88375f4bf77c},
	} {
		if got := SumMurmur64A(c.key, 0xc6a4a7935bd1e995); got != c.want {
			t.Errorf("%q: %016x, want %016x", c.key, got, c.want)
		}
		h := Hash{Algorithm: Murmur64A, Seed: 0xc6a4a7935bd1e995}
		hs := make([]uint64, 1)
		h.SumKeys(hs, [][]byte{c.key})
		if h.Sum(c.key) != c.want || h.SumString(string(c.key)) != c.want || hs[0] != c.want {
			t.Errorf("%q: %016x as a Hash, want %016x", c.key, h.Sum(c.key), c.want)
		}
	}
}
