package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"seen/internal/kernel"
)

// mergedKeys is the most keys of one BITFIELD, so that no command keeps an engine busy for
// long.
const mergedKeys = 256

// written is a slice that a round has written to, and the keys: those of
// order[from:to].
type written struct {
	key      string
	from, to int
}

// Add adds keys and reports for each whether it was certainly not there before. If several
// clients add one new key at the same time, exactly one is told true; of two equal keys in
// one call, the first. False means that the key was there, or, with the filter's error
// rate, that it was not.
//
// If the error is an [UndecidedError], it names the keys without an answer; the answers of
// the others are valid. With any other error no key was added and there are no answers.
//
// A call costs one round trip to each node, and one more if a key is new. In a filter that
// has not grown and is not Fixed it costs only one, if nearly all of the last few hundred
// keys were new. A write whose answer is lost is never repeated. Without a deadline in
// ctx, a call waits as long as the client tries to reach a node.
//
// A window records a key that is remembered again, unless NoRefresh is set. That costs as
// much as a new key, once in each generation.
func (c *core) Add(ctx context.Context, keys ...[]byte) ([]bool, error) {
	return c.AddHashes(ctx, c.hashes(keys))
}

// AddHashes is Add for keys of the given hashes.
func (c *core) AddHashes(ctx context.Context, hs []uint64) ([]bool, error) {
	return inBatches(hs, func(b *batch) {
		if err := c.turn(ctx); err != nil {
			b.failAll(err)
			return
		}
		c.addBatch(ctx, b)
	})
}

// hashes returns the hashes of keys.
func (c *core) hashes(keys [][]byte) []uint64 {
	hs := make([]uint64, len(keys))
	c.hash.SumKeys(hs, keys)
	return hs
}

func (c *core) addBatch(ctx context.Context, b *batch) {
	s := c.current.Load()
	defer c.novelty.note(b.answers)
	attempts := 0
	looked := false // in the round before
	for round := 0; len(b.items) > 0; round++ {
		if err := ctx.Err(); err != nil {
			b.failAll(err)
			return
		}
		b.beginRound()
		asked := round > 0 || !c.writesFirst(s)
		if asked {
			b.read(ctx, c, s)
			b.keepNew(s)
		}
		if looked = asked && !looked && b.mayBeFull(s.newest()); looked {
			b.full = true
		} else {
			for c.write(ctx, b, s) {
			}
		}
		if len(b.items) == 0 {
			return
		}
		if b.passing != nil {
			if attempts++; attempts > maxAttempts || !pause(ctx, attempts) {
				b.failAll(b.passing)
				return
			}
		}
		next, err := c.settle(ctx, b, s)
		switch {
		case err == nil && round < mostRounds:
			b.restart(s, next)
			s = next
		case err == nil:
			err = errors.New("the filter changes faster than keys can be added")
			fallthrough
		default:
			if errors.Is(err, ErrFull) {
				b.failLate()
			}
			b.failAll(err)
		}
	}
}

// keepNew keeps, of the items that were read, those that must be written.
func (b *batch) keepNew(s *snapshot) {
	refresh := !s.record.NoRefresh
	b.keep(func(it *item) bool {
		switch {
		case it.found == inPresent && it.late && s.refreshes():
			b.fail(it, errTurned)
			return false
		case it.found == inPresent, it.found == inOlder && !refresh:
			return false // seen
		case it.doubt == failed:
			b.undecide(it)
			return false
		}
		return true
	})
}

// writesFirst reports whether a batch is written without being read first: the answers
// to writes also tell what was there. That saves a round trip if nearly all keys are new.
// A key that is not new costs the engine more, and is counted as if it were new.
//
// The filter must have one layer only. It must not be Fixed, since its seal stops keys
// before they are written, and not be due for checkFull. Its slices must have been there,
// and open, a moment ago: a write creates a missing slice, and writes of many clients to
// a layer that was sealed meanwhile raise its error rate.
func (c *core) writesFirst(s *snapshot) bool {
	l := s.newest()
	if len(s.layers) > 1 || s.record.Fixed || s.record.Generations > 0 || l.asks.Load() || !c.novelty.nearlyAll() {
		return false
	}
	age := time.Now().UnixNano() - l.wroteAt.Load()
	return age >= 0 && age < int64(thereFor) && l.counted.Load() < l.checkAt.Load()
}

