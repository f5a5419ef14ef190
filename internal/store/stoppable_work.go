package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// ErrStopped says that a call was stopped because its caller no longer waits. Unless the
// error says otherwise, nothing has changed.
var ErrStopped = errors.New("stopped before the end")

// A Work is a command, or several one after another, that a caller has a store do. Calls
// that may take long have one as an argument: they work in steps, and between two steps
// they check whether the caller still waits and let others use the processors. A nil
// *Work is never stopped. A Work is for one goroutine.
type Work struct {
	store  *Store
	ctx    context.Context
	entry  Entry
	inside bool // between Begin and End

	// Firm work is not stopped, and does not wait for others.
	firm bool

	held  bool // Together goes on
	spent int  // of its units

	units int       // of the present step, done
	since time.Time // when the last step began that others were let pass before
	long  bool      // counts among those that take long
}

const (
	// stepUnits are the units of a step, each of about the cost of touching a word.
	stepUnits = 1 << 16
	// maxTogether are the units of work that Together keeps in one record: until it ends,
	// what others log waits.
	maxTogether = 1 << 24
	// stepTime is how long work keeps a processor that others may need.
	stepTime = 4 * time.Millisecond
	// pause is how long it leaves it to them. They need less, but the system's timers have
	// no shorter pause.
	pause = 100 * time.Microsecond
)

// NewWork returns work that is stopped when ctx ends.
func (s *Store) NewWork(ctx context.Context) *Work { return &Work{store: s, ctx: ctx} }

// TryBegin is Begin of a short command. It reports false if it would have to wait.
func (w *Work) TryBegin() bool {
	if w.store.gate.try() {
		w.inside = true
		return true
	}
	return false
}

// Begin starts a command, or several, that use the store; End ends them. In between,
// Atomically of other callers waits. Begin must not be nested, nor be called within
// Atomically.
func (w *Work) Begin(e Entry) {
	w.entry, w.inside = e, true
	w.store.gate.enter(e)
}

// End ends what Begin has started. Wait comes after it.
func (w *Work) End() {
	w.settle()
	w.store.gate.leave(w.entry.Heavy)
	w.entry, w.inside = Entry{}, false
}

// settle ends the account of what took long.
func (w *Work) settle() {
	if w.long {
		w.store.long.Add(-1)
	}
	w.units, w.since, w.long = 0, time.Time{}, false
}

// Atomically calls do while no other command between Begin and End depends on the values
// of the names in changes, or on any value if that is nil; do changes no others. After a
// crash all changes of do are there, or none. If the work is stopped before its turn
// comes, do is not called and the error is ErrStopped.
func (w *Work) Atomically(changes map[string]bool, do func()) error {
	wanted := false
	w.store.gate.run(changes, w.ctx.Done(), func() {
		if wanted = w.ctx.Err() == nil; wanted {
			w.store.together(do)
		}
	})
	w.settle()
	if !wanted {
		return w.stopped()
	}
	return nil
}

// Firmly calls do, in which nothing is stopped.
func (w *Work) Firmly(do func()) {
	w.firm = true
	defer func() { w.firm = false }()
	do()
}

// Together calls do and keeps what it logs in one record, so that after a crash all of it
// is there or nothing. What do logs after 2^24 units of work is in records of its own. do
// counts its work with Step and Rest.
func (w *Work) Together(do func()) {
	w.store.log.hold()
	w.held, w.spent = true, 0
	defer w.apart()
	do()
}

// apart ends what Together has begun.
func (w *Work) apart() {
	if w.held {
		w.held = false
		w.store.log.release()
	}
}

// count adds units and reports whether they complete a step.
func (w *Work) count(units int) bool {
	if w.held {
		if w.spent += units; w.spent > maxTogether {
			w.apart()
		}
	}
	w.units += units
	return w.units >= stepUnits
}

// Step is called within long calls after some units of work, while locks may be held. It
// returns ErrStopped if the caller no longer waits.
func (w *Work) Step(units int) error {
	if w == nil || !w.count(units) {
		return nil
	}
	return w.step()
}

// Rest is Step where no lock is held and others may see what is done so far: it lets a
// caller pass that waits to run alone, unless the work has to stay together.
func (w *Work) Rest(units int) error {
	if w == nil || !w.count(units) {
		return nil
	}
	if w.inside && w.entry.Heavy && !w.held && w.store.gate.wanted() {
		w.store.gate.leave(true)
		w.store.gate.enter(w.entry)
	}
	return w.step()
}

func (w *Work) step() error {
	w.units = 0
	if w.ctx.Err() != nil && !w.firm {
		return w.stopped()
	}
	switch now := time.Now(); {
	case w.since.IsZero():
		w.since = now
	case now.Sub(w.since) < stepTime:
	default:
		if !w.long {
			w.long = true
			w.store.long.Add(1)
		}
		if int(w.store.long.Load()) >= runtime.GOMAXPROCS(0) {
			// Going to sleep lets the scheduler look for what has arrived; a mere
			// yield does not.
			time.Sleep(pause)
			now = time.Now()
		}
		w.since = now
	}
	return nil
}

func (w *Work) stopped() error { return fmt.Errorf("%w: %w", ErrStopped, context.Cause(w.ctx)) }
