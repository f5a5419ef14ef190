package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"seen/internal/fair"
	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/store"
)

const (
	bufferSize = 16 << 10 // initial size of the input buffer
	keepBuffer = 64 << 10 // larger buffers are released when they are empty
	flushAt    = 64 << 10 // bytes of replies at which they are sent before the rest of a pipeline is parsed
	flushSoon  = 1 << 20  // bytes of replies at which they are sent before the next command runs
)

// A conn is a client: its buffers and what it said about itself. Only the goroutine of the
// connection uses the fields, except where noted.
type conn struct {
	server *Server
	socket net.Conn // carries the protocol: the outlet, or TLS over it
	outlet *outlet
	tls    *tls.Conn    // nil: none
	peer   peer         // far is set after the handshake
	slot   *fair.Place  // the place among all connections
	budget *fair.Holder // pays for buffers

	id     int64
	began  time.Time
	active atomic.Int64 // when the last bytes arrived, in Unix nanoseconds; read by others
	served atomic.Int64 // when the last complete commands ended, likewise
	since  atomic.Int64 // bytes that have arrived since then
	asking atomic.Bool  // waits for the client to send commands or, at the end, to read its replies
	poor   atomic.Bool  // lost its memory to other clients
	about  about

	// life ends with the connection and stops its commands.
	life context.Context
	end  context.CancelCauseFunc
	work *store.Work
	busy atomic.Int64 // when the running long command began, in Unix nanoseconds; 0: none; read by others

	user          atomic.Pointer[acl.User] // read by others
	authenticated atomic.Bool              // likewise

	parser resp.Parser
	in     []byte // in[from:] is not parsed yet
	from   int
	extra  int // bytes of in that the budget has paid
	args   [][]byte
	batch  []parsed

	out     resp.Writer
	call    call
	replies int        // in out
	lsn     store.LSN  // the position of the log that they depend on
	pending []answered // those that depend on the log
	ending  bool       // close after the replies
	scratch scratch
	mute    muting
	tx      transaction
}

// parsed is a command that has been parsed and has not run; command is nil if the name is
// unknown.
type parsed struct {
	command *command
	args    [][]byte
}

func (s *Server) newConn(socket net.Conn) *conn {
	c := &conn{server: s, outlet: newOutlet(s, socket)}
	c.socket = c.outlet
	c.life, c.end = context.WithCancelCause(s.cutting)
	c.work = s.store.NewWork(c.life)
	c.budget = s.buffers.Holder(c.idle, c.impoverish)
	c.outlet.budget = c.budget
	c.peer.key = fair.Key(socket.RemoteAddr())
	c.parser.Limits = s.config.Limits.Command
	c.out.Proto = 2
	c.call = call{conn: c, out: &c.out}
	c.began = s.config.Now()
	c.active.Store(c.began.UnixNano())
	c.served.Store(c.began.UnixNano())
	c.user.Store(s.acl.Default)
	return c
}

// serve serves the client until either side closes the connection.
func (c *conn) serve() {
	defer c.server.clients.remove(c)
	defer c.cut()
	if !c.shakeHands() {
		return
	}
	c.peer.far = c.server.placeOf(c.outlet.Conn, c.tls).far
	if c.denied() {
		c.server.noteFar(c.address())
		c.out.Error(denied)
		_, _ = c.socket.Write(c.out.Bytes()) // the client may have gone
		c.ending = true
	}
	c.in = make([]byte, 0, bufferSize)
	for !c.ending && c.fill() && c.answer() {
	}
	if c.tls != nil {
		_ = c.tls.CloseWrite() // the client may have gone
	}
	c.asking.Store(true)
	c.outlet.finish()
	c.discard()
	c.budget.Close()
}

// handshakeTime is how long a TLS handshake may take.
const handshakeTime = 10 * time.Second

// shakeHands makes the TLS handshake, if the connection uses TLS.
func (c *conn) shakeHands() bool {
	if c.tls == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(c.server.cutting, handshakeTime)
	defer cancel()
	c.asking.Store(true)
	defer c.asking.Store(false)
	if err := c.tls.HandshakeContext(ctx); err != nil {
		c.server.event(Debug, "a TLS handshake failed", "client", c.address(), "error", err.Error())
		return false
	}
	return true
}

// cut closes the connection at once. Any goroutine may call it.
func (c *conn) cut() {
	c.end(errCut)
	_ = c.outlet.Close() // nothing can be done about an error
}

// errCut is why the commands of a closed connection stop.
var errCut = errors.New("the connection was closed")

