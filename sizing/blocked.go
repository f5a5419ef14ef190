package sizing

import "math"

// A key that was never added is tested in one line of each region. In that line
// it has L target bits in L different lanes. Each key in the same line draws L of
// the 8 lanes and one bit of each, so the number of targets that it hits follows
// from a hypergeometric and a binomial distribution, and depends only on how many
// targets are looked at. Two tables hold what the sums below need.
var (
	// laneHit[L][i] is the probability that a key of the same line sets at least
	// one of i given targets.
	laneHit [MaxLanes + 1][MaxLanes + 1]float64
	// laneStep[L][u][r] is the probability that it sets exactly r of u given
	// targets.
	laneStep [MaxLanes + 1][MaxLanes + 1][MaxLanes + 1]float64
	// choose[n][r] is the binomial coefficient, 0 for r > n.
	choose [MaxLanes + 1][MaxLanes + 1]float64
)

func init() {
	for n := range choose {
		choose[n][0] = 1
		for r := 1; r <= n; r++ {
			choose[n][r] = choose[n-1][r-1] + choose[n-1][r]
		}
	}
	for lanes := 1; lanes <= MaxLanes; lanes++ {
		for u := 0; u <= MaxLanes; u++ {
			for drawn := 0; drawn <= min(u, lanes); drawn++ {
				// drawn of the u target lanes are among the key's lanes; no way if
				// the others are too few, as choose is 0 there
				ways := choose[u][drawn] * choose[lanesPerLine-u][lanes-drawn] / choose[lanesPerLine][lanes]
				for r := 0; r <= drawn; r++ {
					laneStep[lanes][u][r] += ways * choose[drawn][r] *
						math.Pow(1.0/laneBits, float64(r)) * math.Pow(1-1.0/laneBits, float64(drawn-r))
				}
			}
			for r := 1; r <= u; r++ {
				laneHit[lanes][u] += laneStep[lanes][u][r]
			}
		}
	}
}

// blockedRate returns the error rate, hash collisions apart, of n keys in a
// blocked filter with the given lines and lanes per key and the given number of
// lines in each region. A key's lines in different regions are drawn
// independently, so the rate is the power of the rate of one.
func blockedRate(lines, lanes int, regionLines, n uint64) float64 {
	one := lineRate(lanes, regionLines, n)
	switch lines {
	case 1:
		return one
	case 2:
		return one * one
	}
	return one * one * one
}

// lineRate returns the probability that all targets of an absent key are set in
// its line of one region, for n >= 1. By inclusion and exclusion over the targets that are
// missed, with the n keys falling on the region's lines independently,
//
//	sum over i of (-1)^i C(L,i) (1 - laneHit[L][i]/regionLines)^n
//
// The sum cancels when the result is small, and is then replaced by a sum of
// positive terms.
func lineRate(lanes int, regionLines, n uint64) float64 {
	var sum, size float64
	sign := 1.0
	for i := 0; i <= lanes; i++ {
		term := choose[lanes][i] * math.Exp(float64(n)*math.Log1p(-laneHit[lanes][i]/float64(regionLines)))
		sum += sign * term
		size += term
		sign = -sign
	}
	// The terms carry errors of a few times 2^-53 of their own size.
	if sum > size*1e-5 {
		return min(sum, 1)
	}
	return lineRateSum(lanes, regionLines, n)
}

// lineRateSum returns the same probability as a sum over the number of keys in
// the line, which is Binomial(n, 1/regionLines), of the probability that so many
// keys set all targets. Its terms are positive, so it is accurate however small
// the result; its cost grows with the keys per line, which are few where the
// result is small.
func lineRateSum(lanes int, regionLines, n uint64) float64 {
	var all [MaxLanes + 1]float64 // all[u]: probability that u given targets are all set
	all[0] = 1
	if regionLines == 1 {
		for range n {
			addKey(lanes, &all)
		}
		return all[lanes]
	}
	mean := float64(n) / float64(regionLines)
	weight := math.Exp(float64(n) * math.Log1p(-1/float64(regionLines)))
	odds := 1 / (float64(regionLines) - 1)
	var sum float64
	for c := uint64(0); c < n; {
		weight *= float64(n-c) / float64(c+1) * odds
		c++
		addKey(lanes, &all)
		sum += weight * all[lanes]
		if float64(c) > 2*mean && weight < sum*1e-18 {
			break
		}
	}
	return sum
}

// addKey advances all by one key that falls into the line.
func addKey(lanes int, all *[MaxLanes + 1]float64) {
	for u := lanes; u > 0; u-- {
		var v float64
		for r := 0; r <= u; r++ {
			v += laneStep[lanes][u][r] * all[u-r]
		}
		all[u] = v
	}
}

// lineSpread returns the variance of the error rate of one region, as a share of the
// square of the rate, that comes from the different numbers of keys in its lines.
func lineSpread(lanes int, regionLines, n uint64) float64 {
	if regionLines == 1 || n == 0 {
		return 0
	}
	var all [MaxLanes + 1]float64
	all[0] = 1
	mean := float64(n) / float64(regionLines)
	weight := math.Exp(float64(n) * math.Log1p(-1/float64(regionLines)))
	odds := 1 / (float64(regionLines) - 1)
	var sum, squares float64
	for c := uint64(0); c < n; {
		weight *= float64(n-c) / float64(c+1) * odds
		c++
		addKey(lanes, &all)
		sum += weight * all[lanes]
		squares += weight * all[lanes] * all[lanes]
		if float64(c) > 2*mean && weight < sum*1e-18 {
			break
		}
	}
	if sum == 0 {
		return 0
	}
	// One line has more keys only if others have fewer: what is linear in the number
	// of keys cancels out.
	slope := lineRate(lanes, regionLines, n+1)/lineRate(lanes, regionLines, n) - 1
	return max(0, (squares/(sum*sum)-1)/float64(regionLines)-float64(n)*slope*slope)
}
