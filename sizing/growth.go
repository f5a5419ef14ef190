package sizing

import (
	"fmt"
	"math"
)

// Factors by which filters grow, if there is no choice.
const (
	// DefaultGrowth is that of a filter. A larger factor means fewer layers, a smaller
	// one less memory that is not used yet.
	DefaultGrowth = 1.4
	// WindowGrowth is that of a generation of a window, which is made for its keys and
	// grows only in a burst.
	WindowGrowth = 2
)

// maxGrowth is the largest factor.
const maxGrowth = 16

// Growth is the rule by which a filter grows: the capacities and error rates of its
// layers, which are counted from 0. A key is added to the newest layer and looked for in
// all, so that the errors of the layers add up.
//
// Layer i has the error rate ErrorRate * 6/(π²(i+1)²): the sum of all is ErrorRate,
// since the sum of 1/i² is π²/6. The scheme is that of Almeida, Baquero, Preguiça and
// Hutchison, "Scalable Bloom Filters", 2007, with another series: their geometric one asks
// late layers for rates that 64-bit hashes cannot deliver.
type Growth struct {
	First     uint64  // capacity of layer 0
	Factor    float64 // capacity of a layer relative to the one before
	ErrorRate float64 // of all layers together
}

// Validate reports whether the factor is one that a filter can grow by.
func (g Growth) Validate() error {
	if !(g.Factor > 1 && g.Factor <= maxGrowth) {
		return fmt.Errorf("growth is %v; it must be above 1 and at most %d", g.Factor, maxGrowth)
	}
	return nil
}

// Next returns the capacity of the layer after one of the given capacity, rounded up;
// math.MaxUint64 stands for all that is larger.
func (g Growth) Next(capacity uint64) uint64 {
	if next := math.Ceil(float64(capacity) * g.Factor); next < math.MaxUint64 {
		return uint64(next)
	}
	return math.MaxUint64
}

// Capacity returns the capacity of layer i. It is rounded up at each layer, so that the
// result is the same on all machines.
func (g Growth) Capacity(i int) uint64 {
	n := g.First
	for range i {
		n = g.Next(n)
	}
	return n
}

// Rate returns the error rate of layer i.
func (g Growth) Rate(i int) float64 {
	n := float64(i) + 1
	return g.ErrorRate * 6 / (math.Pi * math.Pi * n * n)
}

// Generation returns what each generation of a window is made for. A window of g
// generations remembers g-1 full ones and the present one; its capacity is that of the
// full ones, and the errors of all add up.
func Generation(capacity uint64, errorRate float64, generations int) (uint64, float64) {
	full := uint64(generations - 1)
	n := capacity / full
	if capacity%full > 0 {
		n++
	}
	return n, errorRate / float64(generations)
}
