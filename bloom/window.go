package bloom

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"seen/sizing"
)

// WindowConfig says what a [Window] remembers and for how long. Give exactly one
// of Span and SpanKeys.
type WindowConfig struct {
	// Span is the time for which a key is remembered.
	Span time.Duration
	// SpanKeys, instead of Span, is the number of calls of Add for which a key is
	// remembered, of new keys or not.
	SpanKeys uint64
	// CountNew makes SpanKeys count only calls that record a key in the present generation:
	// the window is full before it forgets, never grows, and repetitions do not make it
	// forget.
	CountNew bool
	// Generations is the number of parts in which the window forgets, from 2 to 64. More
	// generations make the span more exact and questions slower. 0 means 8, or SpanKeys+1
	// for SpanKeys up to 63 without CountNew, which makes the span exact.
	Generations int
	// Capacity is the number of distinct keys within one span. It is not a limit: a burst
	// makes the window grow. With SpanKeys, 0 means SpanKeys.
	Capacity uint64
	// ErrorRate bounds the error rate of the whole window; between 0 and 1,
	// exclusively.
	ErrorRate float64
	// NoRefresh makes the window forget a key one span after it was new, even if it was
	// added again.
	NoRefresh bool
	// NoClock makes the latest time of AddHashAt and AddHashesAt the present time; the
	// clock is never asked.
	NoClock bool
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash Hash
	// Clock is asked for the time, once per call; nil means time.Now.
	Clock func() time.Time
}

const (
	defaultGenerations = 8
	maxGenerations     = 64
)

// Window is a filter that forgets: it answers whether a key was seen within the last span,
// of time or of calls of Add.
//
// It consists of G generations, each a [Scalable]. A generation takes new keys for a step
// of span/(G-1), rounded up to whole nanoseconds or calls, and is dropped as a whole when
// G-1 more have begun. So a key is there for one span after it was added for the last time
// (the first time, with NoRefresh), and gone after G steps: with 8 generations a seventh
// later than the span, and at most 6 calls more by rounding. With SpanKeys+1 generations a
// key is there for exactly SpanKeys calls. The error rate holds over all generations
// together.
//
// Add of a key that is remembered answers false and, unless NoRefresh is set, records it
// again in the present generation. With NoRefresh a key that comes every day is new again
// after each span.
//
// The Cardinality of Stats is the sum of the estimates of the generations. Without
// NoRefresh, a key that was added in several of them counts once in each. With NoRefresh
// it counts once, and keys that an older generation says yes to by mistake do not count: a
// share of at most the error rate.
//
// Generations begin at multiples of their step in Unix time. So windows of equal span that
// were filled on several machines can be merged. Windows that count calls cannot.
//
// Time never runs backwards: if the clock jumps back, the window stays at the latest time
// that an Add has seen until the clock is past it. If the clock jumps far ahead by mistake,
// the window forgets everything, and stays at that time until Clear.
//
// The zero value is not usable; make one with [NewWindow] or read one. Any number of
// goroutines may ask at the same time while none adds. A Window must not be copied.
type Window struct {
	storedSet
	config  WindowConfig
	step    int64     // length of a generation, in nanoseconds or calls
	model   *Scalable // an empty generation without layers
	current int64     // the newest generation that was reached
	calls   uint64    // of Add, as far as they count
	// gens are the live generations that have keys, the newest first.
	gens  []generation
	spare *Scalable // memory for the next one
	held  int       // snapshots under way: dropped memory is not used again
}

// generation number n takes the keys of the n-th step.
type generation struct {
	number int64
	set    *Scalable
}

// noTime is the generation of a window by time before the first key.
const noTime = math.MinInt64

// NewWindow returns an empty window.
func NewWindow(c WindowConfig) (*Window, error) {
	if err := c.Hash.Validate(); err != nil {
		return nil, err
	}
	w, err := newWindow(c)
	if err != nil {
		return nil, err
	}
	// The memory of the first generation: an error if there is not enough.
	if w.spare, err = w.model.fresh(); err != nil {
		return nil, err
	}
	w.bind(c.Hash.key(), c.Hash.KeyID(), w)
	return w, nil
}

