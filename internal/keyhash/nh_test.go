package keyhash

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"
)

// secretOf returns the i-th of many secrets.
func secretOf(i int) (s [SecretSize]byte) {
	rng := rand.New(rand.NewPCG(uint64(i), 77))
	binary.LittleEndian.PutUint64(s[:], rng.Uint64())
	binary.LittleEndian.PutUint64(s[8:], rng.Uint64())
	return s
}

// The values are those of docs/readers/nh.py, which was written from docs/FORMAT.md.
func TestNHGoldenValues(t *testing.T) {
	count := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i % 251)
		}
		return b
	}
	h := Hash{Algorithm: NH, Secret: secret()}
	for _, c := range []struct {
		key  []byte
		want uint64
	}{
		{nil, 0x7e7777187dbf9546},
		{[]byte("a"), 0xdc14aaee5c122473},
		{[]byte("seen"), 0xd6c34b46507594d3},
		{[]byte("https://example.com/"), 0x76b5cca3ec62bc77},
		{count(100), 0xe752ac1d39dab2a6},
		{count(1024), 0x92972c3a14946bc8},
		{count(1025), 0x2429e7c4b8c04d19},
		{count(5000), 0x21553dfc73da8c02},
	} {
		if got := h.Sum(c.key); got != c.want {
			t.Errorf("%v of %d bytes is %016x, want %016x", h, len(c.key), got, c.want)
		}
	}
}

// TestNHKeepsKeysApart hashes keys that are as alike as keys can be: all those of one
// and two bytes, runs of one byte of every length, and keys of one length that differ
// in one bit. All lengths that are treated differently are among them.
func TestNHKeepsKeysApart(t *testing.T) {
	for i := range 3 {
		h := Hash{Algorithm: NH, Secret: secretOf(i)}
		seen := map[uint64]string{}
		add := func(key []byte) {
			sum := h.Sum(key)
			if other, is := seen[sum]; is {
				t.Fatalf("%v: %q and %q both hash to %x", h, other, key, sum)
			}
			seen[sum] = string(key)
		}
		for x := range 1 << 16 {
			add([]byte{byte(x), byte(x >> 8)})
		}
		for x := range 256 {
			add([]byte{byte(x)})
		}
		for n := range 4200 {
			if n != 1 && n != 2 {
				add(bytes.Repeat([]byte{'a'}, n))
			}
		}
		for _, n := range []int{3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 100, 1023, 1024, 1025, 1040, 2048, 2049} {
			key := bytes.Repeat([]byte{'b'}, n)
			add(key)
			for at := range 8 * n {
				key[at/8] ^= 1 << (at % 8)
				add(key)
				key[at/8] ^= 1 << (at % 8)
			}
		}
	}
}

// TestNHSpreadsAlikeKeys counts the hashes of runs of keys as people have them by
// their highest bits, their lowest, and the bits that choose lanes in a filter. NH is
// a sum of products: without its end, such runs would be far from random.
func TestNHSpreadsAlikeKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	const n, cells = 1 << 16, 1 << 10
	runs := map[string]func(i int) []byte{
		"numbers":       func(i int) []byte { return fmt.Append(nil, i) },
		"padded":        func(i int) []byte { return fmt.Appendf(nil, "%012d", i) },
		"ids":           func(i int) []byte { return fmt.Appendf(nil, "user%08d", i) },
		"urls":          func(i int) []byte { return fmt.Appendf(nil, "https://example.com/page/%d.html", i) },
		"little-endian": func(i int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(i)) },
		"high words":    func(i int) []byte { return binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(i)<<48) },
		"long":          func(i int) []byte { return fmt.Appendf(bytes.Repeat([]byte{'x'}, 1500), "%d", i) },
	}
	views := map[string]func(h uint64) uint64{
		"highest": func(h uint64) uint64 { return h >> 54 },
		"lowest":  func(h uint64) uint64 { return h % cells },
		"lanes":   func(h uint64) uint64 { return h * 0x9e3779b97f4a7c15 >> 16 % cells },
		"next":    func(h uint64) uint64 { y := h * 0xd1342543de82ef95; return (y ^ y>>32) >> 54 },
	}
	const secrets = 5
	// Chi squared has cells-1 degrees of freedom; of so many values none is further off
	// than six standard deviations, in either direction.
	limit := 6 * math.Sqrt(2*(cells-1))
	for i := range secrets {
		h := Hash{Algorithm: NH, Secret: secretOf(100 + i)}
		for run, key := range runs {
			var counts = map[string]*[cells]float64{}
			for view := range views {
				counts[view] = new([cells]float64)
			}
			for i := range n {
				sum := h.Sum(key(i))
				for view, cell := range views {
					counts[view][cell(sum)]++
				}
			}
			for view, count := range counts {
				chi := 0.0
				for _, c := range count {
					chi += (c - n/cells) * (c - n/cells) / (n / cells)
				}
				if math.Abs(chi-(cells-1)) > limit {
					t.Errorf("%v, %s, %s bits: chi squared %.0f of %d cells, want within %.0f of %d", h, run, view, chi, cells, limit, cells-1)
				}
			}
		}
	}
}

