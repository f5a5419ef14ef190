package server

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"seen/internal/fair"
)

// errSlow means that too many replies wait for a client.
var errSlow = errors.New("the client does not read its replies")

// An outlet is a socket with a queue of replies. Write does not wait for the client:
// what the socket does not accept at once is kept, up to a limit, and a goroutine writes
// it. So a client may send a long pipeline before it reads the first reply, as with
// Redis.
//
// One goroutine may write. Others may check the progress and close.
type outlet struct {
	net.Conn
	server *Server
	budget *fair.Holder       // pays for kept
	try    func(b []byte) int // writes what the socket accepts without waiting
	raw    syscall.RawConn    // nil: it has none

	// when the socket last accepted bytes, in Unix nanoseconds; 0 if nothing is left
	since atomic.Int64

	mu      sync.Mutex
	idle    sync.Cond // nothing is left to be written
	kept    []byte    // what comes after what the goroutine is writing
	left    int       // bytes that wait, including those being written
	writing bool      // the goroutine exists
	err     error
}

func newOutlet(s *Server, socket net.Conn) *outlet {
	o := &outlet{Conn: socket, server: s, try: func([]byte) int { return 0 }}
	o.idle.L = &o.mu
	if sc, ok := socket.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			o.try, o.raw = attempt(raw), raw
		}
	}
	return o
}

// SetWriteDeadline does nothing. The server decides how long a client may take; TLS would
// set a deadline for its closing message, and bytes that wait would be lost.
func (o *outlet) SetWriteDeadline(time.Time) error { return nil }

// Write sends b or keeps a copy to send later. After an error the connection cannot be
// used.
func (o *outlet) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n := 0
	if !o.writing {
		if n = o.try(b); n == len(b) {
			return n, nil
		}
	}
	rest := b[n:]
	if o.left+len(rest) > o.server.config.Limits.Output || !o.budget.Take(len(rest)) {
		o.err = errSlow
		o.server.clients.slow.Add(1)
		_ = o.Conn.Close() // wakes the goroutine, which may wait for the client
		return n, o.err
	}
	o.kept = append(o.kept, rest...)
	o.left += len(rest)
	if !o.writing {
		o.writing = true
		o.since.Store(o.server.config.Now().UnixNano())
		go o.drain()
	}
	return len(b), nil
}

// drain writes what is kept until nothing is left.
func (o *outlet) drain() {
	var b []byte
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.kept) > 0 && o.err == nil {
		b, o.kept = o.kept, b[:0]
		o.mu.Unlock()
		err := o.pass(b)
		o.mu.Lock()
		if o.err == nil {
			o.err = err
		}
	}
	o.budget.Give(o.left)
	o.left, o.kept, o.writing = 0, nil, false
	o.since.Store(0)
	o.idle.Broadcast()
}

// pass writes b in pieces, so that progress can be seen.
func (o *outlet) pass(b []byte) error {
	for len(b) > 0 {
		n, err := o.Conn.Write(b[:min(len(b), 64<<10)])
		o.mu.Lock()
		o.left -= n
		o.budget.Give(n)
		o.since.Store(o.server.config.Now().UnixNano())
		o.mu.Unlock()
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// gone reports whether the client of a command that has run for this time is gone: it has
// closed the connection, or has closed its sending side and would have to be very patient.
func (o *outlet) gone(busy time.Duration) bool {
	if o.raw == nil || busy <= goneAfter {
		return false
	}
	sent, closed := peerState(o.raw)
	return closed || sent && busy > halfGoneAfter
}

// waiting returns how many bytes wait to be sent.
func (o *outlet) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left
}

// stalledFor returns how long the client has read nothing of what waits for it.
func (o *outlet) stalledFor(now time.Time) time.Duration {
	since := o.since.Load()
	if since == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, since))
}

// finish waits until everything is written or the connection has failed.
func (o *outlet) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.idle.Wait()
	}
}
