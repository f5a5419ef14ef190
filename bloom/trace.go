package bloom

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"

	"seen/internal/kernel"
	"seen/sizing"
)

// A Trace is what a question for one key reads in one array of a filter. It explains an
// answer to people.
type Trace struct {
	// Array names the kind of the array: "classic", "blocked", "partitioned",
	// "counting", "fingerprints", "static" or "cuckoo".
	Array string
	// Part numbers the arrays of a filter from 0, the oldest or first. From is the
	// generation in a window.
	Part int
	From int64
	// Positions is the number of bits, counters, slots or fingerprints of the array.
	Positions uint64
	// Probes are the places that were read, in order. A set of fingerprints has none.
	Probes []TraceProbe
	// Found says that this array says yes to the key. A filter says yes if one of its
	// arrays does; a cascade, if all do.
	Found bool
	// ErrorRate is the probability that this array says yes to a key that was never added
	// to it.
	ErrorRate float64
}

// A TraceProbe is a place in an array that was read.
type TraceProbe struct {
	Position uint64 // of the bit, counter or slot
	Line     uint64 // of 64 bytes, that it is in
	Set      bool   // the bit is one, the counter is not 0, the slot has the fingerprint
	Value    uint64 // of the bit, counter or slot
}

// TraceOf returns the traces of the question for the hash h, one for each array of the
// filter, also for arrays that HasHash does not read because it knows the answer. It must
// not run while the filter changes, unless HasHash may. A View of another package is an
// error.
func TraceOf(v View, h uint64) (all []Trace, err error) {
	switch f := v.(type) {
	case interface{ trace(h uint64) Trace }:
		all = []Trace{f.trace(h)}
	case interface{ traces(h uint64) []Trace }:
		all = f.traces(h)
	default:
		return nil, fmt.Errorf("a %T cannot be traced; give a filter of this package", v)
	}
	for i := range all {
		all[i].Part = i
	}
	runtime.KeepAlive(v)
	return all, nil
}

// lineOf returns the line of a bit.
func lineOf(bit uint64) uint64 { return bit / sizing.LineBits }

// begin returns a trace without probes. Found is true until a probe says no.
func (a *array) begin() Trace {
	return Trace{Array: a.params.Shape.String(), Positions: a.params.M, Found: true, ErrorRate: a.params.ErrorRate(a.added)}
}

// probe reads bit i and adds it to the trace.
func (t *Trace) probe(a *array, i uint64) {
	a.touchWord(i / 64)
	bit := a.words[i/64] >> (i % 64) & 1
	t.add(TraceProbe{Position: i, Line: lineOf(i), Set: bit != 0, Value: bit})
}

func (t *Trace) add(p TraceProbe) {
	t.Probes = append(t.Probes, p)
	t.Found = t.Found && p.Set
}

func (f *Classic) trace(h uint64) Trace {
	t := f.begin()
	for range f.params.K {
		t.probe(&f.array, position(h, f.params.M))
		h = probeStep(h)
	}
	return t
}

func (f *Partitioned) trace(h uint64) Trace {
	t := f.begin()
	for first := uint64(0); first < f.params.M; first += f.slice {
		t.probe(&f.array, first+position(h, f.slice))
		h = probeStep(h)
	}
	return t
}

func (f *Counting) trace(h uint64) Trace {
	t := f.begin()
	for range f.params.K {
		i := position(h, f.params.M)
		w, shift := f.counter(i)
		n := *w >> shift & f.most
		t.add(TraceProbe{Position: i, Line: lineOf(i * uint64(f.params.CounterBits)), Set: n != 0, Value: n})
		h = probeStep(h)
	}
	return t
}

func (f *Filter) trace(h uint64) Trace {
	t := f.begin()
	for region := range uint64(f.layout.Lines) {
		from := region*f.layout.RegionLines*kernel.LineWords + f.layout.Offset(h)
		for lane, word := range f.layout.LaneBits(h) {
			if word != 0 {
				t.probe(&f.array, (from+uint64(lane))*64+uint64(bits.TrailingZeros64(word)))
			}
		}
		h = kernel.Next(h)
	}
	return t
}

func (s *Shared) trace(h uint64) Trace {
	t := s.f.trace(h)
	t.ErrorRate = s.f.params.ErrorRate(s.Added())
	return t
}

func (f *Cascade) traces(h uint64) (all []Trace) {
	for i, level := range f.levels {
		all = append(all, level.trace(levelHash(h, i)))
	}
	return all
}

func (s *Scalable) traces(h uint64) (all []Trace) {
	for _, l := range s.layers {
		all = append(all, l.Filter.trace(h))
	}
	return all
}

func (w *Window) traces(h uint64) (all []Trace) {
	for _, g := range slices.Backward(w.liveGens(w.now())) {
		for _, t := range g.set.traces(h) {
			t.From = g.number
			all = append(all, t)
		}
	}
	return all
}

func (a *Adaptive) traces(h uint64) []Trace {
	if a.filter != nil {
		return a.filter.traces(h)
	}
	n := a.Added()
	return []Trace{{Array: "fingerprints", Positions: n, Found: a.HasHash(h), ErrorRate: hashRate(n)}}
}

func (f *Static) trace(h uint64) Trace {
	t := Trace{
		Array: "static", Positions: uint64(len(f.fuse.slots)) / uint64(f.fuse.bits/8), Found: f.HasHash(h),
		ErrorRate: math.Ldexp(1, -f.fuse.bits) + hashRate(f.n),
	}
	i0, i1, i2 := f.fuse.find(f.fuse.mix(h))
	size := uint64(f.fuse.bits / 8)
	for _, i := range []uint64{i0, i1, i2} {
		value := uint64(0)
		for b := size; b > 0; b-- {
			value = value<<8 | uint64(f.fuse.slots[i*size+b-1])
		}
		// Only the three slots together tell whether the key is found.
		t.Probes = append(t.Probes, TraceProbe{Position: i, Line: i * size / (sizing.LineBits / 8), Set: t.Found, Value: value})
	}
	return t
}

func (f *Cuckoo) traces(h uint64) (all []Trace) {
	fp := fingerprint(h)
	for _, table := range f.all() {
		load := float64(table.occupied()) / float64(table.size)
		t := Trace{Array: "cuckoo", Positions: table.size, ErrorRate: 1 - f.rightAt(load)}
		first, second := table.pair(h)
		buckets := []uint64{first, second}
		if first == second {
			buckets = buckets[:1]
		}
		for _, b := range buckets {
			for slot := b * f.bucketSize; slot < (b+1)*f.bucketSize; slot++ {
				value := table.get(slot)
				t.Probes = append(t.Probes, TraceProbe{Position: slot, Line: slot / (sizing.LineBits / 8), Set: value == fp, Value: uint64(value)})
				t.Found = t.Found || value == fp
			}
		}
		all = append(all, t)
	}
	return all
}
