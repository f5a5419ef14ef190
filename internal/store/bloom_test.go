package store

import (
	"fmt"
	"testing"
)

func testKeys(prefix string, n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "%s-%d", prefix, i)
	}
	return keys
}

func TestAddHas(t *testing.T) {
	s, err := Open("/d", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, _, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: 0.001, Capacity: 100, Expansion: 2})
	if err != nil {
		t.Fatal(err)
	}
	keys := testKeys("k", 10000)
	added := make([]bool, len(keys))
	done, _, err := f.Add(added, keys)
	if err != nil || done != len(keys) {
		t.Fatal(done, err)
	}
	n := 0
	for _, a := range added {
		if a {
			n++
		}
	}
	if uint64(n) != f.Info().Added || n < 9900 {
		t.Fatal(n, f.Info())
	}
	found := make([]bool, len(keys))
	f.Has(found, keys)
	for i := range found {
		if !found[i] {
			t.Fatal(i)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		s.Get([]byte("a")).(*Bloom).Has(found[:4096], keys[:4096])
	}); n != 0 {
		t.Fatal(n)
	}
	t.Logf("%+v", f.Info())
}
