package bloom

import (
	"io"
	"math"
	"slices"
	"time"

	"seen/internal/frame"
)

const (
	flagByKeys    = 1
	flagNoRefresh = 2
	flagNoClock   = 4
	flagCountNew  = 8
	allFlags      = flagByKeys | flagNoRefresh | flagNoClock | flagCountNew
)

func (w *Window) encode() (*frame.Header, [][]byte, error) {
	h := w.header(frame.TypeWindow, w.config.Capacity, w.config.ErrorRate)
	h.Fields[0] = uint64(w.config.Span)
	if w.byKeys() {
		h.Fields[0] = w.config.SpanKeys
		h.Fields[2] |= flagByKeys
	}
	if w.config.CountNew {
		h.Fields[2] |= flagCountNew
	}
	if w.config.NoRefresh {
		h.Fields[2] |= flagNoRefresh
	}
	if w.config.NoClock {
		h.Fields[2] |= flagNoClock
	}
	h.Fields[1] = uint64(w.step)
	h.Fields[3] = uint64(w.config.Generations)
	h.Fields[4] = uint64(w.current)
	h.Fields[5] = w.calls
	var bodies [][]byte
	for _, g := range slices.Backward(w.gens) {
		bodies = g.set.encodeLayers(h, bodies, g.number)
	}
	return h, bodies, nil
}

// window returns the filter of a frame of that type.
func (l *loader) window() (View, error) {
	h := l.h
	if err := l.noFields(6); err != nil {
		return nil, err
	}
	if h.Fields[2] > allFlags || h.Fields[0] > math.MaxInt64 || h.Fields[3] > maxGenerations {
		return nil, l.bad("flags %#x, span %d, %d generations", h.Fields[2], h.Fields[0], h.Fields[3])
	}
	c := WindowConfig{
		Span: time.Duration(h.Fields[0]), Generations: int(h.Fields[3]), Capacity: h.Capacity, ErrorRate: h.ErrorRate,
		CountNew: h.Fields[2]&flagCountNew != 0, NoRefresh: h.Fields[2]&flagNoRefresh != 0, NoClock: h.Fields[2]&flagNoClock != 0, Hash: hashOf(l.hash), Clock: l.clock,
	}
	if h.Fields[2]&flagByKeys != 0 {
		c.Span, c.SpanKeys = 0, h.Fields[0]
	}
	w, err := newWindow(c)
	if err != nil {
		return nil, l.bad("%v", err)
	}
	w.current, w.calls = int64(h.Fields[4]), h.Fields[5]
	switch {
	case h.Fields[1] != uint64(w.step):
		return nil, l.bad("a step of %d, but %d generations of the span %d have %d", h.Fields[1], c.Generations, h.Fields[0], w.step)
	case !w.byKeys() && w.calls != 0:
		return nil, l.bad("a window by time that counts keys, %d so far", w.calls)
	case w.byKeys() && (w.current < 0 || uint64(w.current) > w.calls/uint64(w.step) || w.calls > math.MaxInt64):
		return nil, l.bad("generation %d after %d keys", w.current, w.calls)
	}
	for from, to := 0, 0; from < len(h.Parts); from = to {
		number := int64(h.Parts[from].Fields[1])
		for to < len(h.Parts) && int64(h.Parts[to].Fields[1]) == number {
			to++
		}
		if number > w.current || !w.live(number, w.current) || from > 0 && number < int64(h.Parts[from-1].Fields[1]) {
			return nil, l.bad("part %d is of generation %d at generation %d", from, number, w.current)
		}
		s := &Scalable{config: w.model.config, base: w.model.base}
		if err := l.fillScalable(s, from, to); err != nil {
			return nil, err
		}
		w.gens = slices.Insert(w.gens, 0, generation{number, s})
	}
	w.bind(l.hash, l.keyID, w)
	return w, nil
}

// UnmarshalBinary replaces w, but not its clock, by the window in b. After an error w
// is unchanged. A SipHash filter is read with the secret of w.
func (w *Window) UnmarshalBinary(b []byte) error { return decodeInto(w, b) }

// ReadFrom replaces w, but not its clock, by the window in r, which it reads to the
// end.
func (w *Window) ReadFrom(r io.Reader) (int64, error) { return readInto(w, r) }

func (w *Window) replace(g *Window) {
	clock := w.config.Clock
	w.config, w.step, w.model, w.current, w.calls, w.gens, w.spare = g.config, g.step, g.model, g.current, g.calls, g.gens, nil
	w.config.Clock = clock
	w.bind(g.hash, g.keyID, w)
	w.label = g.label
}
