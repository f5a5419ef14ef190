package cluster

import (
	"context"
	"math"
	"sync"
)

const (
	// flightShare is the part, as a divisor, of the room left in a layer that one client
	// has under way to it at a time. So many clients do not fill it beyond its capacity by
	// more than what each may always have under way.
	flightShare = 16
	// leastShare is the part of a layer's capacity, as a divisor, that a client may always
	// have under way.
	leastShare = 512
	// fewKeys is what a client may always have under way however small the layer is.
	fewKeys = 8
)

// gate limits how many keys this client has under way to a layer. Keys that are under way
// when a layer becomes full exceed its capacity, and raise its error rate. So the limit
// falls with the room that is left.
type gate struct {
	mu     sync.Mutex
	others int64 // counted in the headers, at least, and not written by this client
	mine   int64 // written by this client
	flight int64 // under way
	// fullAt is the count at which the layer may be full.
	fullAt int64
	freed  chan struct{} // closed when keys are no longer under way; nil if no call waits
}

// take waits until some of the wanted keys may be written to l, and returns how many.
// These are under way until done is called. It returns 0 if checkFull must be called
// first, or if ctx has ended.
func (l *layer) take(ctx context.Context, want int) int {
	g := &l.gate
	least := int64(max(fewKeys, l.Capacity/leastShare))
	for {
		g.mu.Lock()
		left := g.fullAt - g.others - g.mine
		if left <= 0 && g.flight == 0 {
			g.mu.Unlock()
			return 0
		}
		free := min(max(least, left/flightShare), left) - g.flight
		if free >= min(int64(want), least) || free > 0 && g.flight == 0 {
			n := min(free, int64(want))
			g.flight += n
			g.mu.Unlock()
			return int(n)
		}
		if g.freed == nil {
			g.freed = make(chan struct{})
		}
		freed := g.freed
		g.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return 0
		}
	}
}

// done says that n keys are no longer under way.
func (g *gate) done(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flight -= int64(n)
	g.mine += int64(n)
	if g.freed != nil {
		close(g.freed)
		g.freed = nil
	}
}

// learn notes that the layer's count was at least the given one.
func (g *gate) learn(count int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.learnLocked(count)
}

// learnLocked assumes that count includes all keys that this client has under way, so that
// no key is counted twice.
func (g *gate) learnLocked(count int64) {
	g.others = max(g.others, count-g.mine-g.flight)
}

// looked notes that the layer has the given count, and room for so many more.
func (g *gate) looked(count, room int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.learnLocked(count)
	// Correct what was counted twice or has failed.
	if g.flight == 0 {
		g.others = count - g.mine
	}
	g.fullAt = count + room
}

// tally sums up the counts of some slices of a layer.
type tally struct {
	sum, last int64
	slices    uint64
	key       string
}

// add adds the count of a slice. If it is added twice in a row, the second replaces the
// first.
func (t *tally) add(key string, count int64) {
	if key == t.key {
		t.sum -= t.last
	} else {
		t.slices++
	}
	t.sum += count
	t.key, t.last = key, count
}

// atLeast returns what all slices of the layer have together: if some are unknown, an
// estimate that is hardly ever too high.
func (t *tally) atLeast(slices uint64) int64 {
	switch {
	case t.slices == 0:
		return 0
	case t.slices >= slices:
		return t.sum
	}
	sum := float64(t.sum)
	return int64(max(0, sum-sureOf*math.Sqrt(sum)) * float64(slices) / float64(t.slices))
}
