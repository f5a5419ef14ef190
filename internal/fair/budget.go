package fair

import (
	"errors"
	"io"
	"sync"
	"time"
)

// A Budget is memory that clients share. A client gets memory while some is left. When none
// is left, a client that holds less takes it from the one that holds the most: that client
// loses everything, idle clients first. So every client can get its fair share.
type Budget struct {
	mu      sync.Mutex
	limit   int64
	used    int64
	holders map[*Holder]bool // that hold something
}

// A Holder holds memory of a Budget for one client.
type Holder struct {
	budget  *Budget
	idle    func() time.Duration
	drop    func()
	held    int64
	dropped bool
}

// idleAfter is after what time a holder counts as idle.
const idleAfter = time.Second

// NewBudget returns a budget of so many bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit, holders: map[*Holder]bool{}} }

// Used returns how many bytes are held.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Holder returns a holder that holds nothing yet. idle returns for how long its client has
// done nothing, and drop ends the client. Any goroutine may call them; they must not wait
// and must not use the holder. If idle is nil, the client is never idle; if drop is nil, it
// cannot be dropped.
func (b *Budget) Holder(idle func() time.Duration, drop func()) *Holder {
	return &Holder{budget: b, idle: idle, drop: drop}
}

// Take adds n bytes to what is held and reports true. It reports false if so many bytes are
// not left and no other client holds more than this one then would, or if this holder was
// dropped.
func (h *Holder) Take(n int) bool {
	victims, ok := h.take(int64(n))
	for _, v := range victims {
		v.drop()
	}
	return ok
}

func (h *Holder) take(n int64) (victims []*Holder, ok bool) {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.dropped {
		return nil, false
	}
	for b.used+n > b.limit {
		v := b.largest(h.held + n)
		if v == nil {
			return victims, false
		}
		b.change(v, -v.held)
		v.dropped = true
		victims = append(victims, v)
	}
	b.change(h, n)
	return victims, true
}

// largest returns the holder that holds the most, idle ones first, among those that hold
// more than the given number of bytes and can be dropped. mu is held.
func (b *Budget) largest(than int64) (most *Holder) {
	mostIdle := false
	for h := range b.holders {
		if h.drop == nil || h.held <= than {
			continue
		}
		idle := h.idle != nil && h.idle() >= idleAfter
		if most == nil || idle && !mostIdle || idle == mostIdle && h.held > most.held {
			most, mostIdle = h, idle
		}
	}
	return most
}

// change adds n to what a holder holds. mu is held.
func (b *Budget) change(h *Holder, n int64) {
	h.held += n
	b.used += n
	if h.held > 0 {
		b.holders[h] = true
	} else {
		delete(b.holders, h)
	}
}

// Give gives n bytes back.
func (h *Holder) Give(n int) {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	if !h.dropped { // otherwise everything was already given back
		h.budget.change(h, -min(int64(n), h.held))
	}
}

// Close gives everything back. The holder can hold nothing more.
func (h *Holder) Close() {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	h.budget.change(h, -h.held)
	h.dropped = true
}

// Dropped reports whether the holder has lost what it held.
func (h *Holder) Dropped() bool {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	return h.dropped
}

// ErrBudget is the error of a reader when the budget has no memory for its bytes.
var ErrBudget = errors.New("the memory for requests of all clients together is used up; send less at a time, or try again")

// Reader returns a reader that takes the bytes that it reads from r from the budget.
func (h *Holder) Reader(r io.ReadCloser) io.ReadCloser { return &paidReader{r, h} }

type paidReader struct {
	io.ReadCloser
	holder *Holder
}

func (p *paidReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if n > 0 && !p.holder.Take(n) || p.holder.Dropped() {
		return 0, ErrBudget
	}
	return n, err
}
