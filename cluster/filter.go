package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/rueidis"

	"seen/bloom"
)

// Config describes a filter. All clients of a filter must give the same, except Wait.
type Config struct {
	// Capacity is the expected number of distinct keys, at least 1. More can be added,
	// unless Fixed is set: the filter then grows by layers, each twice as large as the one
	// before, which cost memory and commands.
	Capacity uint64
	// ErrorRate bounds the probability that a key which was never added is treated as
	// seen, in all layers together; above 0 and below 1.
	ErrorRate float64
	// SliceBytes is the greatest length of a slice, which is a string value: from
	// MinSliceBytes to MaxSliceBytes; 0 means DefaultSliceBytes. Smaller slices
	// spread a small filter over more nodes, and batches then cost more commands.
	SliceBytes uint64
	// Hash is the key hash; the zero value is XXH3 with seed 0. All clients need it.
	Hash bloom.Hash
	// Fixed says that the filter does not grow: keys beyond its capacity are an error,
	// [ErrFull].
	Fixed bool
	// Wait is for this client only.
	Wait Wait
}

// Wait makes calls return only when replicas have confirmed what was written. The zero
// value waits for none.
type Wait struct {
	// Replicas is how many replicas of each node must have confirmed.
	Replicas int
	// Timeout is how long to wait for them; 0 means one second.
	Timeout time.Duration
}

// Filter is a Bloom filter in engines. It is safe for concurrent use by any number of
// goroutines, processes and machines.
type Filter struct{ core }

// parameters checks c and returns what is recorded of it.
func (c Config) parameters() (parameters, error) {
	c.SliceBytes = cmp.Or(c.SliceBytes, DefaultSliceBytes)
	p := parameters{Capacity: c.Capacity, ErrorRate: c.ErrorRate, SliceBytes: c.SliceBytes, Fixed: c.Fixed}
	switch {
	case c.Capacity == 0 || c.Capacity > math.MaxInt64:
		return p, fmt.Errorf("capacity is %d; give 1 to %d keys", c.Capacity, int64(math.MaxInt64))
	case !(c.ErrorRate > 0 && c.ErrorRate < 1):
		return p, fmt.Errorf("error rate is %v; it must be above 0 and below 1, for example 0.01", c.ErrorRate)
	case c.SliceBytes < MinSliceBytes || c.SliceBytes > MaxSliceBytes:
		return p, fmt.Errorf("slices of %d bytes; give %d to %d", c.SliceBytes, MinSliceBytes, MaxSliceBytes)
	}
	p.setHash(c.Hash)
	return p, nil
}

func (p *parameters) setHash(h bloom.Hash) {
	p.Hash, p.Seed, p.KeyID = h.Algorithm.String(), h.Seed, ""
	if id := h.KeyID(); id != 0 {
		p.KeyID = fmt.Sprintf("%016x", id)
	}
}

// check checks the part of c that matters whether or not the filter exists.
func (c Config) check(name string) error {
	if name == "" {
		return errors.New("a filter needs a name")
	}
	if len(name) > maxName {
		return fmt.Errorf("a name of %d bytes; give at most %d", len(name), maxName)
	}
	if err := c.Hash.Validate(); err != nil {
		return err
	}
	if c.Wait.Replicas < 0 || c.Wait.Timeout < 0 {
		return fmt.Errorf("waiting for %d replicas and %v; neither may be below 0", c.Wait.Replicas, c.Wait.Timeout)
	}
	return nil
}

// maxName bounds a name, which is part of every key.
const maxName = 4096

// Open opens the filter of the given name, or creates it. A filter that exists is
// compared with c, and must not differ: [ParameterError]. If Capacity and
// ErrorRate are both 0 the filter must exist, [ErrNotFound], and is opened with its own
// parameters; its hash must be c.Hash in any case.
//
// Creating a filter takes its memory at once. If a client dies while it creates one, the
// next client that opens it finishes that. The caller closes client.
//
// Keys of the filter begin with its name and a colon. If the name has a hash tag in
// braces, all slices are in one hash slot.
func Open(ctx context.Context, client rueidis.Client, name string, c Config) (*Filter, error) {
	f := &Filter{core{client: client, name: name, wait: c.Wait, hash: c.Hash}}
	if err := f.open(ctx, c, c.parameters, false); err != nil {
		return nil, err
	}
	return f, nil
}

