package recipe

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"seen/internal/filtertest"
)

// TestRecipeVectors sets the bits of all keys and demands exactly those that
// the original program has set in Redis, and its answers.
func TestRecipeVectors(t *testing.T) {
	for _, test := range []struct {
		dir    string
		recipe Recipe
		name   func(block int) string
	}{
		{"recipe-py-redis-md5-2p10", MD5{Blocks: 2, Bits: 10}, func(block int) string { return fmt.Sprint("bloomfilter", block) }},
		{"recipe-py-redis-md5-2p31", MD5{Blocks: 2}, func(block int) string { return fmt.Sprint("bloomfilter", block) }},
		{"recipe-py-scrapy-2p13", Scrapy{Bits: 13}, func(int) string { return "spider:bloomfilter" }},
	} {
		t.Run(test.dir, func(t *testing.T) {
			v := filtertest.ReadVector(t, "../../interop/testdata/"+test.dir)
			set := map[string]bool{}
			bits := func(key []byte) []string {
				block, offsets := test.recipe.Positions(nil, key)
				var all []string
				for _, o := range offsets {
					all = append(all, fmt.Sprintf("%s\t%d\n", test.name(block), o))
				}
				return all
			}
			for _, key := range v.Keys {
				for _, b := range bits(key) {
					set[b] = true
				}
			}
			want := map[string]bool{}
			for line := range strings.Lines(string(v.File(t, "setbits.tsv"))) {
				want[line] = true
			}
			if !maps.Equal(set, want) {
				t.Errorf("%d bits, and the original has %d others", len(set), len(want))
			}
			for i, key := range v.Asked {
				got := !slices.ContainsFunc(bits(key), func(b string) bool { return !want[b] })
				if fmt.Sprint(got) != v.Answers[i] {
					t.Errorf("key %q: %v, want %s", key, got, v.Answers[i])
				}
			}
		})
	}
}

// TestRecipeLimits checks parameters, defaults and keys that are not text.
func TestRecipeLimits(t *testing.T) {
	for _, bad := range []Recipe{MD5{Blocks: -1}, MD5{Blocks: 257}, MD5{Bits: 33}, MD5{Bits: -1}, Scrapy{Bits: 33}, Scrapy{Hashes: -1}, Scrapy{Hashes: 257}} {
		if bad.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	for _, same := range [][2]Recipe{{MD5{}, MD5{Blocks: 1, Bits: 31}}, {Scrapy{}, Scrapy{Bits: 30, Hashes: 6}}, {MD5{Bits: 32}, MD5{Bits: 32, Blocks: 1}}} {
		for _, key := range []string{"", "key", strings.Repeat("long", 100)} {
			a, as := same[0].Positions(nil, []byte(key))
			b, bs := same[1].Positions([]uint64{7}, []byte(key))
			if a != b || !slices.Equal(append([]uint64{7}, as...), bs) {
				t.Errorf("%+v and %+v differ for %q", same[0], same[1], key)
			}
			if same[0].Check() != nil {
				t.Errorf("%+v is refused", same[0])
			}
		}
	}
	// ord of 'a', of U+1F600, and of the byte 0xff read with surrogateescape.
	for key, want := range map[string]uint64{"a": 0x61, "\U0001f600": 0x1f600, "\xff": 0xdcff, "\xef\xbf\xbd": 0xfffd} {
		if _, offsets := (Scrapy{Hashes: 2}).Positions(nil, []byte(key)); !slices.Equal(offsets, []uint64{want, want}) {
			t.Errorf("offsets of %q are %x, want %x", key, offsets, want)
		}
	}
	key := bytes.Repeat([]byte{'x'}, 40)
	dst := make([]uint64, 0, 16)
	if n := testing.AllocsPerRun(100, func() { MD5{}.Positions(dst, key) }); n != 0 {
		t.Errorf("%v allocations for a key", n)
	}
}
