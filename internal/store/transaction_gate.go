package store

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// gate lets commands in together, and callers that run alone one at a time. A short command
// hardly waits for a caller that wants to run alone: until all commands inside are out, the
// door is shut only for moments (see patience). Commands that may take long wait for
// callers that came before them, so that these get their turn.
type gate struct {
	// inside is the number of commands that were let in, to which shut is added while
	// the door is shut.
	inside atomic.Int64
	empty  chan struct{} // told when the last one leaves while the door is shut
	one    chan struct{} // has an element while a caller waits to run alone, or runs

	mu      sync.Mutex
	opened  chan struct{}   // closed when the door opens; nil: it is open
	awaited bool            // a caller waits to run alone, or runs
	alone   bool            // a caller runs alone
	changes map[string]bool // the names whose values it changes; nil: any
	heavy   int             // commands inside that may take long
	none    chan struct{}   // told when heavy becomes 0
	queue   []queued        // those that wait to be let in
}

// queued is a command that may take long and waits for the caller that runs alone.
type queued struct {
	entry Entry
	in    chan struct{} // closed when it is let in
}

const shut = -1 << 62

// patience is how long the door is shut at a time while commands are still inside, and
// openFor how long it is open after that at first.
const (
	patience = time.Millisecond
	openFor  = 4 * time.Millisecond
)

// Entry is what a command says of itself before it is let in.
type Entry struct {
	// Heavy is for commands that may take long.
	Heavy bool
	// Reads are the names of all values on which the command depends, if it changes
	// nothing; nil if it changes something, or depends on more.
	Reads [][]byte
}

func (g *gate) init() {
	g.empty, g.one, g.none = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
}

// try lets in a command that does not take long, unless it would have to wait.
func (g *gate) try() bool {
	for {
		n := g.inside.Load()
		if n < 0 {
			return false
		}
		if g.inside.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// enter lets a command in, and waits until that is possible.
func (g *gate) enter(e Entry) {
	g.mu.Lock()
	for {
		switch {
		case g.alone && g.indifferent(e.Reads), e.Heavy && !g.awaited:
			if e.Heavy {
				g.heavy++
			}
			g.inside.Add(1)
			g.mu.Unlock()
			return
		case e.Heavy:
			q := queued{e, make(chan struct{})}
			g.queue = append(g.queue, q)
			g.mu.Unlock()
			<-q.in
			return
		case g.try():
			g.mu.Unlock()
			return
		}
		opened := g.opened
		g.mu.Unlock()
		<-opened
		g.mu.Lock()
	}
}

// indifferent reports whether a command depends on no value that the caller running alone
// changes; mu is held.
func (g *gate) indifferent(reads [][]byte) bool {
	if reads == nil || g.changes == nil {
		return false
	}
	for _, name := range reads {
		if g.changes[string(name)] {
			return false
		}
	}
	return true
}

// leave lets a command out.
func (g *gate) leave(heavy bool) {
	if heavy {
		g.mu.Lock()
		if g.heavy--; g.heavy == 0 {
			tell(g.none)
		}
		g.mu.Unlock()
	}
	if g.inside.Add(-1) == shut {
		tell(g.empty)
	}
}

// tell wakes the receiver of a channel with room for one element.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run calls do while no command inside depends on what do changes: the values of some
// names, or any value if changes is nil. It gives up if stop is closed before.
func (g *gate) run(changes map[string]bool, stop <-chan struct{}, do func()) bool {
	select {
	case g.one <- struct{}{}:
	case <-stop:
		return false
	}
	defer func() { <-g.one }()
	if !g.await(stop) {
		g.end()
		return false
	}
	g.mu.Lock()
	g.alone, g.changes = true, changes
	g.admit(func(e Entry) bool { return g.indifferent(e.Reads) })
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.alone, g.changes = false, nil
		g.open()
		g.mu.Unlock()
		g.end()
	}()
	do()
	return true
}

// await shuts the door behind the last one inside.
func (g *gate) await(stop <-chan struct{}) bool {
	g.mu.Lock()
	g.awaited = true
	for g.heavy > 0 {
		g.mu.Unlock()
		select {
		case <-g.none:
		case <-stop:
			return false
		}
		g.mu.Lock()
	}
	g.mu.Unlock()
	for wait := openFor; !g.shut(); wait = min(2*wait, 50*time.Millisecond) {
		select {
		case <-time.After(wait):
		case <-stop:
			return false
		}
	}
	return true
}

// shut shuts the door, unless those inside stay too long.
func (g *gate) shut() bool {
	g.mu.Lock()
	g.opened = make(chan struct{})
	left := g.inside.Add(shut)
	g.mu.Unlock()
	tooLong := time.NewTimer(patience)
	defer tooLong.Stop()
	for ; left != shut; left = g.inside.Load() {
		select {
		case <-g.empty:
		case <-tooLong.C:
			g.mu.Lock()
			g.open()
			g.mu.Unlock()
			return false
		}
	}
	return true
}

// open opens the door; mu is held.
func (g *gate) open() {
	g.inside.Add(-shut)
	close(g.opened)
	g.opened = nil
}

// end lets in all commands that waited for a caller to run alone, before the next one may.
func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.awaited = false
	g.admit(func(Entry) bool { return true })
}

// admit lets in the commands in the queue that may enter; mu is held.
func (g *gate) admit(may func(Entry) bool) {
	g.queue = slices.DeleteFunc(g.queue, func(q queued) bool {
		if !may(q.entry) {
			return false
		}
		g.heavy++
		g.inside.Add(1)
		close(q.in)
		return true
	})
}

// wanted reports whether a caller waits to run alone, or runs.
func (g *gate) wanted() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.awaited
}
