package sizing

import "math"

// ErrorRate returns the probability that a filter of this layout that holds n
// distinct keys answers "maybe" for a key that was never added, over the random
// choice of all hashes.
//
//   - Partitioned: (1 - (1 - k/m)^n)^k, which is exact.
//   - Blocked: exact as well. A key falls into a given line of a region of r
//     lines with probability 1/r, and sets at least one of i target bits of that
//     line with a probability h(i) that follows from its choice of lanes. So all
//     L targets of an absent key are set with probability
//     sum over i = 0..L of (-1)^i C(L,i) (1 - h(i)/r)^n, and with t lines per key
//     the rate is its t-th power. Putze, Sanders and Singler, "Cache-, Hash- and
//     Space-Efficient Bloom Filters", 2007, give the sum for one line, Poisson
//     loads and bits anywhere in the line.
//   - Classic and Counting: the textbook's (1 - (1 - 1/m)^(k n))^k takes the
//     probes of the absent key to be independent events. They are not quite, and
//     the true rate is higher by a share of about 0.15 k^2/m at the best k (Bose,
//     Guo, Kranakis et al., "On the false-positive rate of Bloom filters", 2008).
//     For m up to 1024 the exact rate is computed; for larger m the formula is
//     corrected to within a share of about k^3/m^2.
//
// To this comes n/2^64, the probability that the key's 64-bit hash is that of
// an added key. The result is in 0..1 and grows with n up to rounding errors.
// A call takes some tenths of a microsecond, up to ten microseconds for very low
// rates of Blocked and up to some hundred for a Classic filter of at most 1024
// bits.
func (p Params) ErrorRate(n uint64) float64 {
	if p.Validate() != nil {
		return math.NaN()
	}
	return p.rate(n)
}

// rate is ErrorRate for a layout known to be valid.
func (p Params) rate(n uint64) float64 {
	if n == 0 {
		return 0
	}
	var r float64
	switch p.Shape {
	case Blocked:
		r = blockedRate(p.Lines, p.Lanes, p.M/(uint64(p.Lines)*LineBits), n)
	case Partitioned:
		r = math.Pow(p.fill(n), float64(p.K))
	default:
		r = classicRate(p.M, p.K, n)
	}
	return min(1, r+(1-r)*hashFloor(n))
}

// hashFloor returns the probability that an absent key has the same 64-bit hash
// as one of n keys.
func hashFloor(n uint64) float64 { return float64(n) * 0x1p-64 }

// leastErrorRate returns the lowest error rate that [For] accepts for n keys:
// twice the rate n/2^64 at which 64-bit hashes of different keys collide. Below
// it the collisions would take up more than half of the rate, and no memory could
// help.
func leastErrorRate(n uint64) float64 { return 2 * hashFloor(n) }

// FillRatio returns the expected share of bits that are one after n distinct
// keys; for [Counting] the share of counters that are not zero.
func (p Params) FillRatio(n uint64) float64 {
	if p.Validate() != nil {
		return math.NaN()
	}
	return p.fill(n)
}

func (p Params) fill(n uint64) float64 {
	if n == 0 {
		return 0
	}
	trials, hit := p.trials(float64(n))
	return -math.Expm1(trials * math.Log1p(-hit))
}

// trials returns n keys as a number of independent trials, and the probability
// that one trial sets a given bit. A classic key is k trials, as its probes may
// coincide; the keys of the other shapes set k different bits and are one.
func (p Params) trials(n float64) (trials, hit float64) {
	if p.Shape == Classic || p.Shape == Counting {
		return n * float64(p.K), 1 / float64(p.M)
	}
	return n, float64(p.K) / float64(p.M)
}

// exactBits is the length up to which classicRate is exact.
const exactBits = 1024

// classicRate returns the error rate, hash collisions apart, of n keys with k
// probes anywhere in m bits.
func classicRate(m uint64, k int, n uint64) float64 {
	if m <= exactBits {
		return classicRateSum(m, k, n)
	}
	// The rate is the mean of (X/m)^k over the number X of ones. With Y = ln(X/m)
	// its logarithm is a series in the cumulants of Y, of which the j-th is of the
	// order of 1/m^(j-1). The first two give the textbook's formula times
	// e^(k(k-1)/2 v), where v is the variance of X/E(X).
	p := Params{Shape: Classic, M: m, K: k}
	fill := p.fill(n)
	if fill == 1 {
		return 1
	}
	v := p.onesVariance(float64(n)) / math.Pow(float64(m)*fill, 2)
	return min(1, math.Pow(fill, float64(k))*math.Exp(float64(k)*float64(k-1)/2*v))
}

// classicRateSum returns the exact rate. The absent key has d distinct targets,
// 1 <= d <= k, and each probe of an added key hits one of the u targets that are
// still zero with probability u/m.
func classicRateSum(m uint64, k int, n uint64) float64 {
	bits := float64(m)
	targets := make([]float64, k+1) // targets[d]: probability of d distinct targets
	targets[0] = 1
	for range k {
		for d := k; d > 0; d-- {
			targets[d] = targets[d]*float64(d)/bits + targets[d-1]*max(0, 1-float64(d-1)/bits)
		}
		targets[0] = 0
	}
	all := allSet(bits, min(k, int(m)), float64(k)*float64(n))
	var sum float64
	for d := 1; d < len(all); d++ {
		sum += targets[d] * all[d]
	}
	return min(sum, 1)
}

// allSet returns, for each u up to k, the probability that so many given bits
// are all set after the given number of probes.
func allSet(bits float64, k int, probes float64) []float64 {
	all := make([]float64, k+1)
	all[0] = 1
	// By inclusion and exclusion where little cancels, as in lineRate.
	safe := true
	for u := 1; u <= k && safe; u++ {
		sum, size, sign, ways := 0.0, 0.0, 1.0, 1.0
		for i := 0; i <= u; i++ {
			term := ways
			if i > 0 {
				term *= math.Exp(probes * math.Log1p(-float64(i)/bits))
			}
			sum += sign * term
			size += term
			sign = -sign
			ways = ways * float64(u-i) / float64(i+1)
		}
		all[u] = sum
		safe = sum > size*1e-5
	}
	if safe {
		return all
	}
	clear(all[1:])
	for range int(probes) {
		for u := k; u > 0; u-- {
			all[u] += (all[u-1] - all[u]) * float64(u) / bits
		}
	}
	return all
}

// rateLeeway is how many times the error rate that was asked for is taken for it: sizes
// are rounded, and the bits that are set are partly chance.
const rateLeeway = 1.05

// PastRate reports whether a filter that has the error rate now errs more often than was
// asked for, beyond what rounding makes of its size. It is false if nothing was asked for,
// and true if now is NaN: the filter is full.
func PastRate(now, asked float64) bool { return asked > 0 && !(now <= rateLeeway*asked) }
