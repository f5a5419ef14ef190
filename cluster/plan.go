package cluster

import (
	"fmt"
	"math"
	"math/bits"
	"sort"

	"seen/sizing"
)

const (
	// DefaultSliceBytes is used where no SliceBytes is given: a little less than 16 MiB,
	// since the engine's allocator takes 20 MiB for a string of 16 MiB with its header.
	DefaultSliceBytes = 16<<20 - 4096
	// MaxSliceBytes is the largest string that the engine stores by default.
	MaxSliceBytes = 512 << 20
	// MinSliceBytes is the smallest limit of a slice.
	MinSliceBytes = 1024

	// maxSlices bounds a layer; of the largest slices they are 8 PiB.
	maxSlices = 1 << 24

	// mostMemory is how much memory a layer may take if that makes keys cheaper, relative
	// to a classic filter of the same capacity and error rate, without what the allocator
	// adds.
	mostMemory = 1.08
	// mostTotal is the same for a layer with all that the engine adds, and
	// mostRounding the memory that the choice of slices may add in any case.
	mostTotal    = 1.095
	mostRounding = 1.015
	// moreSlices is how many slices more than necessary may be tried for that.
	moreSlices = 64
)

// shapeFor returns the form of a layer for n keys at the given rate, in slices of
// at most sliceBytes. The measure of its memory is the classic filter for n keys
// and the rate in yardstick.
//
// Of the layouts near that measure, it chooses the one whose keys cost the engine least: a
// line is a command, a probe a part of one.
func shapeFor(n uint64, rate, yardstick float64, sliceBytes uint64) (shape, error) {
	fallback, err := sizing.For(sizing.Blocked, n, rate)
	if err != nil {
		return shape{}, err
	}
	budget := mostMemory * sizing.OptimalBits(n, yardstick)
	best := fallback
	for lines := 1; lines <= sizing.MaxLines; lines++ {
		for lanes := 1; lanes <= sizing.MaxLanes; lanes++ {
			p := sizing.Params{Shape: sizing.Blocked, K: lines * lanes, Lines: lines, Lanes: lanes}
			unit := uint64(lines) * sizing.LineBits
			// Beyond what is allowed to take part, the result does not matter.
			most := int(min(max(budget, float64(fallback.M))/float64(unit)+1, float64(sizing.MaxBits/unit)))
			least := sort.Search(most, func(r int) bool {
				p.M = uint64(r+1) * unit
				return p.ErrorRate(n) <= rate
			})
			if least == most {
				continue
			}
			p.M = uint64(least+1) * unit
			if better(p, best, budget) {
				best = p
			}
		}
	}
	enough := mostTotal * sizing.OptimalBits(n, yardstick) / 8
	return cut(shape{Capacity: n, ErrorRate: rate, Lines: best.Lines, Lanes: best.Lanes}, best.RegionLines(), sliceBytes, enough)
}

// lineCost is what reading a line costs the engine, in probes of a BITFIELD.
const lineCost = 4

// better reports whether layout p is preferred to q.
func better(p, q sizing.Params, budget float64) bool {
	fits, qFits := float64(p.M) <= budget, float64(q.M) <= budget
	if fits != qFits {
		return fits
	}
	cost, qCost := lineCost*p.Lines+p.K, lineCost*q.Lines+q.K
	if fits && cost != qCost {
		return cost < qCost
	}
	return p.M < q.M
}

