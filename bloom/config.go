package bloom

import (
	"fmt"
	"math"

	"seen/sizing"
)

// Config says how large a filter is. Give Capacity and ErrorRate, and package sizing
// computes the layout. Or give the layout as Params; then Capacity and ErrorRate are only
// recorded and may be 0.
type Config struct {
	// Capacity is the number of distinct keys the filter is sized for, at least 1.
	Capacity uint64
	// ErrorRate is the probability, at capacity, that Has says yes to a key that
	// was never added; between 0 and 1, exclusively.
	ErrorRate float64
	// Params fixes the layout unless its M is 0. Its Shape is 0 or that of the filter.
	Params sizing.Params
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash Hash
}

// maxWords is the limit of one array: 32 TiB, or the address space of a 32-bit system.
const maxWords = min(math.MaxInt/8, 1<<42)

// resolve checks c and returns the parameters to use for shape.
func (c Config) resolve(shape sizing.Shape) (sizing.Params, error) {
	if err := c.Hash.Validate(); err != nil {
		return sizing.Params{}, err
	}
	p := c.Params
	if p.M == 0 && p != (sizing.Params{Shape: p.Shape, CounterBits: p.CounterBits}) {
		return p, fmt.Errorf("explicit parameters %+v have m = 0; give the number of bits in M", p)
	}
	if p.Shape != 0 && p.Shape != shape {
		return p, fmt.Errorf("parameters are for a %v filter, not for a %v one", p.Shape, shape)
	}
	if p.M == 0 {
		counterBits := p.CounterBits
		var err error
		if p, err = sizing.For(shape, c.Capacity, c.ErrorRate); err != nil {
			return p, err
		}
		if counterBits != 0 {
			p.CounterBits = counterBits
		}
	} else {
		p.Shape = shape
		if math.IsNaN(c.ErrorRate) || c.ErrorRate < 0 || c.ErrorRate >= 1 {
			return p, fmt.Errorf("error rate %v is outside [0, 1)", c.ErrorRate)
		}
	}
	if err := p.Validate(); err != nil {
		return p, err
	}
	if p.Bytes()/8 > maxWords {
		return p, fmt.Errorf("a filter of %d bytes is larger than the %d bytes that one array can have here; split the keys over several filters", p.Bytes(), uint64(maxWords)*8)
	}
	return p, nil
}
