package bloom

import (
	"io"
	"math"

	"seen/internal/frame"
)

func (a *Adaptive) encode() (*frame.Header, [][]byte, error) {
	h := a.headerOfBoth()
	if a.filter == nil {
		// In order: the same keys make the same bytes, and a mapped file can be searched.
		body := frame.Bytes(a.exact().sorted())
		h.Parts = []frame.Part{fingerprintsPart(len(body))}
		return h, [][]byte{body}, nil
	}
	h.Capacity = a.filter.config.Capacity
	return h, a.filter.encodeLayers(h, nil, 0), nil
}

// headerOfBoth returns what the headers of a set and of a filter share.
func (a *Adaptive) headerOfBoth() *frame.Header {
	h := a.header(frame.TypeAdaptive, 0, a.config.ErrorRate)
	c := a.config.filter(0)
	c.putFields(h)
	h.Fields[3] = a.config.MaxBytes
	return h
}

// fingerprintsPart describes hashes in a file.
func fingerprintsPart(length int) frame.Part {
	n := uint64(length / slotBytes)
	return frame.Part{Kind: frame.KindFingerprints, M: n, Added: n, Length: n * slotBytes}
}

// adaptive returns the set or the filter of the frame.
func (l *loader) adaptive() (View, error) {
	h := l.h
	if err := l.noFields(4); err != nil {
		return nil, err
	}
	if h.Fields[2] > flagOverfill {
		return nil, l.bad("unknown flags %#x", h.Fields[2])
	}
	a := &Adaptive{config: AdaptiveConfig{
		MaxBytes: h.Fields[3], ErrorRate: h.ErrorRate, Hash: hashOf(l.hash),
		Growth: math.Float64frombits(h.Fields[0]), FilterMaxBytes: h.Fields[1], Overfill: h.Fields[2]&flagOverfill != 0,
	}}
	var err error
	if len(h.Parts) == 1 && h.Parts[0].Kind == frame.KindFingerprints {
		err = l.exact(a)
	} else {
		err = l.layers(a)
	}
	if err != nil {
		return nil, err
	}
	if err := a.check(); err != nil {
		return nil, l.bad("%v", err)
	}
	a.bind(l.hash, l.keyID, a)
	return a, nil
}

// layers makes the parts the filter of a.
func (l *loader) layers(a *Adaptive) error {
	f, err := emptyScalable(a.config.filter(l.h.Capacity))
	if err != nil {
		return l.bad("%v", err)
	}
	a.filter = f
	return l.fillScalable(f, 0, len(l.h.Parts))
}

// exact makes the one part the set of a.
func (l *loader) exact(a *Adaptive) error {
	if p, want := l.h.Parts[0], fingerprintsPart(len(l.parts[0])); p != want || l.h.Capacity != 0 {
		return l.bad("capacity %d and part %+v instead of 0 and %+v", l.h.Capacity, p, want)
	}
	if l.touch != nil {
		a.mapped = &sortedFingerprints{bytes: l.parts[0], touch: func(off, n uint64) { l.touch(0, off, n) }}
		return nil
	}
	words, _ := frame.Words(l.parts[0])
	if i := outOfOrder(words); i >= 0 {
		return l.bad("hash %d is not greater than the one before it", i)
	}
	a.set = newFingerprints(words)
	return nil
}

// UnmarshalBinary replaces a by the adaptive set or filter in b. After an error a is
// unchanged. A SipHash filter is read with the secret of a.
func (a *Adaptive) UnmarshalBinary(b []byte) error { return decodeInto(a, b) }

// ReadFrom replaces a by the adaptive set or filter in r, which it reads to the end.
func (a *Adaptive) ReadFrom(r io.Reader) (int64, error) { return readInto(a, r) }

func (a *Adaptive) replace(g *Adaptive) { become(a, g) }
