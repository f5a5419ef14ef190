package interop

import (
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// The hashes of the recipes are polynomials over hexadecimal digits: each digit c makes h
// a multiplier times h, plus c, modulo a power of two. With 2^v in the multiplier only the
// last digits have an effect, v bits of the position each, and a digit has just 16 values
// from 48 to 57 and from 97 to 102.
//
//	v = 0, multiplier 1  the sum of the digits, which has a few hundred values
//	v = 0, above 1       even, by the number of digits
//	v = 1                even, as half of the digits are odd
//	v = 2, 3             uneven; the low 15 bits of a position tell nearly all
//	v = 4 and more       few positions: 1 of 64 for v = 5 and 31 bits
//
// The text is taken for the digits of a good hash. In the md5 recipe it is the MD5 of the
// key; the scrapy recipe is made for SHA-1 fingerprints, and the estimate is wrong by up
// to one part in k for other keys.

const (
	recipeLowBits = 15  // of positions, of which frequencies are calculated
	recipeGroups  = 512 // of positions with about the same chance to be chosen
	// recipeDoubt covers what low bits and groups leave out: less than 0.1 % was found by
	// simulation, with 13 to 22 bits.
	recipeDoubt = 0.001
	// recipeSample is the number of keys of which the different positions are counted.
	recipeSample = 4096

	hexLetters = "0123456789abcdef"
	sha1Digits = 40
	sha1Sum    = sha1Digits * 'f' // largest sum of the digits
)

func (recipeBitmap) doubt() float64 { return recipeDoubt }

// recipeParts caches what parts calculates in 10 to 70 ms, of a few recipes. Parts never
// change, so any number of goroutines may use them.
var recipeParts struct {
	sync.Mutex
	of map[recipeBitmap][]bitPart
}

func (s recipeBitmap) parts() []bitPart {
	recipeParts.Lock()
	defer recipeParts.Unlock()
	if p, ok := recipeParts.of[s]; ok {
		return p
	}
	if len(recipeParts.of) >= 8 {
		clear(recipeParts.of)
	}
	p := s.calculateParts()
	if recipeParts.of == nil {
		recipeParts.of = make(map[recipeBitmap][]bitPart)
	}
	recipeParts.of[s] = p
	return p
}

func (s recipeBitmap) calculateParts() []bitPart {
	low := min(s.bits, recipeLowBits)
	positions := 1 << low
	// One position for each value of the low bits, with high bits that are mixed from them.
	parts := make([]bitPart, positions)
	for i := range parts {
		parts[i] = bitPart{share: 1 / float64(positions), rates: make([]float64, s.k)}
	}
	sum := -1 // the hash with multiplier 1
	for i, multiplier := range s.recipe.Multipliers() {
		total := 0.0
		rate := func(int) float64 { return 1 }
		switch v := bits.TrailingZeros64(multiplier); {
		case multiplier == 1:
			sum = i
			continue
		case v == 2 || v == 3:
			chances := lowChances(multiplier, low, (low+v-1)/v)
			rate = func(j int) float64 { return chances[j] * float64(positions) }
		case v > 3:
			rate = func(j int) float64 {
				high := murmurFinish(uint64(j)+1) & (1<<(s.bits-low) - 1)
				return digitRate(high<<low|uint64(j), s.bits, multiplier)
			}
		}
		for j := range parts {
			parts[j].rates[i] = rate(j)
			total += parts[j].rates[i]
		}
		if total == 0 {
			continue // so few positions that the sample has none
		}
		for j := range parts { // exact except for the sampled high bits
			parts[j].rates[i] *= float64(positions) / total
		}
	}
	var sums []bitPart
	if sum >= 0 {
		sums = addDigitSum(parts, sum, s.bits)
	}
	parts = s.overBlocks(append(groupParts(parts), groupParts(sums)...))
	together := s.different() / differentOf(parts, math.Ldexp(float64(s.blocks), s.bits))
	for _, p := range parts {
		for i := range p.rates {
			p.rates[i] *= together
		}
	}
	return parts
}

// different returns the mean number of different positions of a key. Probes of one key
// choose the same bit more often than independent ones, as all are in one string and have
// their last digits in common: with 13 bits a key sets 0.2 % fewer bits.
func (s recipeBitmap) different() float64 {
	sum := 0
	var positions []uint64
	for i := range uint64(recipeSample) {
		digest := sha1.Sum(binary.LittleEndian.AppendUint64(nil, i))
		_, positions = s.recipe.Positions(positions[:0], hex.AppendEncode(nil, digest[:]))
		slices.Sort(positions)
		sum += len(slices.Compact(positions))
	}
	return float64(sum) / recipeSample
}

// differentOf returns the mean number of different positions of one key for probes that
// choose among m bits as parts say and independently.
func differentOf(parts []bitPart, m float64) (sum float64) {
	for _, p := range parts {
		miss := 1.0
		for _, rate := range p.rates {
			miss *= 1 - min(1, rate/m)
		}
		sum += p.share * m * (1 - miss)
	}
	return sum
}

// lowChances returns the chance of each value of the low bits after so many digits.
func lowChances(multiplier uint64, low, digits int) []float64 {
	mask := uint64(1)<<low - 1
	now, next := make([]float64, mask+1), make([]float64, mask+1)
	now[0] = 1
	for range digits {
		clear(next)
		for h, chance := range now {
			if chance == 0 {
				continue
			}
			for _, c := range []byte(hexLetters) {
				next[(uint64(h)*multiplier+uint64(c))&mask] += chance / 16
			}
		}
		now, next = next, now
	}
	return now
}

// digitRate returns the chance of a position of so many bits, relative to an even one, for
// a multiplier with 2^4 or more in it: at most two digits can be the last one.
func digitRate(position uint64, width int, multiplier uint64) float64 {
	if width <= 0 {
		return 1
	}
	v := min(bits.TrailingZeros64(multiplier), width)
	odd := multiplier >> bits.TrailingZeros64(multiplier)
	inverse := odd // modulo 2^64, by Newton's method
	for range 6 {
		inverse *= 2 - odd*inverse
	}
	rate := 0.0
	for _, c := range []byte(hexLetters) {
		if rest := position - uint64(c); rest&(1<<v-1) == 0 {
			before := (rest >> v * inverse) & (1<<(width-v) - 1)
			rate += math.Exp2(float64(v)) / 16 * digitRate(before, width-v, multiplier)
		}
	}
	return rate
}

// addDigitSum adds the rates of the sum of the digits to parts. If there are more positions
// than parts, it returns the positions below the largest sum as parts of their own.
func addDigitSum(parts []bitPart, probe, width int) (sums []bitPart) {
	chances := lowChances(1, max(13, bits.Len(uint(len(parts)-1))), sha1Digits)
	all := math.Exp2(float64(width))
	if float64(len(parts)) == all {
		for value, chance := range chances {
			parts[value%len(parts)].rates[probe] += chance * all
		}
		return nil
	}
	for value, chance := range chances[:sha1Sum+1] {
		p := bitPart{share: 1 / all, rates: slices.Clone(parts[value].rates)}
		p.rates[probe] = chance * all
		sums = append(sums, p)
	}
	for i := range parts {
		parts[i].share *= 1 - float64(len(sums))/all
	}
	return sums
}

// groupParts returns at most recipeGroups parts, of those with about the same rates.
func groupParts(parts []bitPart) []bitPart {
	total := func(p bitPart) (sum float64) {
		for _, rate := range p.rates {
			sum += rate
		}
		return sum
	}
	slices.SortFunc(parts, func(a, b bitPart) int { return cmp.Compare(total(a), total(b)) })
	var groups []bitPart
	for some := range slices.Chunk(parts, max(1, (len(parts)+recipeGroups-1)/recipeGroups)) {
		g := bitPart{rates: make([]float64, len(some[0].rates))}
		for _, p := range some {
			g.share += p.share
			for i, rate := range p.rates {
				g.rates[i] += rate * p.share
			}
		}
		for i := range g.rates {
			g.rates[i] /= g.share
		}
		groups = append(groups, g)
	}
	return groups
}

// overBlocks spreads parts over the strings of an md5 recipe: a byte modulo their number
// chooses one, so the first strings have more keys unless the number is a power of two.
func (s recipeBitmap) overBlocks(parts []bitPart) []bitPart {
	more := 256 % s.blocks
	if more == 0 {
		return parts
	}
	var all []bitPart
	for _, b := range []struct{ blocks, values int }{{more, 256/s.blocks + 1}, {s.blocks - more, 256 / s.blocks}} {
		for _, p := range parts {
			p.share *= float64(b.blocks) / float64(s.blocks)
			p.rates = slices.Clone(p.rates)
			for i := range p.rates {
				p.rates[i] *= float64(b.values*s.blocks) / 256
			}
			all = append(all, p)
		}
	}
	return all
}
