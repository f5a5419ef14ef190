package bloom

import (
	"fmt"
	"io"
	"math"
	"time"

	"seen/internal/frame"
)

// Err returns nil, or an error, matched by [ErrFull], that says why a generation could not
// grow for a new key. Keys are recorded all the same, and the error rate rises. This
// happens only with error rates near the limit of 64-bit hashes.
func (w *Window) Err() error {
	for i := range w.gens {
		if err := w.gens[i].set.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Union adds every key of g to w, at the time when it was added to g. The two must have
// the same hash, span, generations and error rate; capacities may differ. If they are
// unlike, or count keys instead of time, Union fails with [ErrIncompatible] and does not
// change w. The error rate of a generation that both have is bounded by the sum of both
// rates; see [Scalable.Union].
func (w *Window) Union(g *Window) error {
	if err := w.checkHash(&g.lookup); err != nil {
		return err
	}
	a, b := &w.config, &g.config
	switch {
	case w.byKeys() || g.byKeys():
		return fmt.Errorf("%w: windows that count keys have no time in common; only those with a Span can be merged", ErrIncompatible)
	case a.Span != b.Span:
		return &IncompatibleError{"spans", a.Span, b.Span}
	case a.Generations != b.Generations:
		return &IncompatibleError{"numbers of generations", a.Generations, b.Generations}
	case a.ErrorRate != b.ErrorRate:
		return &IncompatibleError{"error rates", a.ErrorRate, b.ErrorRate}
	case w == g:
		return nil
	}
	w.advance(g.current)
	for _, theirs := range g.gens {
		if !w.live(theirs.number, w.current) {
			break
		}
		i := w.index(theirs.number)
		if i < len(w.gens) && w.gens[i].number == theirs.number {
			if err := w.gens[i].set.merge(theirs.set); err != nil {
				return err
			}
			continue
		}
		s := theirs.set.clone()
		s.config, s.base = w.model.config, w.model.base
		w.insert(i, generation{theirs.number, s})
	}
	return nil
}

// Added returns the number of keys that the live generations have recorded. A key counts
// once in each of them.
func (w *Window) Added() uint64 {
	n := uint64(0)
	for _, g := range w.liveGens(w.now()) {
		n += g.set.Added()
	}
	return n
}

// Clear forgets all keys, and the time.
func (w *Window) Clear() {
	w.Release()
	clear(w.gens)
	w.gens = w.gens[:0]
	w.spare = nil
	w.calls = 0
	w.current = noTime
	if w.byKeys() {
		w.current = 0
	}
}

// Equal reports whether w and g have the same parameters, hash, time and
// generations with the same bits.
func (w *Window) Equal(g *Window) bool {
	a, b := w.config, g.config
	a.Clock, b.Clock = nil, nil
	if w.checkHash(&g.lookup) != nil || !sameWindow(&a, &b) || w.current != g.current || w.calls != g.calls || len(w.gens) != len(g.gens) {
		return false
	}
	for i := range w.gens {
		if w.gens[i].number != g.gens[i].number || !w.gens[i].set.equal(g.gens[i].set) {
			return false
		}
	}
	return true
}

func sameWindow(a, b *WindowConfig) bool {
	return a.Span == b.Span && a.SpanKeys == b.SpanKeys && a.Generations == b.Generations && a.Capacity == b.Capacity &&
		a.ErrorRate == b.ErrorRate && a.CountNew == b.CountNew && a.NoRefresh == b.NoRefresh && a.NoClock == b.NoClock
}

// Clone returns a copy that shares nothing with w but the clock.
func (w *Window) Clone() *Window {
	c := &Window{
		config: w.config, step: w.step, model: w.model, current: w.current, calls: w.calls,
		gens: make([]generation, len(w.gens), cap(w.gens)),
	}
	for i, g := range w.gens {
		c.gens[i] = generation{g.number, g.set.clone()}
	}
	c.bind(w.hash, w.keyID, c)
	c.tag = w.tag
	return c
}

// Stats describes the live generations; it reads all of them. The numbers of keys are sums
// over the generations: a refreshed key counts once in each that has it.
func (w *Window) Stats() Stats {
	var filters [][]*layer
	for _, g := range w.liveGens(w.now()) {
		filters = append(filters, g.set.layers)
	}
	st := layerStats("window", filters...)
	st.AskedErrorRate = w.config.ErrorRate
	return st
}

// edge returns where a generation begins, in nanoseconds of Unix time or calls of Add, or
// the nearest that an int64 holds.
func (w *Window) edge(number int64) int64 {
	return max(math.MinInt64/w.step, min(number, math.MaxInt64/w.step)) * w.step
}

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
	for i := len(w.gens) - 1; i >= 0; i-- {
		for _, l := range w.gens[i].set.layers {
			p, body := l.describe()
			p.Fields[1] = uint64(w.gens[i].number)
			h.Parts = append(h.Parts, p)
			bodies = append(bodies, body)
		}
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
		w.insert(0, generation{number, s})
	}
	w.bind(l.hash, l.keyID, w)
	return w, nil
}

// AppendBinary appends the filter in the format of docs/FORMAT.md to b.
func (w *Window) AppendBinary(b []byte) ([]byte, error) { return appendBinary(w, b) }

// MarshalBinary returns the filter in the format of docs/FORMAT.md.
func (w *Window) MarshalBinary() ([]byte, error) { return appendBinary(w, nil) }

// UnmarshalBinary replaces w, but not its clock, by the window in b. After an error w
// is unchanged. A SipHash filter is read with the secret of w.
func (w *Window) UnmarshalBinary(b []byte) error { return decodeInto(w, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own.
func (w *Window) WriteTo(to io.Writer) (int64, error) { return writeTo(w, to) }

// ReadFrom replaces w, but not its clock, by the window in r, which it reads to the
// end.
func (w *Window) ReadFrom(r io.Reader) (int64, error) { return readInto(w, r) }

func (w *Window) replace(g *Window) {
	clock := w.config.Clock
	w.config, w.step, w.model, w.current, w.calls, w.gens, w.spare = g.config, g.step, g.model, g.current, g.calls, g.gens, nil
	w.config.Clock = clock
	w.bind(g.hash, g.keyID, w)
	w.tag = g.tag
}
