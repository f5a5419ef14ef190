package sizing

import (
	"fmt"
	"math"
)

// Shape says where the probes of a key may fall. Its numbers are written into
// files and never change meaning.
type Shape uint8

const (
	// Classic is one array of m bits with k probes anywhere in it: the least
	// memory, at the price of k cache misses for each key.
	Classic Shape = 1
	// Blocked confines the probes of a key to one, two or three cache lines of
	// 512 bits; see [Params]. It is the fastest shape and needs at most a tenth
	// more memory than Classic for error rates from 0.1 to 1e-6.
	Blocked Shape = 2
	// Partitioned is k slices of m/k bits with one probe in each.
	Partitioned Shape = 3
	// Counting is Classic with a small counter in place of each bit, so that
	// keys can be removed.
	Counting Shape = 4
)

// String returns the lower-case name of the shape, or "shape(N)" for an unknown one.
func (s Shape) String() string {
	switch s {
	case Classic:
		return "classic"
	case Blocked:
		return "blocked"
	case Partitioned:
		return "partitioned"
	case Counting:
		return "counting"
	}
	return fmt.Sprintf("shape(%d)", uint8(s))
}

// Limits of every layout, checked by [Params.Validate].
const (
	// MaxBits is the most bits that a filter may occupy, counters counted at
	// their full width: 2^60 bits are 128 PiB.
	MaxBits uint64 = 1 << 60
	// MaxProbes is the most probes that a key may have. The lowest rate that 64
	// hash bits can deliver to a single key has its optimum at 63.
	MaxProbes = 64
	// MaxLines is the most lines that a key of a [Blocked] filter may touch.
	MaxLines = 3
	// MaxLanes is the most bits that a key sets in one line: one in each of the
	// eight 64-bit lanes.
	MaxLanes = lanesPerLine
	// LineBits is the length of the line of a [Blocked] filter, one cache line.
	LineBits = lanesPerLine * laneBits
	// DefaultCounterBits is the width that [For] and [Within] give to the
	// counters of a [Counting] filter. At the best k a counter reaches 15, its
	// largest value, with a probability below 2e-15; see [Params.StuckCounters].
	DefaultCounterBits = 4
)

const (
	lanesPerLine = 8
	laneBits     = 64
	wordBits     = 64
)

// Params describes one filter layout completely. Two filters can be united only
// if their Params are equal. Validate rejects the zero value.
type Params struct {
	// Shape says how the other fields are to be read.
	Shape Shape
	// M is the number of bits, of counters for [Counting]. It is a multiple of K
	// for [Partitioned], and of Lines*LineBits for [Blocked].
	M uint64
	// K is the number of probes of a key, 1 to [MaxProbes]; Lines*Lanes for
	// [Blocked].
	K int
	// Lines is, for [Blocked], the number of lines that a key touches, 1 to
	// [MaxLines]. The array is cut into as many equal regions, and the key picks
	// one line of each, so its lines are distinct and independent of each other.
	// It is 0 for the other shapes.
	Lines int
	// Lanes is, for [Blocked], the number of bits that a key sets in each of its
	// lines, 1 to [MaxLanes]: it draws that many of the line's eight 64-bit
	// lanes, every choice equally likely, and one bit in each of them. It is 0
	// for the other shapes.
	Lanes int
	// CounterBits is, for [Counting], the width of a counter: 4, 8 or 16. It is
	// 0 for the other shapes.
	CounterBits int
}

