package sketch

import (
	"math"
	"math/bits"
	"runtime"
)

// Stuck reads an evenly spread sample of at most n counters. It returns how many of them are
// at their largest value, where they stay, and how many it has read. Another goroutine may
// change the sketch meanwhile.
func (c *CountMin32) Stuck(n uint64) (stuck, of uint64) {
	all := c.width * uint64(c.depth)
	of = min(n, all)
	for i := range of {
		hi, lo := bits.Mul64(i, all)
		if at, _ := bits.Div64(hi, lo, of); c.counter(at) == math.MaxUint32 {
			stuck++
		}
	}
	runtime.KeepAlive(c)
	return stuck, of
}