// drain ends the connection after the received commands have been answered. Any goroutine
// may call it.
func (c *conn) drain() {
	if c.outlet.SetReadDeadline(time.Unix(1, 0)) != nil { // the connection is unusable: close it
		c.cut()
	}
}

// idleFor returns how long the client has sent nothing since its last commands ended. A
// client is not idle while its commands run.
func (c *conn) idleFor(now time.Time) time.Duration {
	if !c.asking.Load() {
		return 0
	}
	return now.Sub(time.Unix(0, max(c.active.Load(), c.served.Load())))
}

// fill reads what the client sends. It reports false when the connection is over.
func (c *conn) fill() bool {
	if !c.room() {
		return c.giveUp()
	}
	c.asking.Store(true)
	n, err := c.socket.Read(c.in[len(c.in):cap(c.in)])
	c.asking.Store(false)
	if c.poor.Load() {
		return c.giveUp()
	}
	c.in = c.in[:len(c.in)+n]
	if n == 0 && err != nil {
		return false
	}
	c.active.Store(c.server.config.Now().UnixNano())
	c.server.received.Add(int64(n))
	c.since.Add(int64(n))
	return true
}

// giveUp tells the client that there is no memory for its input and reports false: the
// connection is over.
func (c *conn) giveUp() bool {
	c.out.Error("ERR the buffers of all clients together have reached their limit; send smaller commands or try again")
	c.replies++
	c.flush()
	return false
}

// room makes room in the buffer: it moves unparsed bytes to the start and doubles a full
// buffer. So the buffer has at most twice the bytes that were sent, whatever length the
// client announces.
func (c *conn) room() bool {
	if c.from > 0 {
		c.in = c.in[:copy(c.in, c.in[c.from:])]
		c.from = 0
	}
	size := cap(c.in)
	switch {
	case len(c.in) == 0 && size > keepBuffer:
		size = bufferSize
	case len(c.in) == size:
		size *= 2
		if !c.budget.Take(size - cap(c.in)) {
			return false
		}
		c.extra += size - cap(c.in)
	default:
		return true
	}
	if size == bufferSize {
		c.budget.Give(c.extra)
		c.extra = 0
	}
	c.in = append(make([]byte, 0, size), c.in...)
	return true
}

// answer runs all commands in the buffer and sends the replies. It reports false when the
// connection is over.
func (c *conn) answer() bool {
	complete := false // at least one command was complete
	for {
		more, err := c.parse()
		complete = complete || len(c.batch) > 0
		c.run()
		c.tell()
		if err != nil && !c.ending {
			c.out.Error("ERR " + err.Error())
			c.replies++
			c.ending = true
		}
		if c.ending || !more {
			if complete {
				c.served.Store(c.server.config.Now().UnixNano())
				c.since.Store(0)
			}
			ok := c.flush() // may run read commands of the batch again
			c.release()
			return ok && !c.ending
		}
		if c.out.Len() > flushAt && !c.flush() {
			return false
		}
	}
}

// release frees the memory that commands with many words needed, so that an inactive
// client does not keep it.
func (c *conn) release() {
	if cap(c.args) > maxScratch {
		clear(c.batch)
		c.args, c.batch, c.call.args = nil, c.batch[:0], nil
	}
}

// parse moves commands from the buffer into the batch. It reports true if there may be
// more.
func (c *conn) parse() (more bool, err error) {
	limit := c.server.config.Limits.Pipeline
	c.parser.Stranger = c.stranger()
	if c.parser.Stranger {
		limit = 1 // the first may change the rights of the next
	}
	c.forgetWords()
	clear(c.args)
	c.args, c.batch = c.args[:0], c.batch[:0]
	for len(c.batch) < limit {
		before := len(c.args)
		var n int
		if c.args, n, err = c.parser.Next(c.in[c.from:], c.args); n == 0 {
			return false, err
		}
		c.from += n
		args := c.args[before:len(c.args):len(c.args)]
		if len(args) == 0 {
			continue
		}
		c.batch = append(c.batch, parsed{c.find(args), args})
	}
	return true, nil
}

// flush sends the replies once what they show is durable.
func (c *conn) flush() bool {
	if c.replies == 0 && c.out.Len() == 0 {
		return true
	}
	c.settle()
	c.replies = 0
	if c.out.Len() == 0 {
		return true
	}
	c.server.sent.Add(int64(c.out.Len()))
	_, err := c.socket.Write(c.out.Bytes())
	c.out.Reset(keepBuffer)
	return err == nil
}
