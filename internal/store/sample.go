package store

import (
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"

	"seen/sizing"
)

// SampleBits returns, for each layer or sub-filter of a filter, the oldest first, the
// share of ones, or of slots in use, in at most n lines of 64 bytes that are evenly spread
// over it. It reads only these lines, however large the filter is, and takes no lock. For
// values without such arrays it returns nil.
func SampleBits(v Value, n int) [][]float64 {
	switch v := v.(type) {
	case *Bloom:
		return v.sample(n)
	case *RedisBloom:
		return v.now.Load().Sample(n)
	case *Cuckoo:
		return served(v.now.Load()).Sample(n)
	}
	return nil
}

func (b *Bloom) sample(n int) (all [][]float64) {
	v := b.view.Load()
	from := b.oldest(v)
	for _, l := range slices.Backward(v.layers) {
		if l.gen < from {
			continue
		}
		words := l.words
		const line = sizing.LineBits / 64
		lines := len(words) / line
		shares := make([]float64, min(n, lines))
		for i := range shares {
			at, ones := i*lines/len(shares)*line, 0
			for w := range line {
				ones += bits.OnesCount64(atomic.LoadUint64(&words[at+w]))
			}
			shares[i] = float64(ones) / sizing.LineBits
		}
		runtime.KeepAlive(l)
		all = append(all, shares)
	}
	return all
}

// StuckCounters returns how many counters in a sample have reached their largest value,
// where they stop, and the size of the sample, at most n. It takes no lock.
func (c *CountMin) StuckCounters(n uint64) (stuck, of uint64) { return c.now.Load().Stuck(n) }
