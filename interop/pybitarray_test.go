package interop

import (
	"crypto/md5"
	"crypto/sha1"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
)

var bitarrayCases = []struct {
	dir    string
	hash   bitarrayHash
	m, k   uint64
	p      float64
	appear string // what is appended for a further digest
	times  int64
}{
	{"recipe-py-bitarray-md5dot", bitarrayMD5Dot, 2190, 6, 0.03, ".", 1},
	{"recipe-py-bitarray-md5dot-k40", bitarrayMD5Dot, 17313, 40, 0x1p-40, ".", 1},
	{"recipe-py-bitarray-md5x", bitarrayMD5X, 2190, 6, 0.03, "x", 1024},
	{"recipe-py-bitarray-sha1", bitarraySHA1, 2190, 6, 0.03, "X", 0},
	{"recipe-py-bitarray-sha1-2to31", bitarraySHA1First, 2190, 6, 0.03, "X", 0},
	{"recipe-py-bitarray-sha1-2to31-k40", bitarraySHA1First, 17313, 40, 0x1p-40, "X", 0},
	{"recipe-py-bitarray-sha1-k40", bitarraySHA1, 17313, 40, 0x1p-40, "X", 0},
}

func init() {
	for _, c := range bitarrayCases {
		goldenCases = append(goldenCases, goldenCase{
			dir: c.dir, spec: fmt.Sprintf("bitarray:gen=%s,m=%d,k=%d", c.hash, c.m, c.k),
			build: "bitarray:gen=" + string(c.hash), capacity: 300, errorRate: c.p,
		})
	}
}

// TestBitarrayProbes takes the positions from numbers of any length.
func TestBitarrayProbes(t *testing.T) {
	for _, c := range bitarrayCases {
		compareBits(t, goldenCase{dir: c.dir}, true, func(key []byte) (all []uint64) {
			text := string(key)
			base, x := big.NewInt(int64(c.m)), new(big.Int)
			least := big.NewInt(int64(c.m) * c.times)
			read := func() {
				if c.times != 0 {
					sum := md5.Sum([]byte(text))
					x.SetBytes(sum[:])
					return
				}
				sum := sha1.Sum([]byte(text))
				slices.Reverse(sum[:])
				x.SetBytes(sum[:])
			}
			if c.times == 0 {
				for base.SetInt64(1); base.Uint64() <= c.m; base.Lsh(base, 1) {
				}
				least.Set(base)
			}
			if c.hash != bitarraySHA1 {
				read()
			}
			for uint64(len(all)) < c.k {
				if x.Cmp(least) < 0 {
					text += c.appear
					read()
				}
				var at big.Int
				x.DivMod(x, base, &at)
				if at.Uint64() < c.m {
					all = append(all, at.Uint64())
				}
			}
			return all
		})
	}
}

// TestBitarrayFirst has the generation of which there is no golden case: it is the one
// before it with another letter.
func TestBitarrayFirst(t *testing.T) {
	key := []byte("a key that needs more than one digest")
	a := bitarray{bitarrayMD5First, 17313, 40}
	first, err := a.positions(nil, key)
	if err != nil {
		t.Fatal(err)
	}
	a.Hash = bitarrayMD5Dot
	dot, _ := a.positions(nil, key)
	a.Hash = bitarrayMD5X
	later, _ := a.positions(nil, key)
	// 128 bits last for 9 positions of 14 bits. Then one has the digest of the key and a
	// letter, and the others another one.
	if !slices.Equal(first[:8], dot[:8]) || slices.Equal(first, dot) || slices.Equal(first, later) || len(first) != 40 {
		t.Error(first, dot, later)
	}
}

func TestBitarraySize(t *testing.T) {
	for _, c := range bitarrayCases {
		a, err := bitarrayFor(c.hash, 300, c.p)
		if err != nil || a.M != c.m || a.K != c.k {
			t.Errorf("%s: %+v, %v", c.dir, a, err)
		}
	}
	for _, p := range []float64{0, 1, -1, math.NaN()} {
		if a, err := bitarrayFor(bitarraySHA1, 300, p); err == nil {
			t.Errorf("%v: %+v", p, a)
		}
	}
	if f, err := Create(specWith("bitarray", "gen", "sha512", "m", "100", "k", "2"), 1, 0.5); !errors.Is(err, ErrSpec) {
		t.Error(f, err)
	}
}
