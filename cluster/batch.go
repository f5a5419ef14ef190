package cluster

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"unsafe"

	"github.com/redis/rueidis"

	"seen/internal/kernel"
)

// batchKeys is the number of keys that are read together. Larger calls are done in
// parts, to limit their memory.
const batchKeys = 1024

// item is a key of a batch that is not decided yet.
type item struct {
	h     uint64
	after uint64 // the order of the last layer that is known not to have the key
	at    int32  // index in the batch
	found where
	doubt doubt
	late  bool // its bits were left in a sealed layer
}

// where says which layers have a key.
type where uint8

const (
	nowhere   where = iota
	inOlder         // an older generation has it, and is forgotten earlier
	inPresent       // the present generation has it
)

// doubt says why a key that was not found may still be there.
type doubt uint8

const (
	certain  doubt = iota
	failed         // a part could not be read: the key stays undecided
	lost           // a slice is missing, or of an older record
	sealed         // the newest layer is sealed, and there may be a newer one
	unsealed       // an older layer is open, and may have taken the key since
)

// batch is the memory of a call, kept for the next.
type batch struct {
	items    []item
	answers  []bool // of the batch
	base     int    // index of the batch's first key in the call
	from     uint64 // the order up to which layers are not asked
	order    []uint64
	spans    []span
	commands []rueidis.Completed
	old      []int64 // the answers to one BITFIELD
	failures *failures
	names    text

	// What a round has found, by layer or slice.
	missing  error  // about the first missing slice
	reopened *layer // an older layer with an open slice
	closed   bool   // the newest layer is sealed
	full     bool   // the newest layer may be full, and nothing was written
	passing  error  // a refusal that goes away by itself
	litter   []string
	confirm  []written
}

