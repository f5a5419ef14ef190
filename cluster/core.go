package cluster

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"seen/bloom"
)

// core is what a filter and a window have in common: a record and the chain of
// layers that it lists, of which the newest takes keys.
//
// A layer is sealed as a whole before the next takes keys, by a mark in the header of
// each slice. BITFIELD returns the header together with the old bits, so a client that
// writes to a sealed slice learns it and goes on to the next layer. A client that reads a
// sealed slice knows that the bits in it decide nothing any more.
//
// So exactly one client is told that a key is new, however late the others learn of a
// layer: before a client adds a key to a layer, it has found the key absent in every
// older layer after that layer was sealed.
type core struct {
	client rueidis.Client
	name   string
	wait   Wait
	hash   bloom.Hash
	// touch returns a write that changes nothing of a string with bits of keys; nil for
	// slices.
	touch func(b rueidis.Builder, key string) rueidis.Completed

	clock    clock // of a window
	current  atomic.Pointer[snapshot]
	novelty  novelty
	changing lock // one change of the record by this client at a time
}

// Hash returns the key hash.
func (c *core) Hash() bloom.Hash { return c.hash }

// Name returns the name.
func (c *core) Name() string { return c.name }

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
	asks     atomic.Bool   // a slice was sealed or missing: keys are read before they are written
	checking lock
	looks    atomic.Uint64 // how often this client has read the counts of all slices
	looked   error         // result of the last time; under checking
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
	return s.record.lives(old.record.last().Epoch)
}

// adopt finishes the change that is under way, and makes the record the one that calls
// use. Unless the change is mine (this client has begun it), adopt first waits for its
// owner to finish it, so that hundreds of clients do not all do the same work.
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
	if old := c.current.Load(); old != nil {
		if old.raw == raw {
			return nil
		}
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

// How long to wait for another client to finish its change, before this one does it too.
const (
	leastPatience = 200 * time.Millisecond
	slicePatience = 5 * time.Millisecond // for each slice
	mostPatience  = 30 * time.Second
)

// await returns the record when it has changed, or when the wait is over.
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

// refresh reads the record again.
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
