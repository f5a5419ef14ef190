package fair

import (
	"errors"
	"io"
	"sync"
	"time"
)

// A Budget is memory that clients share. Each gets what it asks for while there is
// some; when there is none left, a client that holds less takes from the one that
// holds most: a client that goes on holding more than its share loses all of it, the
// idle ones first. So every client can have the share that falls to it if all ask.
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

// idleAfter is when a holder counts as idle.
const idleAfter = time.Second

// NewBudget returns a budget of so many bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit, holders: map[*Holder]bool{}} }

// Used returns how many bytes are held.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Holder returns one that holds nothing yet. idle returns for how long its client has
// done nothing, and drop ends it; both are called by any goroutine, must not wait and
// must not use the holder. A nil function means never, or nothing to do.
func (b *Budget) Holder(idle func() time.Duration, drop func()) *Holder {
	return &Holder{budget: b, idle: idle, drop: drop}
}

// Take adds n bytes to what is held, or reports false: there are not so many, and no
// other client holds more than this one then would, or this one was dropped.
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

// largest returns the holder of the most, the idle ones before the others, of those
// who hold more than so much and can be dropped. mu is held.
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

// change changes what a holder holds. mu is held.
func (b *Budget) change(h *Holder, n int64) {
	h.held += n
	b.used += n
	if h.held > 0 {
		b.holders[h] = true
	} else {
		delete(b.holders, h)
	}
}

// Give takes n bytes back from what is held.
func (h *Holder) Give(n int) {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	if !h.dropped { // otherwise all was taken back
		h.budget.change(h, -min(int64(n), h.held))
	}
}

// Close takes everything back. The holder can hold nothing more.
func (h *Holder) Close() {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	h.budget.change(h, -h.held)
	h.dropped = true
}

// Dropped reports whether the holder has lost what it had.
func (h *Holder) Dropped() bool {
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	return h.dropped
}

// ErrBudget is the error of a reader whose bytes the budget does not pay for.
var ErrBudget = errors.New("the memory for requests of all clients together is used up; send less at a time, or try again")

// Reader returns r whose bytes are taken from the budget when they are read.
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
