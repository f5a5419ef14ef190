package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"seen/bloom"
)

// core is what a filter and a window have in common: a record and the chain of
// layers that it lists, of which the newest takes keys.
//
// A layer is sealed as a whole before the next takes keys, by a mark in the header of
// each slice. BITFIELD returns the header together with the old bits, so who writes
// to a sealed slice learns it and goes on to the next layer; and whoever asks a
// sealed slice knows that nothing in it decides any more. That is why exactly one
// client is told that a key is new, however late the others learn of a layer: before
// it adds a key to a layer, a client has found it absent in every older layer after
// that was sealed.
type core struct {
	client rueidis.Client
	name   string
	wait   Wait
	hash   bloom.Hash
	// touch returns a write that changes nothing of what keys lie in, unless it is nil
	// and they lie in slices.
	touch func(b rueidis.Builder, key string) rueidis.Completed

	current  atomic.Pointer[snapshot]
	novelty  novelty
	changing lock // one change of the record by this client at a time
}

// snapshot is the record as this client knows it. It is never changed.
type snapshot struct {
	raw    string
	record *record
	layers []*layer // of all live generations, in the order in which they were made
}

// layer is a layer that is there.
type layer struct {
	shape
	epoch string
	index int
	// order tells layers apart and grows along the chain.
	order  uint64
	prefix string // of the slices' keys, which end with the number of the slice
	head   int64  // the first eight bytes of an open slice
	// fresh says that it belongs to the newest generation.
	fresh bool
	// checkAt is the count of a slice from which on the layer may be full.
	checkAt  atomic.Uint64
	counted  atomic.Uint64 // the most that a slice of this client's last write had
	wroteAt  atomic.Int64  // the time of that, in nanoseconds
	asks     atomic.Bool   // a slice was sealed or missing: nothing is written before it is asked for
	checking lock
	looks    atomic.Uint64 // that this client has had at the counts of all slices
	looked   error         // with which the last of them ended; under checking
	gate     gate
}

const (
	layerBits         = 16
	maxGenerationBits = 46
	maxGenerations    = 64
)

// slicePrefix returns what the keys of a layer's slices begin with.
func slicePrefix(name, epoch string, index int) string {
	return fmt.Sprintf("%s:%s:%d:", name, epoch, index)
}

func (c *core) newLayer(g *generation, index int, fresh bool) *layer {
	l := &layer{
		shape: g.Layers[index], epoch: g.Epoch, index: index, fresh: fresh,
		order:  uint64(g.Number)<<layerBits | uint64(index+1),
		prefix: slicePrefix(c.name, g.Epoch, index), head: headOf(g.Epoch),
	}
	l.checkAt.Store(max(1, l.Capacity/l.Slices))
	l.gate.fullAt = int64(min(l.Capacity, math.MaxInt64))
	return l
}

// newest returns the layer that takes keys.
func (s *snapshot) newest() *layer { return s.layers[len(s.layers)-1] }

// follows reports whether what is known of old's layers still holds in s.
func (s *snapshot) follows(old *snapshot) bool {
	epoch := old.record.last().Epoch
	for i := range s.record.Live {
		if s.record.Live[i].Epoch == epoch {
			return true
		}
	}
	return false
}

// adopt finishes what is under way and makes the record the one that calls use. What
// is not mine, begun by this client, is given time to be finished by who has begun
// it: hundreds of clients need not all do the work.
func (c *core) adopt(ctx context.Context, raw string, r *record, mine bool) error {
	if err := c.changing.take(ctx); err != nil {
		return fmt.Errorf("%q: waiting for another call: %w", c.name, err)
	}
	defer c.changing.release()
	return c.adoptLocked(ctx, raw, r, mine)
}

func (c *core) adoptLocked(ctx context.Context, raw string, r *record, mine bool) error {
	for r != nil && r.unfinished() {
		var err error
		if !mine {
			seen := raw
			if raw, r, err = c.await(ctx, raw, r); err != nil {
				return err
			}
			if raw != seen {
				continue
			}
		}
		if err := c.finish(ctx, raw, r); err != nil {
			return err
		}
		mine = false
		if raw, r, err = c.get(ctx); err != nil {
			return err
		}
	}
	if r == nil {
		return fmt.Errorf("%q: %w: it was dropped or has expired", c.name, ErrNotFound)
	}
	if old := c.current.Load(); old != nil && old.raw == raw {
		return nil
	}
	if old := c.current.Load(); old != nil {
		if err := c.compare(r.parameters, old.record.parameters); err != nil {
			return fmt.Errorf("dropped and created again: %w", err)
		}
	}
	s := &snapshot{raw: raw, record: r}
	for i := range r.Live {
		for j := range r.Live[i].Layers {
			s.layers = append(s.layers, c.newLayer(&r.Live[i], j, i == len(r.Live)-1))
		}
	}
	c.current.Store(s)
	return nil
}

// How long a change that another client has begun is waited for, before this one
// does it too.
const (
	leastPatience = 200 * time.Millisecond
	slicePatience = 5 * time.Millisecond // for each slice
	mostPatience  = 30 * time.Second
)

// await returns the record when it has changed, or when patience is at its end.
func (c *core) await(ctx context.Context, raw string, r *record) (string, *record, error) {
	patience := leastPatience
	for _, g := range r.Live {
		for _, l := range g.Layers {
			patience += time.Duration(l.Slices) * slicePatience
		}
	}
	end := time.Now().Add(min(patience, mostPatience))
	for attempt := 0; time.Now().Before(end); attempt++ {
		if !pause(ctx, attempt) {
			return "", nil, ctx.Err()
		}
		now, r, err := c.get(ctx)
		if err != nil || now != raw {
			return now, r, err
		}
	}
	return raw, r, nil
}