// thereFor is how long after a write its slices are assumed to be there, and as full as
// the write found them.
const thereFor = 50 * time.Millisecond

// novelty estimates what part of the last few hundred keys was new. Concurrent calls may
// overwrite some of each other's counts.
type novelty struct{ share atomic.Uint64 } // the bits of a float64

const (
	noveltyKeys = 256  // a batch of so many keys replaces the estimate
	nearlyAll   = 0.97 // of the keys are new
)

func (n *novelty) note(isNew []bool) {
	found := 0
	for _, is := range isNew {
		if is {
			found++
		}
	}
	share := math.Float64frombits(n.share.Load())
	weight := min(1, float64(len(isNew))/noveltyKeys)
	share += (float64(found)/float64(len(isNew)) - share) * weight
	n.share.Store(math.Float64bits(share))
}

func (n *novelty) nearlyAll() bool { return math.Float64frombits(n.share.Load()) >= nearlyAll }

// errLate is about a key whose bits came late to a sealed part, in a filter or window that
// takes no more keys. Other keys are certainly absent then; this one is not.
var errLate = errors.New("its part of the filter was sealed at the same time, and there is no room in the next")

// failLate makes keys undecided whose late bits may make them look seen.
func (b *batch) failLate() {
	b.keep(func(it *item) bool {
		if it.late {
			b.fail(it, errLate)
		}
		return !it.late
	})
}

// settle deals with what a round has found, and returns the snapshot to go on with.
func (c *core) settle(ctx context.Context, b *batch, s *snapshot) (*snapshot, error) {
	newest := s.newest()
	if b.missing != nil {
		// Delete what this call wrote in place of missing slices. If that fails, its header
		// shows that it is not a slice.
		left := c.each(ctx, b.litter, c.unlinkCommand, nil)
		next, err := c.refresh(ctx)
		if err == nil && next != s {
			err = left
		}
		if err != nil || next != s {
			return next, err
		}
		missing := errors.Join(b.missing, left)
		b.keep(func(it *item) bool {
			if it.doubt == lost {
				b.fail(it, missing)
			}
			return it.doubt != lost
		})
	}
	if b.reopened != nil {
		// A failover has lost the mark.
		if err := c.seal(ctx, b.reopened); err != nil {
			return nil, err
		}
	}
	if b.closed {
		next, err := c.refresh(ctx)
		if err != nil || next.newest().order != newest.order {
			return next, err
		}
		if s.record.Fixed {
			return nil, fmt.Errorf("%q: %w: it is for %d keys; make a larger one", c.name, ErrFull, newest.Capacity)
		}
		if err := c.closeLayer(ctx, newest); err != nil {
			return nil, err
		}
	}
	if b.full {
		if err := c.checkFull(ctx, newest); err != nil {
			return nil, err
		}
	}
	return c.current.Load(), nil
}

// write writes items that no layer has to the newest one, as many as it has room for
// at once, and decides them. It reports whether the others can be written in the same
// way, without being read again.
func (c *core) write(ctx context.Context, b *batch, s *snapshot) bool {
	l := s.newest()
	want := 0
	for i := range b.items {
		if b.items[i].doubt == certain {
			want++
		}
	}
	if want == 0 {
		return false
	}
	granted := l.take(ctx, want)
	if granted == 0 {
		b.full = true
		return false
	}
	b.order, b.spans, b.commands = b.order[:0], b.spans[:0], b.commands[:0]
	// The first items, in whatever slices they are: so all slices get the same share.
	room := granted
	spans := b.sortBySlice(l, func(it *item) bool {
		if it.doubt != certain || room == 0 {
			return false
		}
		room--
		return true
	})
	parts := b.confirm[:0]
	for _, sp := range spans {
		for from := sp.from; from < sp.to; from += mergedKeys {
			p := written{sp.key, from, min(sp.to, from+mergedKeys)}
			b.commands = append(b.commands, c.bitfield(b, l, p))
			parts = append(parts, p)
		}
	}
	b.confirm = parts[:0]
	results := b.send(ctx, c.client)
	l.gate.done(granted)
	var t tally
	var most int64 // of a slice
	for i, r := range results {
		if count, ok := b.decide(l, parts[i], r, s); ok {
			t.add(parts[i].key, count)
			most = max(most, count)
			b.confirm = append(b.confirm, parts[i])
		}
	}
	l.gate.learn(t.atLeast(l.Slices))
	switch {
	case b.closed || b.missing != nil:
		l.asks.Store(true)
	case len(b.confirm) == len(parts):
		l.counted.Store(uint64(most))
		l.wroteAt.Store(time.Now().UnixNano())
	}
	c.confirm(ctx, b)
	b.keep(func(it *item) bool { return it.at >= 0 })
	return len(b.items) > 0 && ctx.Err() == nil && !b.closed && b.missing == nil && b.passing == nil
}

