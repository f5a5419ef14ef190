package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/rueidis"
)

// What the edit of a change may return: there is nothing to do, or the change that is
// under way has to be finished first.
var (
	errUnchanged  = errors.New("nothing to change")
	errUnfinished = errors.New("another change is under way")
)

// change changes the record by edit, which is called again if another client was
// faster, and then makes or deletes the slices that the new record asks for.
func (c *core) change(ctx context.Context, edit func(*record) error) error {
	if err := c.changing.take(ctx); err != nil {
		return fmt.Errorf("%q: waiting for another call: %w", c.name, err)
	}
	defer c.changing.release()
	for attempt := 0; ; attempt++ {
		raw, r, err := c.get(ctx)
		if err == nil && r == nil {
			return fmt.Errorf("%q: %w", c.name, ErrNotFound)
		}
		if err == nil {
			next := r.clone()
			switch err = edit(next); {
			case errors.Is(err, errUnfinished):
				if err := c.adoptLocked(ctx, raw, r, false); err != nil {
					return err
				}
				continue
			case errors.Is(err, errUnchanged):
				return c.adoptLocked(ctx, raw, r, false)
			case err != nil:
				return err
			}
			var done bool
			if done, err = c.swap(ctx, raw, next); err == nil && done {
				if raw, r, err = c.get(ctx); err != nil {
					return err
				}
				if r == nil {
					return nil // dropped, and another client has finished it
				}
				err := c.adoptLocked(ctx, raw, r, true)
				if next.Dropped && errors.Is(err, ErrNotFound) {
					return nil
				}
				return err
			}
		}
		if err != nil && !again(ctx, attempt, err) {
			return err
		}
	}
}

// Attempts of steps that may be repeated. Together they take about ten seconds, as long
// as a failover.
const (
	maxAttempts = 24
	firstPause  = 10 * time.Millisecond
	longPause   = 500 * time.Millisecond
)

// again waits before another attempt and reports whether to make one. It is for steps
// that may be repeated whether or not they were executed.
func again(ctx context.Context, attempt int, err error) bool {
	return attempt < maxAttempts && hopeful(ctx, err) && pause(ctx, attempt)
}

// hopeful reports whether another attempt may succeed after err.
func hopeful(ctx context.Context, err error) bool {
	if _, other := errors.AsType[*NotFilterError](err); other {
		return false
	}
	return (!refused(err) || passing(err)) && !errors.Is(err, rueidis.ErrClosing) && ctx.Err() == nil
}

// pause waits, the longer the more attempts there were; false if ctx has ended.
func pause(ctx context.Context, attempt int) bool {
	d := min(firstPause<<min(attempt, 10), longPause)
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// finish does what an unfinished record asks for, and records that it is done. Several
// clients may do each step, several times.
func (c *core) finish(ctx context.Context, raw string, r *record) error {
	if r.Building && !r.Dropped {
		return fmt.Errorf("%q is the target of an unfinished union; make the union again, or drop it", c.name)
	}
	if r.Dropped {
		if err := c.unlink(ctx, r.generations()); err != nil {
			return err
		}
		return c.retrySwap(ctx, raw, nil)
	}
	if err := c.unlink(ctx, r.Gone); err != nil {
		return err
	}
	g := r.last()
	for i := g.Ready; i < len(g.Layers); i++ {
		l := c.newLayer(g, i, true)
		err := c.makeSlices(ctx, l, r.ExpireAt)
		if err == nil {
			err = c.confirmLayer(ctx, l)
		}
		if err != nil {
			outdated, tidyErr := c.tidy(ctx, g)
			if outdated {
				return tidyErr
			}
			return errors.Join(err, tidyErr)
		}
	}
	if g.Ready < len(g.Layers) {
		if outdated, err := c.tidy(ctx, g); outdated || err != nil {
			return err
		}
	}
	// Until now the layer before has taken keys.
	if err := c.sealBefore(ctx, r); err != nil {
		if errors.Is(err, ErrMissingSlice) {
			// Deleted since tidy.
			if outdated, err := c.tidy(ctx, g); outdated || err != nil {
				return err
			}
		}
		return err
	}
	next := r.clone()
	next.Gone = nil
	next.last().Ready = len(g.Layers)
	return c.retrySwap(ctx, raw, next)
}

// tidy deletes the slices of a generation that was cleared or dropped while slices were
// made for it, since the client that deleted it may have missed them. It reports whether
// the generation was cleared or dropped.
func (c *core) tidy(ctx context.Context, g *generation) (outdated bool, err error) {
	_, now, err := c.get(ctx)
	if err != nil {
		return false, err
	}
	if now != nil && !now.Dropped && now.lives(g.Epoch) {
		return false, nil // a client that deletes it from now on finds all its slices
	}
	return true, c.unlink(ctx, []generation{*g})
}

// retrySwap replaces the record, unless another client has changed it.
func (c *core) retrySwap(ctx context.Context, raw string, next *record) error {
	for attempt := 0; ; attempt++ {
		_, err := c.swap(ctx, raw, next)
		if err == nil || !again(ctx, attempt, err) {
			return err
		}
	}
}

// sealBefore seals the layer before the first that is not ready.
func (c *core) sealBefore(ctx context.Context, r *record) error {
	g := r.last()
	var before *layer
	switch {
	case g.Ready == len(g.Layers):
		return nil
	case g.Ready > 0:
		before = c.newLayer(g, g.Ready-1, true)
	case len(r.Live) > 1:
		last := &r.Live[len(r.Live)-2]
		before = c.newLayer(last, len(last.Layers)-1, false)
	default:
		return nil
	}
	if err := c.seal(ctx, before); err != nil {
		return err
	}
	return c.confirmLayer(ctx, before)
}
