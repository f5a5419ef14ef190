package bloom

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"seen/internal/bridge"
	"seen/internal/frame"
)

func init() { bridge.WriteSnapshot = writeSnapshot }

// writeSnapshot is [bridge.WriteSnapshot].
func writeSnapshot(ctx context.Context, s Set, w bridge.SnapshotFile, lock sync.Locker) error {
	f, ok := s.(encoder)
	if !ok {
		return fmt.Errorf("a %s filter cannot be written while it is in use; write it at rest", s.Design().Type)
	}
	lock.Lock()
	defer lock.Unlock()
	if a, ok := s.(*Adaptive); ok && a.filter == nil {
		return a.writeInUse(ctx, w, lock)
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
	lock.Unlock()
	var piece []byte
	_, err = frame.WritePieces(&stopping{ctx, w}, h, func(part int, off, n uint64) []byte {
		lock.Lock()
		piece = append(piece[:0], parts[part][off:off+n]...)
		lock.Unlock()
		return piece
	})
	lock.Lock()
	if err != nil {
		return err
	}
	// There may be more keys than when h was made, and the numbers must not be too low.
	if h, err = count(f, h, parts); err != nil {
		return err
	}
	lock.Unlock()
	err = writeHeader(w, h)
	lock.Lock()
	runtime.KeepAlive(f) // parts are its memory
	return err
}

// recount returns h with the present numbers of keys in f. Arrays of f that are not in
// parts came later.
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

// stopping is a writer that stops when a context ends.
type stopping struct {
	ctx context.Context
	w   io.Writer
}

func (s *stopping) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}

// heldWindow keeps the arrays that a window had at one time, also of generations that are
// dropped; keys may still be added to them.
type heldWindow struct {
	window *Window
	layers []*layer // in the order of encode
}

func (w *Window) hold() heldWindow {
	w.held++
	h := heldWindow{window: w}
	for _, g := range slices.Backward(w.gens) {
		h.layers = append(h.layers, g.set.layers...)
	}
	return h
}

func (h heldWindow) release() {
	h.window.held--
	runtime.KeepAlive(h.layers)
}

// recount is the function recount for the held arrays. The time stays as it was, because
// their generations belong to it.
func (h heldWindow) recount(_ encoder, header *frame.Header, _ [][]byte) (*frame.Header, error) {
	for i, l := range h.layers {
		header.Parts[i].Added = l.added
	}
	return header, nil
}

// writeInUse is writeSnapshot for a set that is exact. It holds lock only while it
// copies a segment.
func (a *Adaptive) writeInUse(ctx context.Context, w bridge.SnapshotFile, lock sync.Locker) error {
	a.load()
	h := a.headerOfBoth()
	lock.Unlock()
	defer lock.Lock()
	length, err := frame.WriteOpen(&stopping{ctx, w}, func(yield func([]byte, error) bool) {
		var copied segment
		var sorted []uint64
		lock.Lock()
		if a.set.zero {
			sorted = append(sorted, 0)
		}
		for from, more := uint64(0), true; more; {
			if a.set == nil {
				lock.Unlock()
				yield(nil, bridge.ErrSwitched)
				return
			}
			// After a split from is still the beginning of a segment.
			common := a.set.common()
			from, more = a.set.copySegment(&copied, from)
			lock.Unlock()
			sorted = copied.appendSorted(sorted, common)
			if !yield(frame.Bytes(sorted), nil) {
				return
			}
			sorted = sorted[:0]
			lock.Lock()
		}
		lock.Unlock()
	})
	if err != nil {
		return err
	}
	h.Parts = []frame.Part{fingerprintsPart(int(length))}
	return writeHeader(w, h)
}

// writeHeader writes the header over the start of a file.
func writeHeader(w io.WriterAt, h *frame.Header) error {
	head, err := frame.AppendHeader(nil, h)
	if err == nil {
		_, err = w.WriteAt(head, 0)
	}
	return err
}

// copySegment makes dst a copy of the segment that begins with the hash from, and
// returns where the next one begins, if there is one.
func (t *fingerprints) copySegment(dst *segment, from uint64) (next uint64, more bool) {
	i := t.segment(from)
	s := &t.segments[i]
	dst.lines, dst.left = append(dst.lines[:0], s.lines...), s.left
	if i++; i == len(t.segments) {
		return 0, false
	}
	return uint64(i) << (t.shift + 1), true
}