// newWindow returns a Window that is not bound yet.
func newWindow(c WindowConfig) (*Window, error) {
	if c.Generations == 0 {
		c.Generations = defaultGenerations
		if !c.CountNew && c.SpanKeys > 0 && c.SpanKeys < maxGenerations {
			c.Generations = int(c.SpanKeys) + 1
		}
	}
	if c.Generations < 2 || c.Generations > maxGenerations {
		return nil, fmt.Errorf("a window of %d generations; give 2 to %d", c.Generations, maxGenerations)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	w := &Window{config: c, current: noTime, gens: make([]generation, 0, c.Generations)}
	span := int64(c.Span)
	switch {
	case !(c.ErrorRate > 0 && c.ErrorRate < 1):
		return nil, badRate(c.ErrorRate)
	case c.Span != 0 && c.SpanKeys != 0:
		return nil, fmt.Errorf("a window of %v and of %d keys; give one of the two", c.Span, c.SpanKeys)
	case c.Span < 0:
		return nil, fmt.Errorf("a window of %v; the span must be above 0", c.Span)
	case c.SpanKeys > math.MaxInt64:
		return nil, fmt.Errorf("a window of %d keys; give at most %d", c.SpanKeys, int64(math.MaxInt64))
	case c.SpanKeys != 0:
		span = int64(c.SpanKeys)
		w.current = 0
		if w.config.Capacity == 0 {
			w.config.Capacity = c.SpanKeys
		}
	case c.CountNew && c.Span != 0:
		return nil, errors.New("CountNew is for windows that count keys; give SpanKeys")
	case c.Span == 0:
		return nil, errors.New("a window needs a span; give Span or SpanKeys")
	}
	w.step = ceilDiv(span, int64(c.Generations-1))
	capacity, rate := sizing.Generation(w.config.Capacity, c.ErrorRate, c.Generations)
	model, err := emptyScalable(ScalableConfig{
		Capacity: capacity, ErrorRate: rate, Growth: sizing.WindowGrowth,
		// When a generation cannot grow any more, the rate rises, and no keys get lost.
		Overfill: true,
	})
	if err != nil {
		return nil, err
	}
	w.model = model
	return w, nil
}

func ceilDiv(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// nanos returns t in Unix nanoseconds, the nearest that an int64 holds.
func nanos(t time.Time) int64 {
	const limit = math.MaxInt64/int64(time.Second) - 1
	switch s := t.Unix(); {
	case s > limit:
		return math.MaxInt64
	case s < -limit:
		return math.MinInt64
	}
	return t.UnixNano()
}

func (w *Window) byKeys() bool { return w.config.SpanKeys != 0 }

// now returns the present generation.
func (w *Window) now() int64 {
	switch {
	case w.byKeys():
		return int64(w.calls / uint64(w.step))
	case w.config.NoClock:
		return w.current
	}
	return max(w.current, floorDiv(nanos(w.config.Clock()), w.step))
}

// live reports whether a generation is remembered at a time that is not before it.
func (w *Window) live(number, now int64) bool {
	return uint64(now)-uint64(number) < uint64(w.config.Generations)
}

// liveGens returns those of gens that are still remembered now.
func (w *Window) liveGens(now int64) []generation {
	n := len(w.gens)
	for n > 0 && !w.live(w.gens[n-1].number, now) {
		n--
	}
	return w.gens[:n]
}

// advance makes the given generation the current one, if it is newer, and drops
// generations that are no longer live.
func (w *Window) advance(to int64) {
	if to <= w.current {
		return
	}
	w.current = to
	for n := len(w.liveGens(to)); len(w.gens) > n; {
		last := len(w.gens) - 1
		if w.held == 0 {
			if w.spare != nil {
				w.spare.Release()
			}
			w.spare = w.gens[last].set
		}
		w.gens[last] = generation{}
		w.gens = w.gens[:last]
	}
}

// set returns the given live generation, and makes it if it does not exist.
func (w *Window) set(number int64) *Scalable {
	i, ok := w.index(number)
	if ok {
		return w.gens[i].set
	}
	s := w.spare
	if w.spare = nil; s == nil {
		s = w.newSet()
	} else {
		s.Clear()
	}
	w.gens = slices.Insert(w.gens, i, generation{number, s})
	return s
}

// newSet makes the filter of a generation. If there is not enough memory for the
// capacity it begins with less, and grows.
func (w *Window) newSet() *Scalable {
	if s, err := w.model.fresh(); err == nil {
		return s
	}
	const few = 1 << 12
	c := w.model.config
	c.Capacity = min(c.Capacity, few)
	s, err := emptyScalable(c)
	if err != nil {
		s = w.model // possible for more keys, so possible for few
	}
	return &Scalable{config: s.config, base: s.base, layers: []*layer{s.firstLayer(newWords(int(s.base.Bytes() / 8)))}}
}

// index returns the index in gens of the generation with the given number, or where to
// insert it.
func (w *Window) index(number int64) (i int, ok bool) {
	for i < len(w.gens) && w.gens[i].number > number {
		i++
	}
	return i, i < len(w.gens) && w.gens[i].number == number
}

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
		i, ok := w.index(theirs.number)
		if ok {
			if err := w.gens[i].set.merge(theirs.set); err != nil {
				return err
			}
			continue
		}
		s := theirs.set.clone()
		s.config, s.base = w.model.config, w.model.base
		w.gens = slices.Insert(w.gens, i, generation{theirs.number, s})
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
	return w.checkHash(&g.lookup) == nil && sameWindow(&w.config, &g.config) && w.current == g.current && w.calls == g.calls &&
		slices.EqualFunc(w.gens, g.gens, func(a, b generation) bool {
			return a.number == b.number && a.set.equal(b.set)
		})
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
	c.label = w.label
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

// Config returns the configuration of the window. Files contain all of it except Clock and
// the secret of SipHash.
func (w *Window) Config() WindowConfig { return w.config }

// Release returns the memory of all generations to the system at once. The window must not
// be used afterwards.
func (w *Window) Release() {
	for _, g := range w.gens {
		g.set.Release()
	}
	if w.spare != nil {
		w.spare.Release()
	}
}
