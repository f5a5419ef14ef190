package frame

import "seen/sizing"

// arrayForms lists for each shape the kind of its parts, and the type of a frame that is
// only such an array.
var arrayForms = []struct {
	shape sizing.Shape
	kind  Kind
	only  Type
}{
	{sizing.Classic, KindClassic, TypeFilter},
	{sizing.Blocked, KindBlocked, TypeBlocked},
	{sizing.Partitioned, KindPartitioned, TypePartitioned},
	{sizing.Counting, KindCounters, TypeCounting},
}

// onlyKind returns the kind of the part if frames of type t are one array, else 0.
func (t Type) onlyKind() Kind {
	for _, f := range arrayForms {
		if f.only == t {
			return f.kind
		}
	}
	return 0
}

// ArrayPart describes an empty array of bits or counters.
func ArrayPart(p sizing.Params, capacity uint64, rate float64) Part {
	part := Part{
		Lines: uint8(p.Lines), Lanes: uint8(p.Lanes), CounterBits: uint8(p.CounterBits), K: uint32(p.K), M: p.M,
		Capacity: capacity, ErrorRate: rate,
	}
	for _, f := range arrayForms {
		if f.shape == p.Shape {
			part.Kind = f.kind
		}
	}
	part.Length, _ = WordBytes(p.M, max(1, part.CounterBits)) // too long a part is refused by Layout
	return part
}

// ArrayHeader returns the header of a filter that is one array, without its hash.
func ArrayHeader(p sizing.Params, capacity uint64, rate float64) *Header {
	h := &Header{Capacity: capacity, ErrorRate: rate, Parts: []Part{ArrayPart(p, capacity, rate)}}
	for _, f := range arrayForms {
		if f.shape == p.Shape {
			h.Type = f.only
		}
	}
	return h
}

// Params returns the layout of a part that is an array of bits or counters; ok is false
// for other parts.
func (p *Part) Params() (layout sizing.Params, ok bool) {
	for _, f := range arrayForms {
		if f.kind == p.Kind {
			return sizing.Params{
				Shape: f.shape, M: p.M, K: int(p.K), Lines: int(p.Lines), Lanes: int(p.Lanes), CounterBits: int(p.CounterBits),
			}, true
		}
	}
	return sizing.Params{}, false
}
