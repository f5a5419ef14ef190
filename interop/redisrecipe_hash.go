package interop

import (
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"unicode/utf8"
)

// maxRecipeBits is the width of offsets beyond which Redis refuses SETBIT: its
// strings have at most 512 MiB.
const maxRecipeBits = 32

// The widths of offsets as the recipes were published.
const (
	MD5RecipeBits    = 31
	ScrapyRecipeBits = 30
)

// MD5Recipe is the widely copied recipe of crawlers that remember URLs in Redis
// strings: seven polynomial hashes over the hexadecimal MD5 of a key, in one of
// several strings that the MD5 chooses. The strings are called NAME0, NAME1 and so
// on. The zero value of a field stands for what the recipe has as it was
// published.
type MD5Recipe struct {
	Blocks int // strings, 1 to 256; 1 as published
	Bits   int // of an offset, 1 to 32; 31 as published: strings of up to 256 MiB
}

// Check returns an error for parameters that no such filter has.
func (r MD5Recipe) Check() error {
	if r.Blocks < 0 || r.Blocks > 256 {
		return fmt.Errorf("the md5 recipe with %d blocks; two hexadecimal digits choose one of at most 256", r.Blocks)
	}
	return checkRecipeBits(r.Bits)
}

func checkRecipeBits(bits int) error {
	if bits < 0 || bits > maxRecipeBits {
		return fmt.Errorf("a recipe with offsets of %d bits; Redis has 1 to %d", bits, maxRecipeBits)
	}
	return nil
}

var md5RecipeSeeds = [...]uint64{5, 7, 11, 13, 31, 37, 61}

// Positions appends to dst the offsets of the bits of a key, as SETBIT counts
// them (the most significant bit of a byte first), two of which may be equal, and
// returns the number of the string in which they lie. Published versions answer
// for the empty key that it was never seen, without looking.
func (r MD5Recipe) Positions(dst []uint64, key []byte) (block int, offsets []uint64) {
	sum := md5.Sum(key)
	var text [2 * md5.Size]byte
	hex.Encode(text[:], sum[:])
	mask := offsetMask(r.Bits, MD5RecipeBits)
	for _, seed := range md5RecipeSeeds {
		h := uint64(0)
		for _, c := range text {
			h = h*(seed+1) + uint64(c)
		}
		dst = append(dst, h&mask)
	}
	return int(sum[0]) % max(r.Blocks, 1), dst
}

// ScrapyRecipe is the recipe with which crawlers on Scrapy and Redis remember
// requests: polynomial hashes over the text of the key itself, which there is the
// SHA-1 fingerprint of the request in hexadecimal digits. The zero value of a
// field stands for what the recipe has as it was published.
//
// The estimated number of keys of such a filter, and its error, are those for keys that
// are fingerprints.
type ScrapyRecipe struct {
	Bits   int // of an offset, 1 to 32; 30 as published
	Hashes int // seeds 0, 1 and so on; 6 as published
}

// maxRecipeHashes is far above the seven of any recipe seen in use.
const maxRecipeHashes = 256

// scrapyRecipeHashes is the number of hashes as it was published.
const scrapyRecipeHashes = 6

// Check returns an error for parameters that no such filter has.
func (r ScrapyRecipe) Check() error {
	if r.Hashes < 0 || r.Hashes > maxRecipeHashes {
		return fmt.Errorf("the Scrapy recipe with %d hashes; 1 to %d are supported", r.Hashes, maxRecipeHashes)
	}
	return checkRecipeBits(r.Bits)
}

// Positions appends to dst the offsets of the bits of a key, as SETBIT counts
// them, and returns 0, since all lie in one string. The hashes run over the code
// points of the key, as Python's ord has them; a byte that is not UTF-8 counts as
// Python's surrogateescape has it, 0xdc00 and the byte. Published versions answer
// for the empty key that it was never seen, without looking.
func (r ScrapyRecipe) Positions(dst []uint64, key []byte) (block int, offsets []uint64) {
	hashes := cmp.Or(r.Hashes, scrapyRecipeHashes)
	mask := offsetMask(r.Bits, ScrapyRecipeBits)
	for seed := range uint64(hashes) {
		h := uint64(0)
		for rest := key; len(rest) > 0; {
			c, size := utf8.DecodeRune(rest)
			if c == utf8.RuneError && size == 1 {
				c = 0xdc00 + rune(rest[0])
			}
			h = h*(seed+1) + uint64(c)
			rest = rest[size:]
		}
		dst = append(dst, h&mask)
	}
	return 0, dst
}

// offsetMask keeps the low bits of a hash; 0 stands for usual.
func offsetMask(bits, usual int) uint64 {
	return 1<<cmp.Or(bits, usual) - 1
}