// span is the keys of one slice: those of order[from:to].
type span struct {
	layer    *layer
	slice    uint32
	key      string
	from, to int
	count    int64 // of the header
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// inBatches calls do with batches of hs, and returns the answers.
func inBatches(hs []uint64, do func(*batch)) ([]bool, error) {
	answers := make([]bool, len(hs))
	var f failures
	b := batches.Get().(*batch)
	defer b.release()
	for at := 0; at < len(hs); at += batchKeys {
		end := min(at+batchKeys, len(hs))
		b.start(hs[at:end], answers[at:end], at, &f)
		do(b)
	}
	return answers, f.err()
}

func (b *batch) start(hs []uint64, answers []bool, base int, f *failures) {
	b.items, b.answers, b.base, b.failures, b.from = b.items[:0], answers, base, f, 0
	for i, h := range hs {
		b.items = append(b.items, item{h: h, at: int32(i)})
	}
}

// startAfter makes the batch ask only layers after the given order.
func (b *batch) startAfter(from uint64) {
	b.from = from
	for i := range b.items {
		b.items[i].after = from
	}
}

// release gives the memory back, except what commands may still refer to.
func (b *batch) release() {
	clear(b.commands[:cap(b.commands)])
	clear(b.spans[:cap(b.spans)])
	clear(b.confirm[:cap(b.confirm)])
	clear(b.litter[:cap(b.litter)])
	b.answers, b.failures, b.names = nil, nil, text{}
	b.beginRound()
	batches.Put(b)
}

func (b *batch) beginRound() {
	b.missing, b.reopened, b.closed, b.full, b.passing = nil, nil, false, false, nil
	b.litter, b.confirm = b.litter[:0], b.confirm[:0]
}

// failures gathers the undecided keys of a call and the reasons.
type failures struct {
	keys []int
	errs []error
	// named are the keys of the engine in errs, each with its reason.
	named map[[2]string]bool
	// maybe says that one of the keys may have been recorded.
	maybe bool
}

// mostReasons is how many reasons an error names.
const mostReasons = 4

func (f *failures) because(err error) {
	k, isKey := err.(*KeyError)
	if isKey {
		reason := k.Err.Error()
		if f.named == nil {
			f.named = map[[2]string]bool{}
		}
		if name := [2]string{k.Keys[0], reason}; f.named[name] {
			return
		} else {
			f.named[name] = true
		}
		for _, e := range f.errs {
			if have, ok := e.(*KeyError); ok && have.Err.Error() == reason {
				have.Keys = append(have.Keys, k.Keys...)
				return
			}
		}
		// Others may hold the error, too.
		err = &KeyError{Keys: slices.Clone(k.Keys), Err: k.Err}
	}
	if len(f.errs) == mostReasons {
		return
	}
	for _, e := range f.errs {
		if !isKey && (e == err || e.Error() == err.Error()) {
			return
		}
	}
	f.errs = append(f.errs, err)
}

func (f *failures) err() error {
	if len(f.keys) == 0 {
		return nil
	}
	slices.Sort(f.keys)
	// A key can fail for two reasons.
	f.keys = slices.Compact(f.keys)
	return &UndecidedError{Keys: f.keys, Reasons: f.errs, NotAdded: !f.maybe}
}

// headerEnd is the last byte of what is read of a header.
const headerEnd = "15"

// fail makes an item undecided.
func (b *batch) fail(it *item, err error) {
	b.undecide(it)
	b.failures.because(err)
}

// undecide makes an item undecided for a reason that is already listed. Other clients may
// find the bits that it has left in a sealed layer.
func (b *batch) undecide(it *item) {
	b.failures.keys = append(b.failures.keys, b.base+int(it.at))
	b.failures.maybe = b.failures.maybe || it.late
}

// failAll makes all items undecided that are left.
func (b *batch) failAll(err error) {
	for i := range b.items {
		b.fail(&b.items[i], err)
	}
	b.items = b.items[:0]
}

// sortBySlice sorts the items that layer l may have by slice, and returns them as spans.
func (b *batch) sortBySlice(l *layer, take func(*item) bool) []span {
	first, begin := len(b.order), len(b.spans)
	for i := range b.items {
		it := &b.items[i]
		if !take(it) {
			continue
		}
		b.order = append(b.order, uint64(l.sliceOf(it.h))<<32|uint64(i))
	}
	mine := b.order[first:]
	if l.Slices > 1 {
		slices.Sort(mine)
	}
	for from := 0; from < len(mine); {
		slice := uint32(mine[from] >> 32)
		to := from + 1
		for to < len(mine) && uint32(mine[to]>>32) == slice {
			to++
		}
		b.spans = append(b.spans, span{layer: l, slice: slice, key: b.names.join(l.prefix, uint64(slice)), from: first + from, to: first + to})
		from = to
	}
	return b.spans[begin:]
}

func (b *batch) item(i int) *item { return &b.items[uint32(b.order[i])] }

// send sends the commands. If an answer is missing, because the context has ended or the
// connection broke, the client may still be sending them, so their memory is not reused.
func (b *batch) send(ctx context.Context, client rueidis.Client) []rueidis.RedisResult {
	results := client.DoMulti(ctx, b.commands...)
	for _, r := range results {
		if r.NonRedisError() != nil {
			b.commands = nil
			break
		}
	}
	return results
}

// read reads the lines of each item from all layers, and then the header of each slice.
// The header comes last, so that it shows if the slice was lost and a late write has
// created it again in between.
func (b *batch) read(ctx context.Context, c *core, s *snapshot) {
	b.order, b.spans, b.commands = b.order[:0], b.spans[:0], b.commands[:0]
	for i := range b.items {
		// What an older generation has is not read again after a late write.
		b.items[i].doubt = certain
	}
	for _, l := range s.layers {
		layout := l.layout()
		for _, sp := range b.sortBySlice(l, func(it *item) bool { return it.after < l.order }) {
			for i := sp.from; i < sp.to; i++ {
				h := b.item(i).h
				for j := range l.Lines {
					at := lineAt(layout, j, h)
					b.commands = append(b.commands, c.client.B().Arbitrary("GETRANGE").Keys(sp.key).
						Args(b.names.number(at), b.names.number(at+lineBytes-1)).ReadOnly())
					h = kernel.Next(h)
				}
			}
			b.commands = append(b.commands, c.client.B().Arbitrary("GETRANGE").Keys(sp.key).Args("0", headerEnd).ReadOnly())
		}
	}
	results := b.send(ctx, c.client)
	newest := s.newest()
	for i := range b.spans {
		sp := &b.spans[i]
		n := (sp.to-sp.from)*sp.layer.Lines + 1
		b.evaluate(sp, results[:n], newest)
		results = results[n:]
	}
	var t tally
	for i := range b.spans {
		if sp := &b.spans[i]; sp.layer == newest {
			t.add(sp.key, sp.count)
		}
	}
	newest.gate.learn(t.atLeast(newest.Slices))
}

// evaluate looks at what the engine has answered for one slice.
func (b *batch) evaluate(sp *span, results []rueidis.RedisResult, newest *layer) {
	l := sp.layer
	layout := l.layout()
	state := b.header(sp, results[len(results)-1], newest)
	for i := sp.from; i < sp.to; i++ {
		it := b.item(i)
		mine := state
		has := true
		h := it.h
		for j := range l.Lines {
			line, err := results[(i-sp.from)*l.Lines+j].ToString()
			switch {
			case err != nil:
				b.failures.because(explain(sp.key, err))
				mine, has = failed, false
			case len(line) != lineBytes:
				mine, has = worse(mine, lost), false
				b.miss(sp)
			case has:
				bits := layout.LaneBits(h)
				has = lineHas(line, &bits)
			}
			h = kernel.Next(h)
		}
		switch {
		case has && state != lost && state != failed && l.fresh:
			it.found = inPresent
		case has && state != lost && state != failed:
			it.found = max(it.found, inOlder)
		}
		it.doubt = worse(it.doubt, mine)
	}
}

// worse returns the doubt that has to be dealt with first.
func worse(a, b doubt) doubt {
	switch {
	case a == certain:
		return b
	case b == certain:
		return a
	}
	return min(a, b)
}

// header looks at the header of a slice.
func (b *batch) header(sp *span, r rueidis.RedisResult, newest *layer) doubt {
	header, err := r.ToString()
	if err != nil {
		b.failures.because(explain(sp.key, err))
		return failed
	}
	if len(header) != headerRead {
		b.miss(sp)
		return lost
	}
	raw := unsafe.Slice(unsafe.StringData(header), headerRead)
	head := int64(binary.BigEndian.Uint64(raw))
	sp.count = int64(binary.BigEndian.Uint64(raw[8:]))
	isSealed := head != sp.layer.head
	switch {
	case !sp.layer.owns(head):
		sp.count = 0
		b.miss(sp)
		return lost
	case sp.layer == newest && isSealed:
		b.closed = true
		return sealed
	case sp.layer != newest && !isSealed:
		b.reopened = sp.layer
		return unsealed
	}
	return certain
}

func (b *batch) miss(sp *span) {
	if b.missing == nil {
		b.missing = missingSlice(sp.key)
	}
}

// keep keeps the items for which undecided returns true.
func (b *batch) keep(undecided func(*item) bool) {
	left := b.items[:0]
	for i := range b.items {
		if undecided(&b.items[i]) {
			left = append(left, b.items[i])
		}
	}
	b.items = left
}