// cut chooses the slices of a layer whose regions have the given number of lines in all.
// Fewer slices mean fewer commands, but the allocator rounds sizes up, so more slices may
// take less memory. It stops when they fit into enough bytes. The rounding is used for
// lines.
func cut(s shape, regionLines, sliceBytes uint64, enough float64) (shape, error) {
	line := uint64(s.Lines) * lineBytes // of all regions
	if sliceBytes < headerBytes+line {
		return shape{}, fmt.Errorf("slices of %d bytes; give at least %d", sliceBytes, MinSliceBytes)
	}
	perSlice := (sliceBytes - headerBytes) / line
	fewest := (regionLines + perSlice - 1) / perSlice
	if fewest > maxSlices {
		return shape{}, fmt.Errorf("%d slices of %d bytes; the limit is %d slices: give larger ones", fewest, sliceBytes, maxSlices)
	}
	need := float64(regionLines * line)
	least := math.Inf(1)
	for slices := fewest; slices < fewest+moreSlices && slices <= regionLines; slices++ {
		lines := (regionLines + slices - 1) / slices
		class := stringMemory(headerBytes + lines*line)
		if total := float64(class+keyMemory) * float64(slices); total < least {
			least = total
			s.Slices, s.RegionLines = slices, min(perSlice, (class-stringHeader-headerBytes)/line)
		}
		if least <= max(mostRounding*need, enough) {
			break
		}
	}
	return s, nil
}

const (
	// stringHeader is what the engine puts around a string: a header of at most 9 bytes up
	// to 4 GiB, and an end mark.
	stringHeader = 10
	// keyMemory is about what a key takes beside its value: an entry of the dictionary, an
	// object and the key itself.
	keyMemory = 96
)

// stringMemory returns the memory of a string value of n bytes: the allocator
// (jemalloc) has four sizes between a power of two and the next.
func stringMemory(n uint64) uint64 {
	n += stringHeader
	if n <= 128 {
		return (n + 15) &^ 15
	}
	step := uint64(1) << (bits.Len64(n-1) - 3)
	return (n + step - 1) &^ (step - 1)
}

// Plan says how large a filter will be and what it will cost.
type Plan struct {
	Slices     uint64 // string values
	SliceBytes uint64 // length of each
	Bytes      uint64 // memory on all nodes together, what the engine adds included
	// BytesPerNode is the mean. Slices are placed on nodes at random, so the fullest node
	// has more: by about two square roots of the slices that a node has.
	BytesPerNode uint64
	// SlicesPerNode is the mean of the slices of a node.
	SlicesPerNode float64
	BitsPerKey    float64 // Bytes for each key of the capacity
	ClassicBits   float64 // bits per key of a classic filter without any overhead, for comparison
	Lines         int     // lines that a key touches: GETRANGE commands for each key that is read
	Probes        int     // bits that a key sets
	// CommandsPerNew and CommandsPerSeen are the commands of an Add for a key alone in
	// its slice: for its lines, the header, and if it is new a BITFIELD. In a batch, the
	// keys of a slice share header and BITFIELD.
	CommandsPerNew, CommandsPerSeen int
	// RoundTripsNew and RoundTripsSeen are the most round trips of a call with at least
	// one new key, and of one without.
	RoundTripsNew, RoundTripsSeen int
	// ErrorRate is the error rate of the first layer at capacity.
	ErrorRate float64
}

// PlanFor returns the plan of a filter of configuration c on the given number of
// nodes that hold slices (primaries; replicas take as much again). Capacity and
// ErrorRate must be given.
func PlanFor(c Config, nodes int) (Plan, error) {
	if nodes < 1 {
		return Plan{}, fmt.Errorf("a plan for %d nodes; give at least 1", nodes)
	}
	p, err := c.parameters()
	if err != nil {
		return Plan{}, err
	}
	s, err := p.shapeOf(0)
	if err != nil {
		return Plan{}, err
	}
	bytes := s.Slices * (stringMemory(s.sliceBytes()) + keyMemory)
	return Plan{
		Slices: s.Slices, SliceBytes: s.sliceBytes(), Bytes: bytes,
		BytesPerNode:  (bytes + uint64(nodes) - 1) / uint64(nodes),
		SlicesPerNode: float64(s.Slices) / float64(nodes),
		BitsPerKey:    float64(bytes) * 8 / float64(c.Capacity),
		ClassicBits:   sizing.OptimalBits(c.Capacity, c.ErrorRate) / float64(c.Capacity),
		Lines:         s.Lines, Probes: s.Lines * s.Lanes,
		CommandsPerNew: s.Lines + 2, CommandsPerSeen: s.Lines + 1,
		RoundTripsNew: 2, RoundTripsSeen: 1,
		ErrorRate: s.params().ErrorRate(c.Capacity),
	}, nil
}
