package redisbloom

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

// Sample returns, for each sub-filter, the oldest first, the share of ones in at most
// n pieces of 64 bytes, evenly spread over its array. It reads no more than these, and
// takes no lock.
func (f *Filter) Sample(n int) [][]float64 {
	var all [][]float64
	for _, l := range f.chain() {
		all = append(all, sampleLines(l.words, n))
		runtime.KeepAlive(l)
	}
	return all
}

// sampleLines returns the shares of ones in n of the lines of words, or in all of
// them.
func sampleLines(words []uint64, n int) []float64 {
	const line = 8 // words
	lines := (len(words) + line - 1) / line
	n = min(n, lines)
	shares := make([]float64, n)
	for i := range shares {
		from := i * lines / n * line
		to := min(from+line, len(words))
		ones := 0
		for at := from; at < to; at++ {
			ones += bits.OnesCount64(atomic.LoadUint64(&words[at]))
		}
		shares[i] = float64(ones) / float64(64*(to-from))
	}
	return shares
}
