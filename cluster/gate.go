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

// gate lets the writes of this client to a layer through. All that are under way when
// a layer is full come on top of its capacity, and every key that is too many makes
// later ones wrongly seen; so they become fewer the less room there is.
type gate struct {
	mu     sync.Mutex
	others int64 // counted in the headers, at least, and not written by this client
	mine   int64 // written by this client
	flight int64 // under way
	// fullAt is the count at which the layer may be full.
	fullAt int64
	freed  chan struct{} // closed when keys are no longer under way; nil if nobody waits
}

// take waits until some of the wanted keys may be written to l, and returns how many.
// These are under way until done is called. There are none if it has to be looked
// whether the layer is full, or if ctx has ended.
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

// learn takes note that the layer's count was at least the given one.
func (g *gate) learn(count int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.learnLocked(count)
}

// learnLocked takes all for counted that this client has under way, so that no key is
// taken for two.
func (g *gate) learnLocked(count int64) {
	g.others = max(g.others, count-g.mine-g.flight)
}

// looked takes note that the layer has the given count, and room for so many more.
func (g *gate) looked(count, room int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.learnLocked(count)
	// What was counted twice, or failed, is no longer taken for written.
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

// add adds the count of a slice. One that is added twice in a row has the second.
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
