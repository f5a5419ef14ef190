package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"sync"
	"unsafe"

	"github.com/redis/rueidis"
)

const (
	// unionBytes is how much of a slice is read, united and written at once.
	unionBytes = 256 << 10
	// unionWorkers is how many slices are united at once.
	unionWorkers = 4
)

// Union makes a filter named into, which must not exist, with all keys of f and of the
// others. All must have the same parameters. They may be in different fleets; into is in
// that of f. Keys that are added to them meanwhile are included or not.
//
// All bits pass through this client. The layers are united one by one, so the error rate
// of the result may be higher than that of each filter. It stays within its bound if all
// keys together do not exceed the capacity; [Filter.Stats] tells. The result grows like
// any other filter.
//
// If Union is interrupted, into cannot be opened; Union again makes it from the beginning,
// and Drop deletes it.
func (f *Filter) Union(ctx context.Context, into string, others ...*Filter) error {
	sources := []*snapshot{}
	cores := []*core{}
	for _, g := range append([]*Filter{f}, others...) {
		s, err := g.refresh(ctx)
		if err != nil {
			return err
		}
		if err := g.compare(s.record.parameters, f.current.Load().record.parameters); err != nil {
			return fmt.Errorf("union of %q and %q: %w", f.name, g.name, err)
		}
		sources, cores = append(sources, s), append(cores, &g.core)
	}
	forms, err := commonLayers(cores, sources)
	if err != nil {
		return fmt.Errorf("union into %q: %w", into, err)
	}
	u := &union{target: &core{client: f.client, name: into, wait: f.wait, hash: f.hash}, cores: cores, sources: sources}
	return u.make(ctx, f.current.Load().record.parameters, forms)
}

// commonLayers returns the layers of the filter with the most layers. The first of them
// must be the layers of the others.
func commonLayers(cores []*core, sources []*snapshot) ([]shape, error) {
	var forms []shape
	for n, s := range sources {
		for i, l := range s.layers {
			switch {
			case i == len(forms):
				forms = append(forms, l.shape)
			case forms[i] != l.shape:
				return nil, &ParameterError{Filter: cores[n].name, Parameter: fmt.Sprintf("layer %d", i+1), Have: fmt.Sprintf("%+v", l.shape), Want: fmt.Sprintf("%+v", forms[i])}
			}
		}
	}
	return forms, nil
}

// union is a union being made.
type union struct {
	target  *core
	cores   []*core
	sources []*snapshot
}

func (u *union) make(ctx context.Context, p parameters, forms []shape) error {
	raw, r, err := u.claim(ctx, p, forms)
	if err != nil {
		return err
	}
	if err := u.target.unlink(ctx, r.Gone); err != nil {
		return err
	}
	g := r.last()
	for i := range g.Layers {
		if err := u.layer(ctx, i, u.target.newLayer(g, i, true), i+1 < len(g.Layers)); err != nil {
			return err
		}
	}
	next := r.clone()
	next.Building, next.Gone, next.last().Ready = false, nil, len(g.Layers)
	want, err := next.encode()
	if err != nil {
		return err
	}
	if err := u.target.retrySwap(ctx, raw, next); err != nil {
		return err
	}
	now, _, err := u.target.get(ctx)
	if err == nil && now != want {
		err = fmt.Errorf("%q was changed by another client while it was made", u.target.name)
	}
	return err
}

// claim writes a record that says that a union is being made.
func (u *union) claim(ctx context.Context, p parameters, forms []shape) (raw string, r *record, err error) {
	for {
		if raw, r, err = u.target.get(ctx); err != nil {
			return "", nil, err
		}
		next := &record{
			Format: recordFormat, Version: recordVersion, parameters: p, Building: true,
			Live: []generation{{Epoch: newEpoch(), Layers: forms}},
		}
		if r != nil {
			if !r.Building {
				return "", nil, fmt.Errorf("%q exists; drop it or unite into another name", u.target.name)
			}
			// What an interrupted union has left.
			next.Gone = append(r.Gone, r.Live...)
			next.Live[0].Number = r.last().Number + 1
		}
		value, err := next.encode()
		if err != nil {
			return "", nil, err
		}
		if r == nil {
			err = u.target.client.Do(ctx, u.target.client.B().Set().Key(u.target.name).Value(value).Nx().Build()).Error()
		} else {
			_, err = u.target.swap(ctx, raw, next)
		}
		if err != nil && !rueidis.IsRedisNil(err) {
			return "", nil, explain(u.target.name, err)
		}
		if now, r, err := u.target.get(ctx); err != nil || now == value {
			return now, r, err
		}
	}
}