// forged returns a key of 16 bytes with the XXH3 hash that victim has, for a seed.
// One factor of the product that the hash is made of becomes 0, so that what remains
// is a sum of known numbers.
func forged(victim [16]byte, seed uint64) []byte {
	le := binary.LittleEndian
	a, b := 0x6782737bea4239b9+seed, 0xaf56bc3b0996523a-seed
	low, high := le.Uint64(victim[:])^a, le.Uint64(victim[8:])^b
	h, l := bits.Mul64(low, high)
	sum := bits.ReverseBytes64(low) + high + (h ^ l)
	return le.AppendUint64(le.AppendUint64(nil, a), sum^b)
}

// TestForgedKeys makes second preimages of XXH3, which hold for one seed, and looks
// at them with NH.
func TestForgedKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 1000 {
		var victim [16]byte
		binary.LittleEndian.PutUint64(victim[:], rng.Uint64())
		binary.LittleEndian.PutUint64(victim[8:], rng.Uint64())
		for _, seed := range []uint64{0, rng.Uint64()} {
			key := forged(victim, seed)
			if a, b := xxh3.HashSeed(victim[:], seed), xxh3.HashSeed(key, seed); a != b {
				t.Fatalf("seed %d: the forged key has the hash %x, its victim %x", seed, b, a)
			}
			if h := (Hash{Algorithm: NH, Secret: secretOf(i)}); h.Sum(victim[:]) == h.Sum(key) {
				t.Errorf("%v: %x and %x collide", h, victim, key)
			}
		}
	}
}

// TestLongKeysForManySeeds shows why a random seed of XXH3 would not do: these two
// keys collide for about one of 60 to 100 seeds, which is why 64 random bits do not help. In an accumulator two
// pieces of the key change by 2^63 each, which cancels out, and so do the changes of their
// products, where the secret of the two pieces, moved by the seed, has a likely difference.
func TestLongKeysForManySeeds(t *testing.T) {
	const first, second = 0, 12 * 64
	difference := uint32(0x0a0a0410)
	a := bytes.Repeat([]byte{'a'}, 897)
	for i := range 4 {
		a[second+i] ^= byte(difference >> (8 * i))
	}
	b := bytes.Clone(a)
	b[first+7] ^= 0x80
	b[second+7] ^= 0x80
	rng := rand.New(rand.NewPCG(7, 8))
	const seeds = 20_000
	collisions := 0
	for range seeds {
		if seed := rng.Uint64(); xxh3.HashSeed(a, seed) == xxh3.HashSeed(b, seed) {
			collisions++
		}
	}
	if collisions < seeds/300 {
		t.Errorf("%d collisions for %d seeds of XXH3: the keys are not what this test is about", collisions, seeds)
	}
	for i := range seeds {
		if h := (Hash{Algorithm: NH, Secret: secretOf(i)}); h.Sum(a) == h.Sum(b) {
			t.Errorf("%v: the keys collide", h)
		}
	}
	t.Logf("%d collisions for %d seeds", collisions, seeds)
}

func TestRandom(t *testing.T) {
	a, b := Random(), Random()
	if a == b || a.Validate() != nil || a.KeyID() == b.KeyID() || a.KeyID() == 0 {
		t.Errorf("%v and %v", a, b)
	}
}
