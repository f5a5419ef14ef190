package interop

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"seen/internal/recipe"
)

// TestRedisRecipes builds the strings of the original programs from the bits that were
// set, asks them, and makes them again from the keys. (The large one is asked by
// TestRedisRecipeVectors.)
func TestRedisRecipes(t *testing.T) {
	for _, c := range []struct {
		dir, spec, described string
		strings              []string
		size                 int // bytes of each
	}{
		{"recipe-py-redis-md5-2p10", "redis-recipe:type=md5,bits=10,blocks=2", "redis-recipe:bits=10,blocks=2,type=md5", []string{"bloomfilter0", "bloomfilter1"}, 128},
		{"recipe-py-scrapy-2p13", "redis-recipe:type=scrapy,bits=13", "redis-recipe:bits=13,hashes=6,type=scrapy", []string{"spider:bloomfilter"}, 1024},
	} {
		v := readVector(t, c.dir)
		var content []byte
		for _, name := range c.strings {
			one := make([]byte, c.size)
			for line := range strings.Lines(string(v.File(t, "setbits.tsv"))) {
				if text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), name+"\t"); ok {
					at, err := strconv.Atoi(text)
					if err != nil {
						t.Fatal(err)
					}
					one[at/8] |= 0x80 >> (at % 8)
				}
			}
			content = append(content, one...)
		}
		s, err := ParseSpec(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(content, s)
		if err != nil {
			t.Fatal(err)
		}
		v.compareForeign(t, "opened", f.Has)
		if d := f.Describe(); d.Format != c.described || len(d.Notes) == 0 {
			t.Errorf("%+v", d)
		}
		made, err := Create(s, 1, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range v.Keys {
			if _, err := made.(Adder).Add(key); err != nil {
				t.Fatal(err)
			}
		}
		expectBytes(t, c.dir, written(t, made), bytes.TrimRight(content, "\x00"))
		v.compareForeign(t, "made", made.Has)
	}
}

// TestRecipesAsPublished unites filters of one recipe, whose fields are given or 0.
func TestRecipesAsPublished(t *testing.T) {
	for _, c := range [][2]recipe.Recipe{
		{recipe.MD5{}, recipe.MD5{Blocks: 1, Bits: 31}}, {recipe.MD5{Bits: 10}, recipe.MD5{Blocks: 1, Bits: 10}}, {recipe.Scrapy{}, recipe.Scrapy{Bits: 30, Hashes: 6}},
	} {
		a, b := must(newRedisRecipe(c[0])), must(newRedisRecipe(c[1]))
		adds(t, b, [][]byte{[]byte("key")})
		if err := a.Union(b); err != nil || !a.Has([]byte("key")) {
			t.Errorf("%+v and %+v: %v", c[0], c[1], err)
		}
	}
	if _, err := newRedisRecipe(recipe.MD5{Blocks: -1}); err == nil {
		t.Error("-1 blocks")
	}
}

// TestTooManyBits opens filters as larger ones than they are, whose keys would not be
// found.
func TestTooManyBits(t *testing.T) {
	keys := numberedKeys(0, 100)
	for _, c := range []struct{ build, right, wrong string }{
		{"redisson:m=20000,k=5", "redisson:m=20100,k=5", "redisson:m=50000,k=5"},
		{"redis-recipe:type=md5,bits=14", "redis-recipe:type=md5,bits=14", "redis-recipe:type=md5"},
		{"redis-recipe:type=md5,bits=14,blocks=2", "redis-recipe:type=md5,bits=14,blocks=2,rdb=k", "redis-recipe:type=md5,bits=16,blocks=2,rdb=k"},
	} {
		f := must(Create(must(ParseSpec(c.build)), 1, 0.5))
		for _, key := range keys {
			must(f.(Adder).Add(key))
		}
		b := written(t, f)
		if strings.Contains(c.right, "rdb=") {
			b = rewrapped(t, f, "rdb:key=k")
		}
		if _, err := Open(b, must(ParseSpec(c.right))); err != nil {
			t.Error(err)
		}
		if _, err := Open(b, must(ParseSpec(c.wrong))); !errors.Is(err, ErrBadData) || !strings.Contains(err.Error(), "second half") {
			t.Errorf("%s as %s: %v", c.build, c.wrong, err)
		}
	}
}
