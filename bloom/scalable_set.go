package bloom

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"seen/internal/frame"
	"seen/sizing"
)

// Union adds every key of g to s. The two must have the same hash and error rate;
// capacities and growth may differ, and s keeps its own. A layer of g is ORed into one of
// s if their parameters are equal and the keys of both fit, and is copied otherwise. So
// there may be more layers, and the error rate is bounded by the sum of both rates; Stats
// tells the rate. If you know that you will merge filters, give each the error rate that
// you want divided by their number.
//
// Union fails with [ErrIncompatible] if the filters are unlike and with [ErrFull] if
// MaxBytes of s is too low, and then does not change s. Added becomes an estimate where
// layers are ORed.
func (s *Scalable) Union(g *Scalable) error {
	if err := s.checkHash(&g.lookup); err != nil {
		return err
	}
	return s.merge(g)
}

// merge is Union for filters that are known to have the same hash.
func (s *Scalable) merge(g *Scalable) error {
	if s == g {
		return nil
	}
	if s.config.ErrorRate != g.config.ErrorRate {
		return &IncompatibleError{"error rates", s.config.ErrorRate, g.config.ErrorRate}
	}
	// Each layer of s takes at most one of g. First decide all, so that nothing changes
	// if one is impossible.
	into := map[*layer]*layer{}
	var copies []*layer
	bytes := s.bytes()
	for _, theirs := range g.layers {
		i := slices.IndexFunc(s.layers, func(l *layer) bool {
			return into[l] == nil && l.index == theirs.index && l.params == theirs.params &&
				l.added+theirs.added <= max(l.capacity, theirs.capacity)
		})
		switch {
		case theirs.added == 0 && theirs.ones() == 0:
		case i >= 0:
			into[s.layers[i]] = theirs
		default:
			copies = append(copies, theirs)
			bytes += theirs.params.Bytes()
		}
	}
	if limit := s.config.MaxBytes; limit != 0 && len(copies) > 0 && bytes > limit {
		return fmt.Errorf("%w: the union takes %d bytes, more than the limit of %d; raise the limit", ErrFull, bytes, limit)
	}
	for l, theirs := range into {
		most := l.added + theirs.added
		if err := l.union(&theirs.array); err != nil {
			return err
		}
		l.added = min(l.added, most)
	}
	for _, l := range copies {
		s.layers = append(s.layers, l.copy())
	}
	// The emptiest of the highest index comes last and takes what is added next.
	slices.SortStableFunc(s.layers, func(a, b *layer) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(b.added, a.added))
	})
	return nil
}

// copy returns a copy that shares nothing with l.
func (l *layer) copy() *layer { return asLayer(l.clone(), l.index) }

func (s *Scalable) bytes() uint64 {
	n := uint64(0)
	for _, l := range s.layers {
		n += l.params.Bytes()
	}
	return n
}

// Added returns the number of recorded keys: the calls of Add that returned true, without
// those made when the filter was full.
func (s *Scalable) Added() uint64 {
	n := uint64(0)
	for _, l := range s.layers {
		n += l.added
	}
	return n
}

// Clear forgets all keys. Only the first layer stays.
func (s *Scalable) Clear() {
	for _, l := range s.layers[1:] {
		l.Release()
	}
	if l := s.layers[0]; l.params == s.base {
		clear(l.words)
		s.layers = []*layer{s.firstLayer(l.words, l.mem)}
	} else {
		l.Release()
		s.layers = []*layer{s.firstLayer(newWords(int(s.base.Bytes() / 8)))}
	}
	s.full = nil
}

// Equal reports whether s and g have the same parameters, hash, layers and bits.
func (s *Scalable) Equal(g *Scalable) bool {
	return s.checkHash(&g.lookup) == nil && s.equal(g)
}

func (s *Scalable) equal(g *Scalable) bool {
	return s.config.Capacity == g.config.Capacity && s.config.ErrorRate == g.config.ErrorRate && s.config.Growth == g.config.Growth &&
		slices.EqualFunc(s.layers, g.layers, func(a, b *layer) bool {
			return a.index == b.index && a.equal(&b.array)
		})
}

// Clone returns a copy that shares nothing with s.
func (s *Scalable) Clone() *Scalable {
	c := s.clone()
	c.bind(s.hash, s.keyID, c)
	c.tag = s.tag
	return c
}

// clone is Clone without the binding.
func (s *Scalable) clone() *Scalable {
	c := &Scalable{config: s.config, base: s.base, full: s.full}
	for _, l := range s.layers {
		c.layers = append(c.layers, l.copy())
	}
	return c
}

