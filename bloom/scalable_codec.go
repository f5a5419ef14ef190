package bloom

import (
	"io"
	"math"
	"slices"

	"seen/internal/frame"
	"seen/sizing"
)

const flagOverfill = 1

func (s *Scalable) encode() (*frame.Header, [][]byte, error) {
	h := s.header(frame.TypeScalable, s.config.Capacity, s.config.ErrorRate)
	s.config.putFields(h)
	return h, s.encodeLayers(h, nil, 0), nil
}

// putFields stores what the first three fields of a header say.
func (c *ScalableConfig) putFields(h *frame.Header) {
	h.Fields[0] = math.Float64bits(c.Growth)
	h.Fields[1] = c.MaxBytes
	if c.Overfill {
		h.Fields[2] = flagOverfill
	}
}

// encodeLayers adds the layers, which are those of a generation in a [Window], to h and
// their bytes to bodies.
func (s *Scalable) encodeLayers(h *frame.Header, bodies [][]byte, generation int64) [][]byte {
	for _, l := range s.layers {
		p, body := l.part()
		p.Fields[0], p.Fields[1] = uint64(l.index), uint64(generation)
		h.Parts = append(h.Parts, p)
		bodies = append(bodies, body)
	}
	return bodies
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

// UnmarshalBinary replaces s by the scalable filter in b. After an error s is
// unchanged. A SipHash filter is read with the secret of s.
func (s *Scalable) UnmarshalBinary(b []byte) error { return decodeInto(s, b) }

// ReadFrom replaces s by the scalable filter in r, which it reads to the end.
func (s *Scalable) ReadFrom(r io.Reader) (int64, error) { return readInto(s, r) }

func (s *Scalable) replace(g *Scalable) { become(s, g) }
