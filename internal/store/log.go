package store

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
)

// log collects the operations that are not committed yet, in the order of their
// numbers. The committer takes them from there.
type log struct {
	mu    sync.Mutex
	buf   []byte
	first LSN      // of the operations in buf
	count uint64   // of them
	held  int      // callers of hold: what is appended meanwhile must stay together
	free  struct { // of buf, what was there before the first of them called
		bytes int
		count uint64
	}
	frozen atomic.Bool
	last   atomic.Uint64
	bytes  atomic.Uint64 // appended since the last checkpoint
	// buffered is the length of buf.
	buffered atomic.Int64
	work     chan struct{} // tells the committer that there are operations
	// notify is called when there are operations that may be committed.
	notify func()
	// trouble is why nothing can be appended at present, nil if all is well.
	trouble atomic.Pointer[trouble]
}

func (l *log) init(last LSN) {
	l.last.Store(uint64(last))
	l.first = last + 1
	l.work = make(chan struct{}, 1)
	l.notify = l.signal
}

// writable returns why no change is accepted at present, or nil.
func (l *log) writable() error {
	if t := l.trouble.Load(); t != nil {
		return t.err
	}
	return nil
}

// trouble is why changes are refused.
type trouble struct {
	err     error
	stopped bool // what is in the buffer is not written either
	drains  bool // but what is in it is written still
}

// stopped returns why the log is no longer written, or nil.
func (l *log) stopped() error {
	if t := l.trouble.Load(); t != nil && t.stopped {
		return t.err
	}
	return nil
}

// deletable returns why no deletion is accepted at present, or nil. While the log can be
// written, too little room on the disk does not prevent deletions: they are short, and
// make room.
func (l *log) deletable() error {
	if err := l.stopped(); err != nil {
		return err
	}
	if err := l.writable(); err != nil && !errors.Is(err, ErrDiskFull) {
		return err
	}
	return nil
}

// open begins an operation. The caller appends its contents to l.buf and calls close;
// other callers wait until then.
func (l *log) open(code opcode, id uint64) (start int) {
	l.mu.Lock()
	start = len(l.buf)
	l.buf = beginOp(l.buf, code, id)
	return start
}

func (l *log) close(start int) LSN {
	l.buf = endOp(l.buf, start)
	l.bytes.Add(uint64(len(l.buf) - start))
	l.count++
	at := l.last.Add(1)
	held := l.held > 0
	l.buffered.Store(int64(len(l.buf)))
	l.mu.Unlock()
	if !held {
		l.notify()
	}
	return LSN(at)
}

func (l *log) signal() {
	select {
	case l.work <- struct{}{}:
	default:
	}
}

func (l *log) append(code opcode, id uint64, body []byte) LSN {
	start := l.open(code, id)
	l.buf = append(l.buf, body...)
	return l.close(start)
}

func (l *log) add(id, layer uint64, hs []uint64) LSN {
	start := l.open(opAdd, id)
	l.buf = binary.AppendUvarint(l.buf, layer)
	for _, h := range hs {
		l.buf = binary.LittleEndian.AppendUint64(l.buf, h)
	}
	return l.close(start)
}

// hold keeps what is appended from now on in one piece, until release.
func (l *log) hold() {
	l.mu.Lock()
	if l.held++; l.held == 1 {
		l.free.bytes, l.free.count = len(l.buf), l.count
	}
	l.mu.Unlock()
}

func (l *log) release() {
	l.mu.Lock()
	l.held--
	l.mu.Unlock()
	l.notify()
}

// freeze drops what is appended from now on, and what must stay together with that. What
// the buffer could give out before, it still gives out.
func (l *log) freeze() {
	l.hold()
	l.frozen.Store(true)
}

// take takes the operations out of the buffer, and gives it spare to go on with.
// Those since hold stay until release.
func (l *log) take(spare []byte) (ops []byte, first LSN, count uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, count := len(l.buf), l.count
	if l.held > 0 {
		n, count = l.free.bytes, l.free.count
		l.free.bytes, l.free.count = 0, 0
	}
	if count == 0 {
		return nil, 0, 0
	}
	ops, first = l.buf[:n], l.first
	l.buf = append(spare[:0], l.buf[n:]...)
	l.first, l.count = first+LSN(count), l.count-count
	l.buffered.Store(int64(len(l.buf)))
	return ops, first, count
}

// forget drops what is in the buffer and returns the position up to which nothing
// is to be written any more.
func (l *log) forget() LSN {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := LSN(l.last.Load())
	l.buf, l.first, l.count = nil, last+1, 0
	l.free.bytes, l.free.count = 0, 0
	l.buffered.Store(0)
	return last
}