// Stats describes the filter; it reads all layers. Params is zero, and the numbers of
// keys are sums over the layers.
func (s *Scalable) Stats() Stats {
	st := layerStats("scalable", s.layers)
	st.AskedErrorRate = s.config.ErrorRate
	return st
}

const flagOverfill = 1

func (s *Scalable) encode() (*frame.Header, [][]byte, error) {
	h := s.header(frame.TypeScalable, s.config.Capacity, s.config.ErrorRate)
	h.Fields[0] = math.Float64bits(s.config.Growth)
	h.Fields[1] = s.config.MaxBytes
	if s.config.Overfill {
		h.Fields[2] = flagOverfill
	}
	var bodies [][]byte
	for _, l := range s.layers {
		p, body := l.describe()
		h.Parts = append(h.Parts, p)
		bodies = append(bodies, body)
	}
	return h, bodies, nil
}

// part describes the layer in a file.
func (l *layer) describe() (frame.Part, []byte) {
	p, body := l.array.part()
	p.Fields[0] = uint64(l.index)
	return p, body
}

func (l *loader) scalable() (View, error) {
	h := l.h
	if err := l.noFields(3); err != nil {
		return nil, err
	}
	if h.Fields[2] > flagOverfill {
		return nil, l.bad("unknown flags %#x", h.Fields[2])
	}
	if h.Fields[0] == 0 {
		return nil, l.bad("growth is 0")
	}
	s, err := emptyScalable(ScalableConfig{
		Capacity: h.Capacity, ErrorRate: h.ErrorRate, Growth: math.Float64frombits(h.Fields[0]),
		MaxBytes: h.Fields[1], Overfill: h.Fields[2]&flagOverfill != 0, Hash: hashOf(l.hash),
	})
	if err != nil {
		return nil, l.bad("%v", err)
	}
	if err := l.fillScalable(s, 0, len(h.Parts)); err != nil {
		return nil, err
	}
	// Clear makes a layer of this capacity, so a file must not merely claim it.
	if !slices.ContainsFunc(s.layers, func(l *layer) bool { return l.index == 0 && l.capacity >= h.Capacity }) {
		return nil, l.bad("no layer has the first capacity, %d", h.Capacity)
	}
	s.bind(l.hash, l.keyID, s)
	return s, nil
}

// maxLayers bounds the index of a layer; with the least growth it is never met.
const maxLayers = 1 << 16

// fillScalable makes the parts [from, to) the layers of s.
func (l *loader) fillScalable(s *Scalable, from, to int) error {
	if from == to {
		return l.bad("it has no layers")
	}
	for i := from; i < to; i++ {
		index := l.h.Parts[i].Fields[0]
		if index >= maxLayers || i > from && index < l.h.Parts[i-1].Fields[0] {
			return l.bad("part %d is layer %d, which is out of order", i, index)
		}
		a, err := l.array(i, sizing.Blocked)
		if err != nil {
			return err
		}
		// 1 % of tolerance, since formulas may be refined.
		if most := s.rateOf(int(index)); a.capacity == 0 || a.params.ErrorRate(a.capacity) > 1.01*most {
			return l.bad("part %d cannot hold %d keys at error rate %.3g", i, a.capacity, most)
		}
		s.layers = append(s.layers, asLayer(a, int(index)))
	}
	return nil
}

// AppendBinary appends the filter in the format of docs/FORMAT.md to b.
func (s *Scalable) AppendBinary(b []byte) ([]byte, error) { return appendBinary(s, b) }

// MarshalBinary returns the filter in the format of docs/FORMAT.md.
func (s *Scalable) MarshalBinary() ([]byte, error) { return appendBinary(s, nil) }

// UnmarshalBinary replaces s by the scalable filter in b. After an error s is
// unchanged. A SipHash filter is read with the secret of s.
func (s *Scalable) UnmarshalBinary(b []byte) error { return decodeInto(s, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own.
func (s *Scalable) WriteTo(w io.Writer) (int64, error) { return writeTo(s, w) }

// ReadFrom replaces s by the scalable filter in r, which it reads to the end.
func (s *Scalable) ReadFrom(r io.Reader) (int64, error) { return readInto(s, r) }

func (s *Scalable) replace(g *Scalable) {
	s.config, s.base, s.layers, s.full = g.config, g.base, g.layers, g.full
	s.bind(g.hash, g.keyID, s)
	s.tag = g.tag
}