// open opens or creates the filter or window that config and described tell of; without a
// capacity and an error rate, it opens the one that there is.
func (c *core) open(ctx context.Context, config Config, described func() (parameters, error), window bool) error {
	if err := config.check(c.name); err != nil {
		return err
	}
	existing := config.Capacity == 0 && config.ErrorRate == 0
	var want parameters
	if !existing {
		var err error
		if want, err = described(); err != nil {
			return err
		}
	}
	if c.clock.ask == nil {
		c.clock.ask = c.engineTime
	}
	created := false
	for {
		raw, r, err := c.get(ctx)
		if err != nil {
			return err
		}
		switch {
		case r == nil && existing:
			return fmt.Errorf("%q: %w", c.name, ErrNotFound)
		case r == nil:
			if created, err = c.create(ctx, want); err != nil {
				return err
			}
			continue
		case r.Dropped:
			if err := c.finish(ctx, raw, r); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			continue
		}
		if isWindow := r.Generations > 0; window != isWindow {
			kinds := map[bool]string{false: "filter", true: "window"}
			return &ParameterError{Filter: c.name, Parameter: "Kind", Have: kinds[isWindow], Want: kinds[window]}
		}
		if existing {
			want = r.parameters
			want.setHash(c.hash)
		}
		if err := c.compare(r.parameters, want); err != nil {
			return err
		}
		err = c.adopt(ctx, raw, r, created)
		if errors.Is(err, ErrNotFound) && !existing {
			continue // dropped meanwhile
		}
		return err
	}
}

// create writes the first record, unless another client has, and reports whether it did.
// Its slices are not there yet.
func (c *core) create(ctx context.Context, p parameters) (bool, error) {
	first, err := p.shapeOf(0)
	if err != nil {
		return false, err
	}
	begin := generation{Epoch: newEpoch(), Layers: []shape{first}}
	if p.Generations > 0 {
		t, err := c.clock.ask(ctx)
		if err != nil {
			return false, err
		}
		begin.Number = p.numberAt(t)
	}
	r := &record{
		Format: recordFormat, Version: recordVersion, parameters: p,
		Live: []generation{begin},
	}
	value, err := r.encode()
	if err != nil {
		return false, err
	}
	err = c.client.Do(ctx, c.client.B().Set().Key(c.name).Value(value).Nx().Build()).Error()
	if err != nil && !rueidis.IsRedisNil(err) {
		return false, explain(c.name, err)
	}
	return err == nil, nil
}

// Clear removes all keys, by making new slices and deleting the old ones. It repairs a
// filter that has lost slices. Keys that other clients add at the same time are removed
// or not.
func (c *core) Clear(ctx context.Context) error {
	return c.change(ctx, func(r *record) error {
		first, err := r.shapeOf(0)
		if err != nil {
			return err
		}
		next := generation{Number: r.last().Number + 1, Epoch: newEpoch(), Layers: []shape{first}}
		if r.Generations > 0 {
			// The number of a window's generation is its time.
			next.Number = r.last().Number
		}
		r.Gone = append(r.Gone, r.Live...)
		r.Live = []generation{next}
		r.Building = false
		return nil
	})
}

// Clear is [Filter.Clear] for the filter or window of the given name. It does not need
// its parameters or hash, and works also if it cannot be opened, for example after a union
// that was interrupted.
func Clear(ctx context.Context, client rueidis.Client, name string) error {
	if err := (Config{}).check(name); err != nil {
		return err
	}
	return (&core{client: client, name: name}).Clear(ctx)
}

// Drop deletes the filter or window of the given name, whatever its parameters, also if it
// is unfinished or the engine is out of memory. If there is none it does nothing.
func Drop(ctx context.Context, client rueidis.Client, name string) error {
	if err := (Config{}).check(name); err != nil {
		return err
	}
	return (&core{client: client, name: name}).Drop(ctx)
}

// Drop deletes the filter. Later calls of other clients fail with [ErrNotFound], until one
// opens it again with a capacity, which creates it.
func (c *core) Drop(ctx context.Context) error {
	err := c.change(ctx, func(r *record) error {
		r.Dropped = true
		return nil
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case CodeOf(err) == OutOfMemory:
		return c.dropFull(ctx)
	}
	return err
}

// dropFull is Drop for an engine without memory for the mark in the record or for a
// transaction. It deletes the slices first; if it is interrupted, the record still names
// those that are left. Other clients find slices missing meanwhile.
func (c *core) dropFull(ctx context.Context) error {
	_, r, err := c.get(ctx)
	if err != nil || r == nil {
		return err
	}
	if err := c.unlink(ctx, r.generations()); err != nil {
		return err
	}
	raw, err := c.client.Do(ctx, c.client.B().Getdel().Key(c.name).Build()).ToString()
	switch {
	case rueidis.IsRedisNil(err):
		return nil
	case err != nil:
		return explain(c.name, err)
	}
	// The record that was just deleted names slices that another client has made since. A
	// client that makes some from now on sees that the record is gone.
	if r, err = decodeRecord(c.name, raw); err != nil {
		return err
	}
	return c.unlink(ctx, r.generations())
}
