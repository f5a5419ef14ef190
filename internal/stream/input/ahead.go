package input

import (
	"context"
	"time"
)

// readAhead reads a live source in a goroutine of its own, so that others do not wait for
// it.
type readAhead struct {
	file    *File
	free    chan []byte   // buffers to be filled
	filled  chan chunk    // what was read, in order; the last one has the error
	stopped chan struct{} // closed when the reading is to end
	done    chan struct{} // closed when the goroutine has released the file
	buffer  []byte        // of the chunk that next is handing out
	rest    []byte        // of it, what was not handed out
	err     error         // the error behind rest
}

type chunk struct {
	buffer []byte
	n      int
	err    error
}

// aheadBuffers is how many buffers of readSize bytes there are: one is filled
// while another is handed out.
const aheadBuffers = 2

func newReadAhead(f *File) *readAhead {
	a := &readAhead{
		file:    f,
		free:    make(chan []byte, aheadBuffers),
		filled:  make(chan chunk, aheadBuffers),
		stopped: make(chan struct{}),
		done:    make(chan struct{}),
	}
	for range aheadBuffers {
		a.free <- make([]byte, readSize)
	}
	go a.run()
	return a
}

// run reads until the end of the file or until stop. Neither channel of buffers
// can be full, so that it waits only for the source.
func (a *readAhead) run() {
	defer close(a.done)
	defer a.file.release()
	for {
		select {
		case <-a.stopped:
			return
		case buffer := <-a.free:
			n, err := a.file.read(buffer)
			a.filled <- chunk{buffer, n, err}
			if err != nil {
				return
			}
		}
	}
}

// next hands out what was read.
func (a *readAhead) next(ctx context.Context, p []byte) (int, error) {
	if len(a.rest) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		select {
		case c := <-a.filled:
			a.take(c)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if a.err != nil {
			return 0, a.err // read returns no bytes with an error
		}
	}
	n := copy(p, a.rest)
	if a.rest = a.rest[n:]; len(a.rest) == 0 {
		a.free <- a.buffer
	}
	return n, nil
}

func (a *readAhead) take(c chunk) { a.buffer, a.rest, a.err = c.buffer, c.buffer[:c.n], c.err }

// await waits until next would not wait, or for d, and reports whether next would not.
func (a *readAhead) await(ctx context.Context, d time.Duration) bool {
	if len(a.rest) > 0 || a.err != nil {
		return true
	}
	select {
	case c := <-a.filled:
		a.take(c)
		return true
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case c := <-a.filled:
		a.take(c)
		return true
	case <-ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}

// stop ends the goroutine and reports whether it is known to have ended.
func (a *readAhead) stop() bool {
	close(a.stopped)
	if a.err == nil {
		return false
	}
	<-a.done
	return true
}
