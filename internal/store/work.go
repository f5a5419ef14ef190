package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// ErrStopped says that a call was stopped before its end, because its caller does
// not wait any more, and has changed nothing, unless it says otherwise.
var ErrStopped = errors.New("stopped before the end")

// A Work is what a caller has a store do: a command, or several one after another.
// Calls that may take long take one, work in steps, look between two steps whether
// they are still wanted, and leave the processors to others. A nil *Work is for what is
// always wanted. A Work is for one goroutine.
type Work struct {
	store  *Store
	ctx    context.Context
	entry  Entry
	inside bool // between Begin and End

	// Firm work is not stopped, and does not make room for others either.
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
	// maxTogether are the units of work that Together keeps in one piece: what others
	// log meanwhile waits for it.
	maxTogether = 1 << 24
	// stepTime is how long the processors are kept when others may need them.
	stepTime = 4 * time.Millisecond
	// pause is for how long they are left. Others need less, but a shorter one is not
	// shorter for the timers of the system.
	pause = 100 * time.Microsecond
)

// NewWork returns work that is wanted until ctx ends.
func (s *Store) NewWork(ctx context.Context) *Work { return &Work{store: s, ctx: ctx} }

// TryBegin is Begin of a command that does not take long, unless it would have to
// wait: then it reports false.
func (w *Work) TryBegin() bool {
	if w.store.gate.try() {
		w.inside = true
		return true
	}
	return false
}

// Begin starts a command, or a run of them, that uses the store; End ends it. In
// between, Atomically of others waits. They must not be nested, nor be used within
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

// Atomically calls do while no other command is between Begin and End that depends on
// the values of the names in changes, or on any if that is nil; do changes no others.
// After a crash all that do has changed is there, or nothing of it. It is ErrStopped,
// and do is not called, if the work is not wanted any more when its turn comes.
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

// Together calls do and keeps in one piece what it logs, so that after a crash all of it
// is there or nothing; of work of more than 2^24 units, what is logged after these is in
// pieces of its own. do counts its work with Step and Rest.
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

// Step is called within long calls after some units of work, while locks may be held.
// It returns ErrStopped if the work is not wanted any more.
func (w *Work) Step(units int) error {
	if w == nil || !w.count(units) {
		return nil
	}
	return w.step()
}

// Rest is Step where no lock is held and what is done so far may be seen: it lets a
// caller pass that waits to run alone, unless what is done has to stay together.
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
