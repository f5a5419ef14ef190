package store

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"
)

// Bloom is a Bloom filter, or a window, of LayoutSeen. Questions, and additions of keys
// that are there, take no lock and do not allocate. Additions of new keys are made one
// call after another.
type Bloom struct {
	base
	*plan        // not to be changed
	next  uint64 // serial number of the next layer
	view  atomic.Pointer[view]
}

// plan is what many filters have in common.
type plan struct {
	config BloomConfig
	step   int64 // of a window: length of a generation in nanoseconds
	// hidden are the hashes that a shadow does not show, by layer.
	hidden *hidden
}

// view is the layers of a filter at one time. It is replaced, never changed.
type view struct {
	layers  []*layer // the newest first; in a window also the newest generation
	current int64    // of a window: the newest generation that was reached
}

// newBloom returns a filter without layers.
func newBloom(c BloomConfig) *Bloom {
	p := plan{config: c}
	if c.Span != 0 {
		steps := int64(c.Generations - 1)
		p.step = (int64(c.Span) + steps - 1) / steps // rounded up; see maxSpan
	}
	b := &Bloom{plan: plans.get(p)}
	b.kind, b.core = kindBloom, new(core)
	b.view.Store(&view{current: noTime})
	return b
}

// Config returns how the filter was made.
func (b *Bloom) Config() BloomConfig { return b.config }

// Has implements [Filter]. It takes no lock and does not allocate.
func (b *Bloom) Has(found []bool, keys [][]byte) LSN {
	found = found[:len(keys)]
	if b.hidden != nil {
		return b.hasShown(found, keys)
	}
	v := b.view.Load()
	from := b.oldest(v)
	if len(keys) == 1 {
		found[0] = v.has(b.store.hash.Sum(keys[0]), from)
	} else {
		sc := scratches.Get().(*scratch[uint64])
		for at := 0; at < len(keys); at += batchKeys {
			end := min(at+batchKeys, len(keys))
			b.store.hash.SumKeys(sc.hs[:], keys[at:end])
			sc.start(end - at)
			answers := found[at:end]
			for i := range answers {
				answers[i] = true
			}
			v.ask(sc, from, noTime)
			for _, i := range sc.at[:sc.n] {
				answers[i] = false
			}
		}
		scratches.Put(sc)
	}
	return b.answered(found)
}

// has reports whether a layer of generation from or newer has h.
func (v *view) has(h uint64, from int64) bool {
	for _, l := range v.layers {
		if l.gen >= from && l.has(h) {
			return true
		}
	}
	return false
}

// ask leaves those of sc that no layer of the generations from up to, and without, before
// has; with noTime as before it asks all up to the newest.
func (v *view) ask(sc *scratch[uint64], from, before int64) {
	for _, l := range v.layers {
		if sc.n == 0 {
			return
		}
		if l.gen >= from && (before == noTime || l.gen < before) {
			if l.hasAll(sc.hit[:sc.n], sc.hs[:sc.n]) > 0 {
				sc.settle()
			}
		}
	}
}

// Layers implements [Filter].
func (b *Bloom) Layers() int { return len(b.view.Load().layers) }

// Info implements [Filter]. It takes no lock and reads no bits: fill and error rates are
// the expected ones for the number of keys.
func (b *Bloom) Info() FilterInfo {
	v := b.view.Load()
	i := FilterInfo{
		Layout: LayoutSeen, ErrorRate: b.config.ErrorRate, Bytes: b.Bytes(),
		Expansion: b.config.Expansion, Span: b.config.Span,
	}
	from := b.oldest(v)
	var rates []float64
	for _, l := range slices.Backward(v.layers) {
		if l.gen < from {
			continue
		}
		added, begin := l.added.Load()-b.hidden.count(l.serial), time.Time{}
		if b.step != 0 {
			begin = time.Unix(0, l.gen*b.step)
		}
		i.Layers = append(i.Layers, LayerInfo{
			Begin: begin, Bytes: l.params.Bytes(), Bits: l.params.M, Probes: l.params.K, Capacity: l.capacity,
			Added: added, ErrorRate: l.rate, Fill: l.params.FillRatio(added), Params: l.params,
		})
		rates = append(rates, l.params.ErrorRate(added))
	}
	i.sum(rates)
	return i
}

func (b *Bloom) renamed() value {
	c := &Bloom{plan: b.plan, next: b.next}
	b.copyTo(&c.base)
	c.view.Store(b.view.Load())
	return c
}

// WriteFile writes a filter of one layer as a file of package bloom, which needs the secret
// of the data directory to be read; others may add at the same time. For filters that have
// grown, and windows, the error is ErrUnlike: no file can hold their layers.
func (b *Bloom) WriteFile(w io.Writer) error {
	if b.hidden != nil { // the bits have keys that may not be shown
		return b.store.log.writable()
	}
	v := b.view.Load()
	if len(v.layers) != 1 || b.step != 0 {
		return fmt.Errorf("%w: it has %d layers, and a file of one filter has 1", ErrUnlike, len(v.layers))
	}
	return v.layers[0].write(w, b.store.hash)
}
