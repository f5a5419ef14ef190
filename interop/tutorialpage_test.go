package interop

import (
	"bytes"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func init() {
	goldenCases = append(goldenCases, []goldenCase{
		{dir: "tutorial-page-15", file: "setbits.txt", spec: "tutorial-page"},
		{dir: "tutorial-page-4096", file: "setbits.txt", spec: "tutorial-page:m=4096"},
	}...)
}

// TestTutorialPageProbes has the arithmetic of a browser spelled out: products rounded to
// 53 bits, and numbers of 32 bits multiplied by halves.
func TestTutorialPageProbes(t *testing.T) {
	word := func(v *big.Int) uint32 { // as the operator | has it
		return uint32(new(big.Int).Mod(v, big.NewInt(1<<32)).Uint64())
	}
	times := func(n uint32) uint32 {
		const m = 0x5bd1e995
		low, high := int64(n&0xffff)*m, int64(n>>16)*m&0xffff
		return word(big.NewInt(low + int64(int32(high<<16))))
	}
	g := readGolden(t, goldenCase{dir: "tutorial-page-4096", file: "setbits.txt"})
	boxes := strings.Fields(string(g.filter))
	for i, key := range g.asked {
		units := utf16.Encode([]rune(string(key)))
		var octets []byte
		for _, u := range units {
			if u > 255 {
				octets = append(octets, byte(u>>8))
			}
			octets = append(octets, byte(u))
		}
		h := new(big.Float).SetPrec(53).SetInt64(2166136261)
		for _, b := range octets {
			h.Mul(h, big.NewFloat(16777619))
			product, _ := h.Int(nil)
			h.SetInt64(int64(int32(word(product)) ^ int32(b)))
		}
		first, _ := h.Abs(h).Int64()

		at := func(i int) uint32 { return uint32(units[i]) }
		m := uint32(len(units))
		n := 0
		for ; len(units)-n >= 4; n += 4 {
			k := times(at(n) + at(n+1)<<8 + at(n+2)<<16 + at(n+3)<<24)
			m = times(m) ^ times(k^k>>24)
		}
		switch len(units) - n {
		case 3:
			m = times(m ^ (at(n) + at(n+1)<<8) ^ at(n+2)<<16)
		case 2:
			m = times(m ^ (at(n) + at(n+1)<<8))
		case 1:
			m = times(m ^ at(n))
		}
		m = times(m ^ m>>13)
		m ^= m >> 15
		want := slices.Contains(boxes, big.NewInt(first%4096).String()) && slices.Contains(boxes, big.NewInt(int64(m)%4096).String())
		if want != (g.answers[i] == "true") {
			t.Fatalf("key %q: %v, the page says %s", key, want, g.answers[i])
		}
	}
}

func TestTutorialPageList(t *testing.T) {
	list := []byte("1\n7\n8\n13\n")
	f, err := openTutorialPage(list, 15)
	if err != nil {
		t.Fatal(err)
	}
	expectBytes(t, "the list", written(t, f), list)
	f, err = openTutorialPage([]byte("13\r\n7\n1\n8"), 15)
	if err != nil {
		t.Fatal(err)
	}
	expectBytes(t, "the list in another order", written(t, f), list)
	expectReadOnly(t, f)
	if f.Has([]byte("\xff")) {
		t.Error("a key that is not text is there")
	}
	for _, bad := range []string{"15\n", "-1\n", "1 2\n", "x", "\n", "99999999999999999999\n"} {
		if f, err := openTutorialPage([]byte(bad), 15); !errors.Is(err, ErrBadData) {
			t.Errorf("%q: %v, %v", bad, f, err)
		}
	}
	for _, m := range []uint64{0, tutorialMaxBits + 1} {
		if f, err := openTutorialPage(nil, m); err == nil {
			t.Errorf("%d boxes: %v", m, f)
		}
	}
}

func FuzzTutorialPage(f *testing.F) {
	f.Add([]byte("1\n7\n"), "größer 𝄞")
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		exerciseForeign(t, bytes.Clone(b), Spec{Name: "tutorial-page"}, key)
	})
}
