package cluster

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

// WindowConfig describes a [Window]. Capacity is the number of distinct keys within one
// span, ErrorRate bounds the error rate of the whole window.
type WindowConfig struct {
	Config
	// Span is the time for which a key is remembered.
	Span time.Duration
	// Generations is the number of parts in which the window forgets, from 2 to 64; 0
	// means 8. With more of them the span is more exact, and a call costs more
	// commands.
	Generations int
	// NoRefresh says that a key is forgotten a span after it was new, even if it was
	// added again since.
	NoRefresh bool
}

const (
	defaultGenerations = 8
	// leastStep is the shortest time of a generation.
	leastStep = time.Millisecond
	// A client uses its own clock before it asks the engine again for at most mostTrust,
	// and at most this part, as a divisor, of a generation's time.
	mostTrust  = time.Second
	trustShare = 64
)

// Window is a filter that forgets: it answers whether a key was seen within the last
// span, like [bloom.Window]. With G generations, a key is forgotten no sooner than a span
// after the beginning, and no later than G/(G-1) spans after the end, of the call that
// added it for the last time (with NoRefresh: for the first time).
//
// The time is that of the engine with the record, not the client's. It does not run
// backwards: if a node with a slower clock takes over, the window's time stands still
// until that clock has caught up.
//
// Each generation is a filter with its own slices, which are deleted when it is forgotten.
// A generation is sealed before the next begins, so exactly one client is told that a key
// is new then too. If several clients add a key in that moment, it may be undecided for
// one of them, [UndecidedError].
type Window struct{ core }

// OpenWindow opens the window of the given name, or creates it, as [Open] does.
func OpenWindow(ctx context.Context, client rueidis.Client, name string, c WindowConfig) (*Window, error) {
	c.Generations = cmp.Or(c.Generations, defaultGenerations)
	w := &Window{core{client: client, name: name, wait: c.Wait, hash: c.Hash}}
	if err := w.open(ctx, c.Config, c.windowParameters, true); err != nil {
		return nil, err
	}
	return w, nil
}

// windowParameters checks c and returns what is recorded of it.
func (c WindowConfig) windowParameters() (parameters, error) {
	p, err := c.parameters()
	switch {
	case err != nil:
		return p, err
	case c.Generations < 2 || c.Generations > maxGenerations:
		return p, fmt.Errorf("a window of %d generations; give 2 to %d", c.Generations, maxGenerations)
	case c.Span < leastStep*time.Duration(c.Generations-1):
		return p, fmt.Errorf("a window of %v in %d generations; each must last at least %v", c.Span, c.Generations, leastStep)
	}
	p.Span, p.Generations, p.NoRefresh = c.Span, c.Generations, c.NoRefresh
	return p, nil
}

// step returns how long a generation takes keys.
func (p parameters) step() time.Duration {
	return (p.Span + time.Duration(p.Generations-2)) / time.Duration(p.Generations-1)
}

// numberAt returns the number of the generation of time t: 0 for filters.
func (p parameters) numberAt(t time.Time) int64 {
	if p.Generations == 0 {
		return 0
	}
	return min(max(0, t.UnixNano()/int64(p.step())), 1<<maxGenerationBits-1)
}

// clock is the engine's time, as far as a client knows it without asking.
type clock struct {
	ask    func(context.Context) (time.Time, error)
	asking lock
	engine time.Time // what the engine last said
	asked  time.Time // when it was asked, by the client's clock
}

// number returns the number of the present generation, at least that of known. What
// is estimated is never behind the engine's time; where it would begin a generation,
// the engine is asked.
func (k *clock) number(ctx context.Context, p parameters, known int64) (int64, error) {
	if err := k.asking.take(ctx); err != nil {
		return 0, fmt.Errorf("waiting for the engine's time: %w", err)
	}
	defer k.asking.release()
	if age := time.Since(k.asked); age < min(mostTrust, p.step()/trustShare) {
		if n := p.numberAt(k.engine.Add(age)); n <= known {
			return known, nil
		}
	}
	k.asked = time.Now()
	now, err := k.ask(ctx)
	if err != nil {
		k.asked = time.Time{}
		return 0, err
	}
	k.engine = now
	return max(known, p.numberAt(now)), nil
}

// turn begins the present generation of a window if it is not there yet.
func (c *core) turn(ctx context.Context) error {
	s := c.current.Load()
	if s.record.Generations == 0 {
		return nil
	}
	now, err := c.clock.number(ctx, s.record.parameters, s.record.last().Number)
	if err != nil || now == s.record.last().Number {
		return err
	}
	return c.change(ctx, func(r *record) error {
		switch {
		case r.last().Number >= now:
			return errUnchanged
		case r.unfinished():
			// The new generation comes after a layer that is there, and is sealed.
			return errUnfinished
		}
		first, err := r.shapeOf(0)
		if err != nil {
			return err
		}
		live := r.Live[:0:0]
		for _, g := range r.Live {
			if g.Number > now-int64(r.Generations) {
				live = append(live, g)
			} else {
				r.Gone = append(r.Gone, g)
			}
		}
		r.Live = append(live, generation{Number: now, Epoch: newEpoch(), Layers: []shape{first}})
		return nil
	})
}

// look returns the order up to which layers are forgotten: 0 for filters. Their slices may
// still be there.
func (c *core) look(ctx context.Context) (uint64, error) {
	s := c.current.Load()
	if s.record.Generations == 0 {
		return 0, nil
	}
	now, err := c.clock.number(ctx, s.record.parameters, s.record.last().Number)
	if err != nil {
		return 0, err
	}
	if now > s.record.last().Number {
		// Others may have begun it.
		if s, err = c.refresh(ctx); err != nil {
			return 0, err
		}
		now = max(now, s.record.last().Number)
	}
	forgotten := now - int64(s.record.Generations)
	if forgotten < 0 {
		return 0, nil
	}
	return uint64(forgotten)<<layerBits | (1<<layerBits - 1), nil
}

// Span returns how long a key is remembered.
func (w *Window) Span() time.Duration { return w.current.Load().record.Span }
