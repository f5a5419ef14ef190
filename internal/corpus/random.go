package corpus

import "math/bits"

// random is a small generator with a fixed sequence for each start value: the
// SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators" (OOPSLA 2014). Every start value is as good as any other.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

// below returns a number in [0, n) for n > 0. The bias is at most n / 2^64.
func (r *random) below(n uint64) uint64 {
	high, _ := bits.Mul64(r.next(), n)
	return high
}

// zipf returns a number i in [0, n) for n > 0 with a probability proportional
// to 1/(i+1).
//
// The number i+1 is drawn from octaves [2^e, 2^(e+1)): each is as likely as any
// other, and inside one all numbers are, which is 2^-e for each; accepting a
// number x with probability 2^e / x makes that 1/x exactly. An octave that
// reaches beyond n is cut by drawing again.
func (r *random) zipf(n uint64) uint64 {
	octaves := uint64(bits.Len64(n))
	for {
		first := uint64(1) << r.below(octaves)
		x := first + r.next()&(first-1)
		if x <= n && r.below(x) < first {
			return x - 1
		}
	}
}

// mix is the finalizer of SplitMix64: a permutation of the 64-bit numbers.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
