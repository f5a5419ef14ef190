package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/redis/rueidis"

	"seen/sizing"
)

const (
	// countedSlices is the most slices whose bits are counted to see whether a layer is
	// full.
	countedSlices = 16
	// fullShare is the part of its capacity, as a divisor, that a layer may have left when
	// it counts as full.
	fullShare = 512
	// sureOf is how many standard errors an estimate of distinct keys must be below the
	// counts to replace them.
	sureOf = 3

	// firstShare is the part of the error rate that the first layer gets. It is nearly
	// all, since the caller expects the capacity to suffice.
	firstShare = 0.95
	// layerGrowth is the capacity of a layer relative to the one before it.
	layerGrowth = 2
)

// layerDemand returns what layer i, counted from 0, is made for. The error rates of
// all layers sum up to errorRate: the first gets firstShare of it, the others share the
// rest by the rule of growth.
func layerDemand(capacity uint64, errorRate float64, fixed bool, i int) (n uint64, rate float64, err error) {
	switch {
	case fixed:
		return capacity, errorRate, nil
	case i == 0:
		return capacity, firstShare * errorRate, nil
	}
	growth := sizing.Growth{First: capacity, Factor: layerGrowth, ErrorRate: (1 - firstShare) * errorRate}
	if n = growth.Capacity(i); n > math.MaxInt64 {
		return 0, 0, fmt.Errorf("%w: layer %d would be for %.3g keys", ErrFull, i+1, float64(n))
	}
	return n, growth.Rate(i - 1), nil
}

// mayBeFull reports whether there are keys to write to layer l, and a slice that was read
// has had its share of keys: then checkFull comes first. So a layer that has exactly its
// capacity is not followed by another until a key needs it.
func (b *batch) mayBeFull(l *layer) bool {
	if !slices.ContainsFunc(b.items, func(it item) bool { return it.doubt == certain }) {
		return false
	}
	at := int64(min(l.checkAt.Load(), math.MaxInt64))
	return slices.ContainsFunc(b.spans, func(sp span) bool { return sp.layer == l && sp.count >= at })
}

// checkFull checks whether layer l is full, and if so makes the next one. The counts in
// the headers include keys that several clients wrote at once, so it also counts the ones
// of some slices. After an error the layer may have no room, and nothing may be written to
// it: the error rate would rise without limit.
func (c *core) checkFull(ctx context.Context, l *layer) error {
	return c.checkFullSince(ctx, l, l.looks.Load())
}

// checkFullSince is checkFull. If another call has looked while it waited, so that there
// are more looks than given, it returns the result of that call.
func (c *core) checkFullSince(ctx context.Context, l *layer, looks uint64) error {
	if err := l.checking.take(ctx); err != nil {
		return fmt.Errorf("%q: waiting for another call: %w", c.name, err)
	}
	defer l.checking.release()
	if c.current.Load().newest() != l {
		return nil
	}
	if l.looks.Load() != looks {
		return l.looked // another call has looked meanwhile
	}
	err := c.lookFull(ctx, l)
	if err != nil && ctx.Err() != nil {
		return err // which says nothing about the calls of others
	}
	l.looked = err
	l.looks.Add(1)
	return err
}

// lookFull does the work of checkFull.
func (c *core) lookFull(ctx context.Context, l *layer) error {
	counts, err := c.counts(ctx, l)
	if err != nil {
		return err
	}
	var sum, most uint64
	for _, n := range counts {
		sum += n
		most = max(most, n)
	}
	keys := float64(sum)
	if sum >= l.Capacity {
		ratio, err := c.trueShare(ctx, l, counts)
		if err != nil {
			return err
		}
		keys *= min(1, ratio)
		if keys >= float64(l.Capacity-l.Capacity/fullShare) {
			return c.closeLayer(ctx, l)
		}
	}
	missing := float64(l.Capacity) - keys
	l.gate.looked(int64(sum), int64(math.Ceil(missing)))
	// Each slice will get its part of what is missing; look again when one has got half
	// of it.
	l.checkAt.Store(most + max(1, uint64(missing/float64(l.Slices)/2)))
	return nil
}

// closeLayer seals a full layer, and makes the next unless the filter is Fixed. If the
// engine refuses that permanently, the filter is full.
func (c *core) closeLayer(ctx context.Context, l *layer) error {
	if c.current.Load().record.Fixed {
		return c.seal(ctx, l)
	}
	err := c.grow(ctx, l)
	if refused(err) && !passing(err) && !errors.Is(err, ErrFull) {
		return fmt.Errorf("%q: %w: its newest layer is full with %d keys, and the engine refuses to make the next: %w", c.name, ErrFull, l.Capacity, err)
	}
	return err
}

// grow adds a layer after the given one, which is full or sealed, if there is none.
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

// counts returns the counts of all slices of a layer.
func (c *core) counts(ctx context.Context, l *layer) ([]uint64, error) {
	counts := make([]uint64, l.Slices)
	err := c.eachSlice(ctx, l, func(key string) rueidis.Completed {
		return c.client.B().Arbitrary("GETRANGE").Keys(key).Args("0", headerEnd).ReadOnly()
	}, func(key string, r rueidis.RedisResult) error {
		header, err := r.ToString()
		if err != nil {
			return err
		}
		if len(header) != headerRead || !l.owns(int64(binary.BigEndian.Uint64([]byte(header)))) {
			return missingSlice(key)
		}
		counts[l.indexOf(key)] = binary.BigEndian.Uint64([]byte(header[8:]))
		return nil
	})
	return counts, err
}

// trueShare estimates the ratio of distinct keys to counted keys.
func (c *core) trueShare(ctx context.Context, l *layer, counts []uint64) (float64, error) {
	n := min(l.Slices, countedSlices)
	var counted uint64
	for i := range n {
		counted += counts[i*l.Slices/n]
	}
	ones, err := c.ones(ctx, l, n)
	if err != nil || counted == 0 {
		return 0, err
	}
	p := l.paramsOf(n)
	distinct := p.Cardinality(min(ones, p.M))
	if distinct.Value+sureOf*distinct.StdErr >= float64(counted) {
		return 1, nil
	}
	return distinct.Value / float64(counted), nil
}
