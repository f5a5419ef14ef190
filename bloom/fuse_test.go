package bloom

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/FastFilter/xorfilter"
)

// TestFuseAsksAsItsLibrary holds our way of reading the array against that of the
// package that made it, for keys, strangers and every width.
func TestFuseAsksAsItsLibrary(t *testing.T) {
	for _, n := range []int{0, 1, 2, 10, 1000, 100_000} {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		hs := make([]uint64, n)
		for i := range hs {
			hs[i] = r.Uint64()
		}
		asks := slices.Clone(hs)
		for range 200_000 {
			asks = append(asks, r.Uint64())
		}
		likeLibrary[uint8](t, 8, hs, asks)
		likeLibrary[uint16](t, 16, hs, asks)
		likeLibrary[uint32](t, 32, hs, asks)
	}
}

func likeLibrary[T xorfilter.Unsigned](t *testing.T, bits int, hs, asks []uint64) {
	t.Helper()
	want, err := xorfilter.NewBinaryFuse[T](slices.Clone(hs))
	if err != nil {
		t.Fatal(err)
	}
	got, err := buildFuse(hs, bits)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := got.validate(uint64(len(want.Fingerprints))); wrong != "" {
		t.Errorf("%d hashes, %d bits: %s", len(hs), bits, wrong)
	}
	for _, h := range asks {
		if (got.residue(h) == 0) != want.Contains(h) {
			t.Fatalf("%d hashes, %d bits: the answers for %x differ", len(hs), bits, h)
		}
	}
}

// TestFuseLimits checks that more hashes than the library can index are refused
// and not wrapped around.
func TestFuseLimits(t *testing.T) {
	for bits, most := range map[int]float64{8: 3.8e9, 16: 1.9e9, 32: 0.95e9} {
		n := float64(mostFuse(bits))
		if n > 1.01*most || n < 0.99*most {
			t.Errorf("%d bits: %g hashes at most, the documentation says %g", bits, n, most)
		}
		// 1.125 slots per hash from a million on, rounded up to whole segments.
		if slots := 1.125*n + 3*mostSegment; slots*float64(bits/8) >= 1<<32 {
			t.Errorf("%d bits: %g slots overflow 32 bits of length", bits, slots)
		}
	}
}
