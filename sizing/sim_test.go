package sizing

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// simFilter is a filter whose keys are not hashed but thrown: each added key
// draws its bits at random as its Params describe. It shares nothing with the
// formulas under test.
type simFilter struct {
	p     Params
	words []uint64
	rng   *rand.Rand
}

func newSim(p Params, rng *rand.Rand) *simFilter {
	return &simFilter{p: p, words: make([]uint64, (p.M+63)/64), rng: rng}
}

// draw appends the positions of a fresh random key.
func (f *simFilter) draw(positions []uint64) []uint64 {
	switch f.p.Shape {
	case Blocked:
		region := f.p.M / uint64(f.p.Lines)
		for r := range uint64(f.p.Lines) {
			line := r*region + 512*f.rng.Uint64N(region/512)
			var lanes [8]uint64
			for i := range lanes {
				lanes[i] = uint64(i)
			}
			for i := range f.p.Lanes {
				j := i + f.rng.IntN(8-i)
				lanes[i], lanes[j] = lanes[j], lanes[i]
				positions = append(positions, line+64*lanes[i]+f.rng.Uint64N(64))
			}
		}
	case Partitioned:
		slice := f.p.M / uint64(f.p.K)
		for i := range uint64(f.p.K) {
			positions = append(positions, i*slice+f.rng.Uint64N(slice))
		}
	default:
		for range f.p.K {
			positions = append(positions, f.rng.Uint64N(f.p.M))
		}
	}
	return positions
}

func (f *simFilter) set(positions []uint64) {
	for _, at := range positions {
		f.words[at/64] |= 1 << (at % 64)
	}
}

func (f *simFilter) has(positions []uint64) bool {
	for _, at := range positions {
		if f.words[at/64]>>(at%64)&1 == 0 {
			return false
		}
	}
	return true
}

// add adds n fresh keys.
func (f *simFilter) add(n int) {
	var buf [MaxProbes]uint64
	for range n {
		f.set(f.draw(buf[:0]))
	}
}

func (f *simFilter) ones() uint64 { return countOnes(f.words) }

func countOnes(words []uint64) uint64 {
	n := 0
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return uint64(n)
}

// conditionalRate returns the probability that a fresh key is found in f as its
// bits are: no noise from drawing absent keys.
func (f *simFilter) conditionalRate() float64 {
	switch f.p.Shape {
	case Blocked:
		rate := 1.0
		region := len(f.words) / f.p.Lines
		for r := range f.p.Lines {
			rate *= f.regionRate(f.words[r*region : (r+1)*region])
		}
		return rate
	case Partitioned:
		rate := 1.0
		slice := f.p.M / uint64(f.p.K)
		for i := range uint64(f.p.K) {
			ones := 0
			for at := i * slice; at < (i+1)*slice; at++ {
				ones += int(f.words[at/64] >> (at % 64) & 1)
			}
			rate *= float64(ones) / float64(slice)
		}
		return rate
	default:
		return math.Pow(float64(f.ones())/float64(f.p.M), float64(f.p.K))
	}
}

// regionRate averages over the lines of one region the probability that random
// bits of random lanes are set: the mean, over all choices of Lanes of the eight
// lanes, of the product of the lanes' fill ratios.
func (f *simFilter) regionRate(region []uint64) float64 {
	var sum float64
	var choices int
	for set := range uint(256) {
		if bits.OnesCount(set) != f.p.Lanes {
			continue
		}
		choices++
		for line := 0; line < len(region); line += 8 {
			product := 1.0
			for s := set; s != 0; s &= s - 1 {
				product *= float64(bits.OnesCount64(region[line+bits.TrailingZeros(s)])) / 64
			}
			sum += product
		}
	}
	return sum / float64(choices) / float64(len(region)/8)
}

// sample accumulates a mean and its standard error.
type sample struct{ n, sum, squares float64 }

func (s *sample) add(x float64) { s.n++; s.sum += x; s.squares += x * x }

func (s *sample) mean() float64 { return s.sum / s.n }

func (s *sample) variance() float64 { return (s.squares - s.sum*s.sum/s.n) / (s.n - 1) }

func (s *sample) stdErr() float64 { return math.Sqrt(max(0, s.variance()) / s.n) }

// sigmas returns the distance from the mean, in standard errors, that a right
// program exceeds in any of the given number of independent checks with a
// probability of 1 % in all.
func sigmas(checks int) float64 {
	return math.Sqrt2 * math.Erfinv(1-0.01/float64(checks))
}
