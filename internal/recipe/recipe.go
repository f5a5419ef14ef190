// Package recipe knows which bits of Redis strings the filters of crawlers and of
// Redisson use for a key, and under which keys of Redis those are. It is for package
// interop, which reads such filters from files, and for package cluster, which shares
// them with running programs.
//
// It calculates positions and keys only, with no bits and no connections. Any number of
// goroutines may use a value.
package recipe

import (
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"unicode/utf8"
)

// Recipe is an [MD5] or a [Scrapy].
type Recipe interface {
	// Check returns an error for parameters that no such filter has.
	Check() error
	// Positions appends the bits of a key to dst, and returns the number of the string
	// that they are in.
	Positions(dst []uint64, key []byte) (block int, offsets []uint64)
	// Multipliers returns those of the polynomial hashes.
	Multipliers() []uint64
}

// MaxBits is the width of offsets beyond which Redis refuses SETBIT: its
// strings have at most 512 MiB.
const MaxBits = 32

// The widths of offsets as the recipes were published.
const (
	MD5Bits    = 31
	ScrapyBits = 30
)

// MD5 is the widely copied recipe of crawlers that remember URLs in Redis strings: seven
// polynomial hashes over the hexadecimal MD5 of a key, in one of several strings that the
// MD5 chooses. The strings are called NAME0, NAME1 and so on. A field that is 0 has the
// published value.
type MD5 struct {
	Blocks int // strings, 1 to 256; 1 as published
	Bits   int // of an offset, 1 to 32; 31 as published: strings of up to 256 MiB
}

// Check returns an error for parameters that no such filter has.
func (r MD5) Check() error {
	if r.Blocks < 0 || r.Blocks > 256 {
		return fmt.Errorf("the md5 recipe with %d blocks; use 1 to 256, which two hexadecimal digits choose", r.Blocks)
	}
	return checkBits(r.Bits)
}

func checkBits(bits int) error {
	if bits < 0 || bits > MaxBits {
		return fmt.Errorf("a recipe with offsets of %d bits; use 1 to %d", bits, MaxBits)
	}
	return nil
}

// Multipliers returns those of the seven hashes.
func (MD5) Multipliers() []uint64 {
	var all []uint64
	for _, seed := range md5Seeds {
		all = append(all, seed+1)
	}
	return all
}

var md5Seeds = [...]uint64{5, 7, 11, 13, 31, 37, 61}

// Positions appends to dst the offsets of the bits of a key, as SETBIT counts them (the
// most significant bit of a byte first), two of which may be equal, and returns the
// number of the string that has them. Published versions always answer that the empty key
// is new.
func (r MD5) Positions(dst []uint64, key []byte) (block int, offsets []uint64) {
	sum := md5.Sum(key)
	var text [2 * md5.Size]byte
	hex.Encode(text[:], sum[:])
	mask := offsetMask(r.Bits, MD5Bits)
	for _, seed := range md5Seeds {
		h := uint64(0)
		for _, c := range text {
			h = h*(seed+1) + uint64(c)
		}
		dst = append(dst, h&mask)
	}
	return int(sum[0]) % max(r.Blocks, 1), dst
}

// Scrapy is the recipe with which crawlers on Scrapy and Redis remember requests:
// polynomial hashes over the text of the key itself, which there is the SHA-1 fingerprint
// of the request in hexadecimal digits. A field that is 0 has the published value.
//
// The estimated number of keys of such a filter, and its error, are those for keys that
// are fingerprints.
type Scrapy struct {
	Bits   int // of an offset, 1 to 32; 30 as published
	Hashes int // seeds 0, 1 and so on; 6 as published
}

// MaxHashes is far above the seven hashes of recipes in use.
const MaxHashes = 256

// ScrapyHashes is the number of hashes as it was published.
const ScrapyHashes = 6

// Check returns an error for parameters that no such filter has.
func (r Scrapy) Check() error {
	if r.Hashes < 0 || r.Hashes > MaxHashes {
		return fmt.Errorf("the Scrapy recipe with %d hashes; use 1 to %d", r.Hashes, MaxHashes)
	}
	return checkBits(r.Bits)
}

// Positions appends to dst the offsets of the bits of a key, as SETBIT counts them, and
// returns 0, since all are in one string. The hashes run over the code points of the key,
// as Python's ord has them; a byte that is not UTF-8 counts as Python's surrogateescape
// has it, 0xdc00 and the byte. Published versions always answer that the empty key is
// new.
func (r Scrapy) Positions(dst []uint64, key []byte) (block int, offsets []uint64) {
	hashes := cmp.Or(r.Hashes, ScrapyHashes)
	mask := offsetMask(r.Bits, ScrapyBits)
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

// Multipliers returns those of the hashes.
func (r Scrapy) Multipliers() []uint64 {
	all := make([]uint64, cmp.Or(r.Hashes, ScrapyHashes))
	for i := range all {
		all[i] = uint64(i) + 1
	}
	return all
}

// offsetMask keeps the low bits of a hash; 0 means usual.
func offsetMask(bits, usual int) uint64 {
	return 1<<cmp.Or(bits, usual) - 1
}
