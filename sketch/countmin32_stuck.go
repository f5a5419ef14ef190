package sketch

import (
	"math"
	"math/bits"
	"runtime"
)

// Stuck returns how many counters stand at their largest value, from where they do not
// go on, in a sample of at most n of them that is evenly spread, and how many that
// looked at. Others may change the sketch meanwhile.
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