// refresh reads the record anew.
func (c *core) refresh(ctx context.Context) (*snapshot, error) {
	if err := c.changing.take(ctx); err != nil {
		return nil, fmt.Errorf("%q: waiting for another call: %w", c.name, err)
	}
	defer c.changing.release()
	raw, r, err := c.get(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.adoptLocked(ctx, raw, r, false); err != nil {
		return nil, err
	}
	return c.current.Load(), nil
}

// What functions that are given to change may answer: that there is nothing to do,
// and that what is under way has to be finished before.
var (
	errUnchanged  = errors.New("nothing to change")
	errUnfinished = errors.New("another change is under way")
)

// change changes the record by edit, which is called again if another client was
// faster, and does what the change asks for.
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
					return nil // dropped, and somebody else has finished it
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

// Attempts of steps that may be repeated: about ten seconds, which is what a
// failover takes.
const (
	maxAttempts = 24
	firstPause  = 10 * time.Millisecond
	longPause   = 500 * time.Millisecond
)

// again waits before another attempt and reports whether there is to be one. It is
// for what may be repeated whether or not it was executed.
func again(ctx context.Context, attempt int, err error) bool {
	return attempt < maxAttempts && hopeful(ctx, err) && pause(ctx, attempt)
}

// hopeful reports whether another attempt may succeed where err came.
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

// finish does what an unfinished record asks for and changes the record to say so.
// Every step may be done by several clients, several times.
func (c *core) finish(ctx context.Context, raw string, r *record) error {
	if r.Building && !r.Dropped {
		return fmt.Errorf("%q is the target of a union that is being made or was broken off; make the union again, or drop it", c.name)
	}
	if r.Dropped {
		if err := c.unlinkAll(ctx, r); err != nil {
			return err
		}
		return c.retrySwap(ctx, raw, nil)
	}
	for i := range r.Gone {
		if err := c.unlink(ctx, &r.Gone[i]); err != nil {
			return err
		}
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
	// Until here the layer before has gone on taking keys.
	if err := c.sealBefore(ctx, r); err != nil {
		if errors.Is(err, ErrMissingSlice) {
			// Deleted since the look before.
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
// made for it, since who deleted it may not have met them, and reports whether it was.
func (c *core) tidy(ctx context.Context, g *generation) (outdated bool, err error) {
	_, now, err := c.get(ctx)
	if err != nil {
		return false, err
	}
	if now != nil && !now.Dropped && slices.ContainsFunc(now.Live, func(live generation) bool { return live.Epoch == g.Epoch }) {
		return false, nil // whoever ends it from now on knows of them
	}
	return true, c.unlink(ctx, g)
}

// retrySwap replaces the record, or finds that somebody else has changed it.
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

// grow sees to it that there is a layer after the given one, which is full or
// sealed.
func (c *core) grow(ctx context.Context, after *layer) error {
	return c.change(ctx, func(r *record) error {
		g := r.last()
		if g.Epoch != after.epoch || len(g.Layers) > after.index+1 {
			return errUnchanged
		}
		if len(g.Layers) == maxLayers {
			return fmt.Errorf("%q: %w: it has %d layers; make a larger one", c.name, ErrFull, maxLayers)
		}
		s, err := r.shapeOf(len(g.Layers))
		if err != nil {
			return fmt.Errorf("%q: %w; make a larger one", c.name, err)
		}
		g.Layers = append(g.Layers, s)
		return nil
	})
}

// sliceBatch is how many slices are made, sealed or deleted in one pipeline. A
// new slice of 16 MiB keeps its node busy for some milliseconds.
const sliceBatch = 32

// eachSlice executes a command for each slice of a layer, in pipelines. The command
// must be one that may be repeated.
func (c *core) eachSlice(ctx context.Context, l *layer, command func(key string) rueidis.Completed, answer func(key string, r rueidis.RedisResult) error) error {
	keys := make([]string, 0, sliceBatch)
	var names text
	for from := uint64(0); from < l.Slices; from += sliceBatch {
		keys = keys[:0]
		for i := from; i < min(l.Slices, from+sliceBatch); i++ {
			keys = append(keys, names.join(l.prefix, i))
		}
		if err := c.each(ctx, keys, command, answer); err != nil {
			return err
		}
	}
	return nil
}

func (c *core) each(ctx context.Context, keys []string, command func(key string) rueidis.Completed, answer func(key string, r rueidis.RedisResult) error) error {
	if len(keys) == 0 {
		return nil
	}
	for attempt := 0; ; attempt++ {
		// The client may still hold those of an attempt that failed.
		commands := make([]rueidis.Completed, 0, len(keys))
		for _, key := range keys {
			commands = append(commands, command(key))
		}
		left := keys[:0]
		var failed error
		for i, r := range c.client.DoMulti(ctx, commands...) {
			err := r.Error()
			if err == nil || rueidis.IsRedisNil(err) {
				if answer == nil {
					continue
				}
				if err := answer(keys[i], r); err != nil {
					return err
				}
				continue
			}
			if !hopeful(ctx, err) {
				return explain(keys[i], err)
			}
			left, failed = append(left, keys[i]), explain(keys[i], err)
		}
		if len(left) == 0 {
			return nil
		}
		if attempt >= maxAttempts || !pause(ctx, attempt) {
			return failed
		}
		keys = left
	}
}
