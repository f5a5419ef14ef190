package remote

import (
	"sync"
	"time"
)

// recentKeys is how many keys a pipe remembers at least, once it has seen as many.
// Twice as many take some 20 MB.
const recentKeys = 1 << 18

// recent remembers the hashes that were added last, including all whose call is not
// answered yet. It has two generations: when the young one is full it becomes the old
// one, and the old one is forgotten.
type recent struct {
	young, old *generation
	limit      int           // keys of a generation, plus a batch at most
	span       time.Duration // after which a key is forgotten in any case; 0: never
	began      time.Time     // the young one
}

type generation struct {
	hashes map[uint64]struct{}
	calls  sync.WaitGroup // that ask about hashes
}

func newRecent(span time.Duration) *recent {
	empty := func() *generation { return &generation{hashes: map[uint64]struct{}{}} }
	return &recent{young: empty(), old: empty(), limit: recentKeys, span: span}
}

// has reports whether h was added a short while ago.
func (r *recent) has(h uint64) bool {
	if _, is := r.young.hashes[h]; is {
		return true
	}
	_, is := r.old.hashes[h]
	return is
}

func (r *recent) add(h uint64) { r.young.hashes[h] = struct{}{} }

// sent notes that a call about the hashes that were added since the last call is under
// way. The function it returns must be called when the answer is there. The generations
// change only between two calls, so the hashes of a call are in one of them.
func (r *recent) sent() (answered func()) {
	g := r.young
	g.calls.Add(1)
	if len(g.hashes) >= r.limit {
		r.turn()
	}
	return g.calls.Done
}

// turn waits for the calls of the old generation, forgets it and begins another.
func (r *recent) turn() {
	r.old.calls.Wait()
	clear(r.old.hashes)
	r.young, r.old = r.old, r.young
}

// age forgets the keys of a generation that began a span ago, and those before. It is
// called between two calls, before the keys of the next are looked up.
func (r *recent) age(now time.Time) {
	if r.span == 0 || now.Sub(r.began) < r.span/2 {
		return
	}
	if now.Sub(r.began) >= r.span {
		r.turn() // of the young one too
	}
	r.turn()
	r.began = now
}