// bitfield returns the command that sets the bits of a part's keys and returns the
// old ones, after the header.
func (c *core) bitfield(b *batch, l *layer, p written) rueidis.Completed {
	layout := l.layout()
	cmd := c.client.B().Arbitrary("BITFIELD").Keys(p.key).
		Args("GET", "i64", epochAt, "INCRBY", "i64", countAt, b.names.number(uint64(p.to-p.from)))
	for i := p.from; i < p.to; i++ {
		h := b.item(i).h
		for j := range l.Lines {
			at := lineAt(layout, j, h)
			for w, word := range layout.LaneBits(h) {
				if word != 0 {
					cmd = cmd.Args("SET", "u1", b.names.number(bitAt(at, w, bits.TrailingZeros64(word))), "1")
				}
			}
			h = kernel.Next(h)
		}
	}
	return cmd.Build()
}

// errTurned is about a key whose bits came late to a sealed generation while another
// client wrote it to the next one. That client either was told that the key is new, or
// saw the late bits and refreshed the key. It is impossible to know which.
var errTurned = errors.New("the window turned while several clients added the key")

// refreshes reports whether keys that are seen are written again.
func (s *snapshot) refreshes() bool {
	return s.record.Generations > 0 && !s.record.NoRefresh
}

// isLast reports whether no layer will ever follow the newest. Its seal says that it
// is full. A write to it still decides, since no later layer can.
func (s *snapshot) isLast() bool {
	return s.record.Fixed && s.record.Generations == 0
}

// headerAnswers is how many answers of a BITFIELD are about the header.
const headerAnswers = 2

// decide looks at the answer to a part's BITFIELD, and reports whether it was
// written and the count that the slice has since. Items that are decided get a
// negative index.
func (b *batch) decide(l *layer, p written, r rueidis.RedisResult, s *snapshot) (count int64, ok bool) {
	answers, err := r.ToArray()
	probes := l.Lines * l.Lanes
	if err == nil && len(answers) != headerAnswers+(p.to-p.from)*probes {
		err = fmt.Errorf("BITFIELD has given %d answers for %d", len(answers), headerAnswers+(p.to-p.from)*probes)
	}
	if err != nil {
		b.undecided(p, err)
		return 0, false
	}
	b.old = b.old[:0]
	for i := range answers {
		n, err := answers[i].ToInt64()
		if err != nil {
			b.undecided(p, err)
			return 0, false
		}
		b.old = append(b.old, n)
	}
	head, count := b.old[0], b.old[1]
	owned, open := l.owns(head), head == l.head
	switch {
	case !owned:
		b.miss(&span{key: p.key})
		b.litter = append(b.litter, p.key)
	case !open:
		b.closed = true
	}
	for i := p.from; i < p.to; i++ {
		it := b.item(i)
		if !owned {
			it.doubt = lost
			continue
		}
		first := headerAnswers + (i-p.from)*probes
		isNew := slices.Contains(b.old[first:first+probes], 0)
		if isNew && !open && !s.isLast() {
			// A sealed layer decides nothing: go on to the next.
			it.after, it.doubt, it.late = l.order, sealed, true
			continue
		}
		if !isNew && it.late && it.found == nowhere && s.refreshes() {
			b.fail(it, errTurned)
			it.at = ^it.at
			continue
		}
		b.answers[it.at] = isNew && it.found == nowhere
		it.at = ^it.at
	}
	return count, owned
}

// undecided deals with a part whose BITFIELD has failed.
func (b *batch) undecided(p written, err error) {
	if passing(err) {
		b.passing = about(p.key, err)
		return
	}
	err = b.failures.ofWrite(p.key, err, explain)
	for i := p.from; i < p.to; i++ {
		it := b.item(i)
		b.fail(it, err)
		it.at = ^it.at
	}
}