// Validate reports the first reason why p is not a layout that can exist, or nil.
// The other methods answer NaN (or 0, where they return an integer) if Validate
// would report an error.
func (p Params) Validate() error {
	switch p.Shape {
	case Classic, Blocked, Partitioned, Counting:
	default:
		return fmt.Errorf("unknown shape %d; use Classic, Blocked, Partitioned or Counting", uint8(p.Shape))
	}
	if p.M == 0 {
		return fmt.Errorf("%v filter of 0 bits; M must be at least 1", p.Shape)
	}
	if p.K < 1 || p.K > MaxProbes {
		return fmt.Errorf("%v filter with K = %d probes; K must be 1 to %d", p.Shape, p.K, MaxProbes)
	}
	if p.Shape == Counting {
		if p.CounterBits != 4 && p.CounterBits != 8 && p.CounterBits != 16 {
			return fmt.Errorf("counters of %d bits; CounterBits must be 4, 8 or 16", p.CounterBits)
		}
	} else if p.CounterBits != 0 {
		return fmt.Errorf("%v filter with CounterBits = %d; only a counting filter has counters, set it to 0", p.Shape, p.CounterBits)
	}
	if limit := MaxBits / p.width(); p.M > limit {
		return fmt.Errorf("%v filter with M = %d; the limit is %d (2^60 bits of memory)", p.Shape, p.M, limit)
	}
	if p.Shape == Blocked {
		return p.validateBlocked()
	}
	if p.Lines != 0 || p.Lanes != 0 {
		return fmt.Errorf("%v filter with Lines = %d and Lanes = %d; only a blocked filter has lines, set both to 0", p.Shape, p.Lines, p.Lanes)
	}
	if p.Shape == Partitioned && p.M%uint64(p.K) != 0 {
		return fmt.Errorf("partitioned filter of M = %d bits in K = %d slices; M must be a multiple of K", p.M, p.K)
	}
	return nil
}

func (p Params) validateBlocked() error {
	if p.Lines < 1 || p.Lines > MaxLines {
		return fmt.Errorf("blocked filter with Lines = %d; Lines must be 1 to %d", p.Lines, MaxLines)
	}
	if p.Lanes < 1 || p.Lanes > MaxLanes {
		return fmt.Errorf("blocked filter with Lanes = %d; Lanes must be 1 to %d", p.Lanes, MaxLanes)
	}
	if p.K != p.Lines*p.Lanes {
		return fmt.Errorf("blocked filter with K = %d, Lines = %d, Lanes = %d; K must be Lines*Lanes = %d", p.K, p.Lines, p.Lanes, p.Lines*p.Lanes)
	}
	if unit := uint64(p.Lines) * LineBits; p.M%unit != 0 {
		return fmt.Errorf("blocked filter of M = %d bits; with Lines = %d, M must be a multiple of %d", p.M, p.Lines, unit)
	}
	return nil
}

// width returns the bits of memory that each of the M positions takes.
func (p Params) width() uint64 {
	if p.Shape == Counting {
		return uint64(p.CounterBits)
	}
	return 1
}

// Bytes returns the memory that the array takes, in whole 64-bit words. It does
// not count the few fixed bytes around it.
func (p Params) Bytes() uint64 {
	if p.Validate() != nil {
		return 0
	}
	return (p.M*p.width() + wordBits - 1) / wordBits * (wordBits / 8)
}

// BitsPerKey returns the bits of memory that each of n keys takes, counters at
// their full width; +Inf for n = 0.
func (p Params) BitsPerKey(n uint64) float64 {
	if p.Validate() != nil {
		return math.NaN()
	}
	return float64(p.M) * float64(p.width()) / float64(n)
}

// RegionLines returns the number of lines in each of the Lines regions of a
// [Blocked] filter, and 0 for the other shapes.
func (p Params) RegionLines() uint64 {
	if p.Shape != Blocked || p.Validate() != nil {
		return 0
	}
	return p.M / (uint64(p.Lines) * LineBits)
}

// OptimalBits returns the number of bits that a classic filter of n keys and
// error rate p would need if k could be any real number, -n ln p / (ln 2)^2. It
// is the yardstick for the memory of the other shapes. No filter with an integer
// k needs less; above p = 1/2, where the best integer k is 1 and the real one
// lies below it, every filter needs more. The answer is NaN unless 0 < p < 1.
func OptimalBits(n uint64, p float64) float64 {
	if !(p > 0 && p < 1) {
		return math.NaN()
	}
	return float64(n) * -math.Log(p) / (math.Ln2 * math.Ln2)
}
