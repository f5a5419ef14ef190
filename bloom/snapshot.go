package bloom

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"seen/internal/frame"
)

// SnapshotFile is where a snapshot goes: its start is written once more at the end.
type SnapshotFile interface {
	io.Writer
	io.WriterAt
}

// WriteSnapshot writes s in the format of docs/FORMAT.md to an empty file while
// another goroutine goes on adding to s. That goroutine must hold lock whenever it
// uses s; WriteSnapshot takes it again and again, each time for as long as it takes
// to copy 64 KiB or, of an exact [Adaptive], to put a segment of its hashes in
// order, and never while it writes. A Window keeps the memory of generations that it
// drops meanwhile.
//
// Bits are only ever set, so no key is lost by this: the file has every key that was
// added before the call. Of those added while it was under way it has some, none, or
// a part of the bits, which are then bits that other keys could have set as well. It
// has none of those added after the call. The numbers of keys in it are those at
// its end.
//
// When ctx ends, so does WriteSnapshot, with its error.
func WriteSnapshot(ctx context.Context, s Set, w SnapshotFile, lock sync.Locker) error {
	f, ok := s.(encoder)
	if !ok {
		return fmt.Errorf("bloom: a %s filter cannot be written while it is in use; write it at rest", s.Stats().Type)
	}
	lock.Lock()
	defer lock.Unlock()
	if a, ok := s.(*Adaptive); ok {
		h, parts, err := a.encodeInUse(ctx, lock)
		if err != nil {
			return err
		}
		if h != nil {
			_, err := frame.Write(&yielding{ctx, w, lock, nil}, h, parts)
			return err
		}
	}
	count := recount
	if v, ok := s.(*Window); ok {
		held := v.hold()
		defer held.release()
		count = held.recount
	}
	h, parts, err := f.encode()
	if err != nil {
		return err
	}
	if _, err := frame.Write(&yielding{ctx, w, lock, nil}, h, parts); err != nil {
		return err
	}
	// More keys may have come in than there were when h was made, and a filter must
	// not take itself for emptier than it is.
	if h, err = count(f, h, parts); err != nil {
		return err
	}
	runtime.KeepAlive(f) // parts are its memory
	head, err := frame.AppendHeader(nil, h)
	if err == nil {
		_, err = w.WriteAt(head, 0)
	}
	return err
}

// recount returns h with the numbers of keys that f has now. Arrays that f has
// besides parts came later.
func recount(f encoder, h *frame.Header, parts [][]byte) (*frame.Header, error) {
	now, current, err := f.encode()
	if err != nil || len(current) == len(parts) {
		return now, err
	}
	for i := range parts {
		h.Parts[i].Added = now.Parts[i].Added
	}
	return h, nil
}

// yielding is a writer that gives up a lock while it writes a copy of what it was
// given.
type yielding struct {
	ctx    context.Context
	w      io.Writer
	lock   sync.Locker
	buffer []byte
}

func (y *yielding) Write(p []byte) (int, error) {
	y.buffer = append(y.buffer[:0], p...)
	y.lock.Unlock()
	defer y.lock.Lock()
	if err := y.ctx.Err(); err != nil {
		return 0, err
	}
	return y.w.Write(y.buffer)
}

// heldWindow keeps the arrays that a window had at one time, as they are but for
// added keys, even of generations that are dropped.
type heldWindow struct {
	window *Window
	layers []*layer // in the order of encode
}

func (w *Window) hold() heldWindow {
	w.held++
	h := heldWindow{window: w}
	for i := len(w.gens) - 1; i >= 0; i-- {
		h.layers = append(h.layers, w.gens[i].set.layers...)
	}
	return h
}

func (h heldWindow) release() {
	h.window.held--
	runtime.KeepAlive(h.layers)
}

// recount is the function recount for the arrays that are held. The time stays what
// it was, because their generations belong to it.
func (h heldWindow) recount(_ encoder, header *frame.Header, _ [][]byte) (*frame.Header, error) {
	for i, l := range h.layers {
		header.Parts[i].Added = l.added
	}
	return header, nil
}

// encodeInUse is encode for a set that is exact, which gives up lock between the
// segments. The header is nil if the set is a filter, or has become one.
func (a *Adaptive) encodeInUse(ctx context.Context, lock sync.Locker) (*frame.Header, [][]byte, error) {
	a.load()
	var all []uint64
	for from := uint64(0); a.set != nil; {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if need := a.set.countAt(from); cap(all)-len(all) < need {
			// To copy what is there would take too long under the lock.
			want := max(a.set.count()+a.set.count()/16, uint64(len(all)+need))
			lock.Unlock()
			all = slices.Grow(all, int(want)-len(all))
			lock.Lock()
			continue
		}
		var more bool
		if all, from, more = a.set.appendFrom(all, from); !more {
			h, parts := a.encodeExact(all)
			return h, parts, nil
		}
		lock.Unlock()
		lock.Lock()
	}
	return nil, nil, nil
}

// countAt returns how many hashes appendFrom would append at most.
func (t *fingerprints) countAt(from uint64) int { return t.segments[t.segment(from)].n() + 1 }

// appendFrom appends the hashes of the segment that begins with from to all, in
// ascending order, and returns where the next one begins. A split makes segments
// begin between those that were there, so that from stays a beginning.
func (t *fingerprints) appendFrom(all []uint64, from uint64) (_ []uint64, next uint64, more bool) {
	if from == 0 && t.zero {
		all = append(all, 0)
	}
	i := t.segment(from)
	all = t.segments[i].appendSorted(all, t.common())
	if i++; i == len(t.segments) {
		return all, 0, false
	}
	return all, uint64(i) << (t.shift + 1), true
}
