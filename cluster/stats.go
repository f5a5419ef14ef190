package cluster

import (
	"context"
	"fmt"
	"math"

	"github.com/redis/rueidis"

	"seen/sizing"
)

// Stats describes a filter.
type Stats struct {
	Layers int
	Slices uint64
	// Bytes is the memory of all slices, including what the engine adds, see [Plan].
	Bytes uint64
	// Capacity is the number of keys that the filter was made for, LayerCapacity the
	// capacity of its present layers together.
	Capacity, LayerCapacity uint64
	// Written is the number of keys that were written: new keys, with those that several
	// clients wrote at the same time, and some seen keys among many new ones, which are
	// written without being read first.
	Written uint64
	// Bits is the length of all layers, and Ones how many of them are set: counted, or
	// if Sampled estimated from some slices of each layer.
	Bits, Ones uint64
	Sampled    bool
	// FillRatio is Ones / Bits.
	FillRatio float64
	// Cardinality is the estimated number of distinct keys with its standard error, which
	// includes that of sampling. It includes keys that an older layer wrongly treated as
	// seen, which Written does not count. Keys that were added while a layer ended may be
	// counted twice. For a window it is the sum over the generations.
	Cardinality sizing.Estimate
	// ErrorRate is the present error rate, ErrorRateAtCapacity that with Capacity keys,
	// and ErrorRateAsked the bound of the Config, which holds for any number of keys.
	ErrorRate, ErrorRateAtCapacity, ErrorRateAsked float64
}

// sampledSlices is the most slices of a layer whose bits Stats counts; of a larger
// layer it counts as many, evenly spread.
const sampledSlices = 64

// Stats describes the filter. It reads the headers of all slices, so it finds a missing
// one, [ErrMissingSlice]. It counts the ones of up to 64 slices of each layer, which costs
// the engine about a millisecond for a slice of 16 MiB.
//
// For a window it covers all generations that are still there. A key that was refreshed is
// in several of them, and is counted in each.
func (c *core) Stats(ctx context.Context) (Stats, error) {
	s, err := c.refresh(ctx)
	if err != nil {
		return Stats{}, err
	}
	p := s.record.parameters
	t := Stats{Layers: len(s.layers), Capacity: p.Capacity, ErrorRateAsked: p.ErrorRate}
	var series [][]sizing.Layer // those of the filter, or of each generation of a window
	missed := 1.0               // the probability that no layer errs now
	missedFull := 1.0           // the same at capacity
	remaining := p.Capacity     // keys of the capacity that are still to be put into layers
	for _, l := range s.layers {
		counts, err := c.counts(ctx, l)
		if err != nil {
			return Stats{}, err
		}
		for _, n := range counts {
			t.Written += n
		}
		ones, part, err := c.sample(ctx, l, sampledSlices)
		if err != nil {
			return Stats{}, err
		}
		whole := l.params()
		scale := float64(whole.M) / float64(part.M)
		all := min(whole.M, uint64(math.Round(float64(ones)*scale)))
		t.Sampled = t.Sampled || part.M < whole.M
		t.Slices += l.Slices
		t.Bytes += l.Slices * (stringMemory(l.sliceBytes()) + keyMemory)
		t.LayerCapacity += l.Capacity
		t.Bits += whole.M
		t.Ones += all
		e := part.Cardinality(ones)
		// The sample's own error, and that of the keys that fell into it.
		variance := e.StdErr*e.StdErr*scale*scale + e.Value*scale*(scale-1)
		rate := whole.ErrorRateAt(all)
		if l.index == 0 {
			series = append(series, nil)
		}
		newest := &series[len(series)-1]
		*newest = append(*newest, sizing.Layer{Index: l.index, Keys: sizing.Estimate{Value: e.Value * scale, StdErr: math.Sqrt(variance)}, Rate: rate})
		missed *= 1 - rate
		if p.Generations > 0 && l.index == 0 {
			remaining = l.Capacity // a generation's part of a span
		}
		n := min(remaining, l.Capacity)
		remaining -= n
		missedFull *= 1 - whole.ErrorRate(n)
	}
	var variance float64
	for _, layers := range series {
		e := sizing.Layered(layers)
		t.Cardinality.Value += e.Value
		variance += e.StdErr * e.StdErr
	}
	t.Cardinality.StdErr = math.Sqrt(variance)
	if !t.Cardinality.Known() {
		t.Cardinality.StdErr = math.Inf(1) // a layer is full of ones
	}
	t.FillRatio = float64(t.Ones) / float64(t.Bits)
	t.ErrorRate, t.ErrorRateAtCapacity = 1-missed, 1-missedFull
	return t, nil
}

// ErrorRate estimates the present error rate from a sample of up to 16 slices of each
// layer. With a probability of 0.998 the true one is at least surely; asked is the one of
// the Config. It takes one round trip for each layer; [Filter.Stats] reads all slices.
func (c *core) ErrorRate(ctx context.Context) (now, surely, asked float64, err error) {
	s, err := c.refresh(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	missed, missedSurely := 1.0, 1.0 // the probability that no layer errs
	for _, l := range s.layers {
		ones, part, err := c.sample(ctx, l, countedSlices)
		if err != nil {
			return 0, 0, 0, err
		}
		whole := l.params()
		scale := float64(whole.M) / float64(part.M)
		deviation := math.Sqrt(float64(ones) * (1 - float64(ones)/float64(part.M)))
		rateAt := func(ones float64) float64 {
			return whole.ErrorRateAt(min(whole.M, uint64(math.Round(max(0, ones)*scale))))
		}
		missed *= 1 - rateAt(float64(ones))
		missedSurely *= 1 - rateAt(float64(ones)-sureOf*deviation)
	}
	return 1 - missed, 1 - missedSurely, s.record.ErrorRate, nil
}

// sample counts the ones of at most so many slices of a layer, and returns these slices as
// one array.
func (c *core) sample(ctx context.Context, l *layer, most uint64) (ones uint64, part sizing.Params, err error) {
	n := min(l.Slices, most)
	part = l.paramsOf(n)
	if ones, err = c.ones(ctx, l, n); err == nil && ones > part.M {
		err = fmt.Errorf("%q: %w: slices of layer %d have %d ones in %d bits", c.name, ErrMissingSlice, l.index+1, ones, part.M)
	}
	return ones, part, err
}

// ones counts the ones of n slices of a layer, evenly spread.
func (c *core) ones(ctx context.Context, l *layer, n uint64) (ones uint64, err error) {
	err = c.eachOf(ctx, l, n, func(key string) rueidis.Completed {
		return c.client.B().Bitcount().Key(key).Start(headerBytes).End(-1).Build()
	}, func(_ string, r rueidis.RedisResult) error {
		n, err := r.AsInt64()
		ones += uint64(n)
		return err
	})
	return ones, err
}