// layer unites layer i of the sources.
func (u *union) layer(ctx context.Context, i int, l *layer, isSealed bool) error {
	if err := u.target.makeSlices(ctx, l, 0); err != nil {
		return err
	}
	slices := make(chan uint64)
	errs := make([]error, unionWorkers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	for w := range errs {
		group.Go(func() {
			for slice := range slices {
				if errs[w] == nil {
					if errs[w] = u.slice(ctx, i, l, slice); errs[w] != nil {
						cancel()
					}
				}
			}
		})
	}
	for slice := range l.Slices {
		slices <- slice
	}
	close(slices)
	group.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if isSealed {
		return u.target.seal(ctx, l)
	}
	return nil
}

// slice unites one slice of layer i of the sources.
func (u *union) slice(ctx context.Context, i int, l *layer, slice uint64) error {
	number := strconv.FormatUint(slice, 10)
	into := []string{l.prefix + number}
	ones := 0
	for from := uint64(headerBytes); from < l.sliceBytes(); from += unionBytes {
		to := min(from+unionBytes, l.sliceBytes())
		sum := make([]byte, to-from)
		for n, s := range u.sources {
			if i < len(s.layers) {
				if err := u.cores[n].orRange(ctx, s.layers[i], number, from, sum); err != nil {
					return err
				}
			}
		}
		here := 0
		for at := 0; at < len(sum); at += 8 {
			here += bits.OnesCount64(binary.LittleEndian.Uint64(sum[at:]))
		}
		if here == 0 {
			continue // as the slice was made
		}
		ones += here
		err := u.target.each(ctx, into, func(key string) rueidis.Completed {
			return u.target.client.B().Setrange().Key(key).Offset(int64(from)).Value(unsafe.String(&sum[0], len(sum))).Build()
		}, nil)
		if err != nil {
			return err
		}
	}
	count := l.Capacity/l.Slices + 1 // enough to be full
	if e := l.paramsOf(1).Cardinality(uint64(ones)); e.Known() {
		count = uint64(e.Value)
	}
	return u.target.each(ctx, into, func(key string) rueidis.Completed {
		return u.target.client.B().Arbitrary("BITFIELD").Keys(key).Args("SET", "i64", countAt, strconv.FormatUint(count, 10)).Build()
	}, nil)
}

// orRange reads a range of a slice, and ORs it into sum.
func (c *core) orRange(ctx context.Context, l *layer, number string, from uint64, sum []byte) error {
	key := l.prefix + number
	results := c.client.DoMulti(ctx,
		c.client.B().Getrange().Key(key).Start(int64(from)).End(int64(from)+int64(len(sum))-1).Build(),
		c.client.B().Getrange().Key(key).Start(0).End(headerRead-1).Build())
	part, err := results[0].ToString()
	header, err2 := results[1].ToString()
	if err := errors.Join(err, err2); err != nil {
		return explain(key, err)
	}
	if len(part) != len(sum) || len(header) != headerRead || !l.owns(int64(binary.BigEndian.Uint64([]byte(header)))) {
		return missingSlice(key)
	}
	b := unsafe.Slice(unsafe.StringData(part), len(part))
	for at := 0; at < len(sum); at += 8 {
		binary.LittleEndian.PutUint64(sum[at:], binary.LittleEndian.Uint64(sum[at:])|binary.LittleEndian.Uint64(b[at:]))
	}
	return nil
}
