package interop

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"seen/internal/recipe"
)

// recipeBitmap is the strings of a recipe in the order of their numbers, each but the last
// filled up with zeros to its full length.
type recipeBitmap struct {
	recipe recipe.Recipe
	kind   string // as the parameter type has it
	bits   int    // of an offset
	blocks int
	k      int
}

func recipeOf(r recipe.Recipe) (s recipeBitmap, err error) {
	switch r := r.(type) {
	case recipe.MD5:
		// Filled in, so that equal recipes are equal values.
		r.Bits, r.Blocks = cmp.Or(r.Bits, recipe.MD5Bits), cmp.Or(r.Blocks, 1)
		s = recipeBitmap{r, "md5", r.Bits, r.Blocks, len(r.Multipliers())}
	case recipe.Scrapy:
		r.Bits, r.Hashes = cmp.Or(r.Bits, recipe.ScrapyBits), cmp.Or(r.Hashes, recipe.ScrapyHashes)
		s = recipeBitmap{r, "scrapy", r.Bits, 1, r.Hashes}
	default:
		return s, errors.New("redis-recipe: there is no such recipe")
	}
	return s, s.recipe.Check()
}

// check refuses strings that are not whole bytes.
func (s recipeBitmap) check() error {
	if s.bits < 3 {
		return fmt.Errorf("offsets of %d bits give strings of less than a byte; give 3 or more", s.bits)
	}
	return nil
}

func (s recipeBitmap) positions(dst []uint64, key []byte) ([]uint64, error) {
	block, dst := s.recipe.Positions(dst, key)
	for i := range dst {
		dst[i] += uint64(block) << s.bits
	}
	return dst, nil
}

func (s recipeBitmap) size() (m, k uint64) { return uint64(s.blocks) << s.bits, uint64(s.k) }

func (s recipeBitmap) keyKind() KeyKind {
	if s.kind == "scrapy" {
		return KeyText
	}
	return KeyBytes
}

func (s recipeBitmap) params() []Field {
	f := []Field{{"type", s.kind}, {"bits", strconv.Itoa(s.bits)}}
	if s.kind == "scrapy" {
		return append(f, Field{"hashes", strconv.Itoa(s.k)})
	}
	return append(f, Field{"blocks", strconv.Itoa(s.blocks)})
}

func (recipeBitmap) name() string    { return "redis-recipe" }
func (recipeBitmap) order() bitOrder { return msbFirst }
func (recipeBitmap) trims() bool     { return true }

// spreads is false for several strings, which ReadStrings looks at, and for the scrapy
// recipe, whose short keys have low bits.
func (s recipeBitmap) spreads() bool { return s.kind == "md5" && s.blocks == 1 }

func (s recipeBitmap) describe() Description {
	d := Description{Format: specOf(s), System: "string of Redis, recipe with MD5", Hash: "seven polynomial hashes over the digits of MD5"}
	if s.kind == "scrapy" {
		d.System, d.Hash = "string of Redis, recipe of Scrapy crawlers", "polynomial hashes over the key"
	}
	d.Notes = []string{"the published recipe always says that the empty key is new"}
	return d
}

var redisRecipeFormat = format{
	name:   "redis-recipe",
	system: "strings of Redis, with the recipes of crawlers",
	params: append([]param{
		{name: "type", meaning: "md5: seven hashes over the MD5 of the key; scrapy: hashes over the key itself", values: []string{"md5", "scrapy"}, required: true},
		{name: "bits", meaning: "the width of an offset, 3 to 32; by default 31 for md5 and 30 for scrapy"},
		{name: "blocks", meaning: "the number of strings of an md5 recipe, 1 to 256; the file has all of them", preset: "1"},
		{name: "hashes", meaning: "the number of hashes of a scrapy recipe", preset: "6"},
	}, stringParams...),
	verified: "bits and answers of programs that follow the recipes, on Redis 7.4",
	open:     bitmapOf(redisRecipeOf).open,
	create:   bitmapOf(redisRecipeOf).createFixed,
	clone:    cloneOf[*bitmap],
	rewrap:   rewrapBitmap,
}

func redisRecipeOf(s Spec, _ uint64, _ float64) (bitmapSystem, error) { return s.recipe() }

// recipe reads the parameters.
func (s Spec) recipe() (recipeBitmap, error) {
	bits, err := s.number("bits", 3, recipe.MaxBits)
	if err != nil {
		return recipeBitmap{}, err
	}
	kind, most := "blocks", uint64(256)
	if s.Params["type"] == "scrapy" {
		kind, most = "hashes", recipe.MaxHashes
	}
	n, err := s.number(kind, 1, most)
	if err != nil {
		return recipeBitmap{}, err
	}
	if kind == "hashes" {
		return recipeOf(recipe.Scrapy{Bits: int(bits), Hashes: int(n)})
	}
	return recipeOf(recipe.MD5{Blocks: int(n), Bits: int(bits)})
}
