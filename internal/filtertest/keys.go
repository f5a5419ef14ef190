package filtertest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// A Keys is an endless family of distinct keys: At(dst, i) appends the i-th to
// dst. Families are like users' keys: regular, nearly alike, and so a test of the hash and
// of what is derived from it.
type Keys struct {
	Name string
	At   func(dst []byte, i uint64) []byte
}

// Families returns the key families of the error-rate tests.
func Families() []Keys {
	return []Keys{
		{"random", func(dst []byte, i uint64) []byte {
			r := rand.NewPCG(i, 0x5ee2)
			dst = binary.LittleEndian.AppendUint64(dst, r.Uint64())
			return binary.LittleEndian.AppendUint64(dst, r.Uint64())
		}},
		{"sequential", binary.LittleEndian.AppendUint64},
		{"decimal", func(dst []byte, i uint64) []byte { return fmt.Appendf(dst, "%d", i) }},
		{"url", func(dst []byte, i uint64) []byte {
			return fmt.Appendf(dst, "https://www.example.org/catalogue/item-%012d.html?page=1", i)
		}},
		{"prefix", func(dst []byte, i uint64) []byte {
			dst = append(dst, "a prefix that all of these keys have in common, longer than a stripe of the hash/"...)
			return binary.BigEndian.AppendUint32(dst, uint32(i))
		}},
		{"suffix", func(dst []byte, i uint64) []byte {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(i))
			return append(dst, "@a-suffix-that-all-of-these-keys-have-in-common.example.com"...)
		}},
	}
}

// RandomHashes returns n hashes from a fixed seed.
func RandomHashes(seed uint64, n int) []uint64 {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = r.Uint64()
	}
	return hs
}
