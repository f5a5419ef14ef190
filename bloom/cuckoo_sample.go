package bloom

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

// Sample returns, for each sub-filter, the oldest first, the share of slots in use in
// at most n pieces of 64 slots, evenly spread over its table. It reads no more than
// these, and takes no lock.
func (f *Cuckoo) Sample(n int) [][]float64 {
	var all [][]float64
	for _, t := range f.all() {
		const line = 8 // words, of 8 slots
		lines := (len(t.words) + line - 1) / line
		shares := make([]float64, min(n, lines))
		for i := range shares {
			from := i * lines / len(shares) * line
			to := min(from+line, len(t.words))
			used := 0
			for at := from; at < to; at++ {
				used += slotsInUse(atomic.LoadUint64(&t.words[at]))
			}
			shares[i] = min(1, float64(used)/float64(min(8*uint64(to-from), t.size-min(t.size-1, 8*uint64(from)))))
		}
		all = append(all, shares)
		runtime.KeepAlive(t)
	}
	return all
}

// slotsInUse counts the bytes of a word that are not 0.
func slotsInUse(w uint64) int {
	// A byte is not 0 if one of its lower bits or its highest one is set.
	const low = 0x7f7f7f7f7f7f7f7f
	return bits.OnesCount64((w&low + low | w) &^ low)
}
