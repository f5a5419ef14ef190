package redistest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Faults is what a Proxy does to connections. The zero value passes all through.
type Faults struct {
	Delay   time.Duration // before each piece, in both directions
	Stall   bool          // nothing passes, nothing is closed; pieces wait until it ends
	Swallow bool          // requests are read and thrown away: they never arrive
	Mute    bool          // requests arrive; replies are thrown away
	Refuse  bool          // new connections are closed at once
	// CutAfter, above 0, closes each connection (for both ends) after so many
	// more bytes of replies, in the middle of one where they end there.
	CutAfter int
}

// A Proxy is between clients and an engine and does harm on request.
type Proxy struct {
	target string
	listen net.Listener
	work   sync.WaitGroup

	mu       sync.Mutex
	changed  *sync.Cond
	faults   Faults
	closed   bool
	accepted int
	conns    map[net.Conn]net.Conn // from the client's side to the engine's
	left     map[net.Conn]int      // bytes of replies until the cut, by the client's side
}

// NewProxy listens on a free port of loopback for connections to the target,
// host:port.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("redistest: proxy: %w", err)
	}
	p := &Proxy{target: target, listen: l, conns: map[net.Conn]net.Conn{}, left: map[net.Conn]int{}}
	p.changed = sync.NewCond(&p.mu)
	p.work.Go(p.accept)
	return p, nil
}

// Addr is where clients connect, host:port.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// Set changes what happens to all connections, those that are open included.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
	for c := range p.conns {
		p.left[c] = f.CutAfter
	}
	p.changed.Broadcast()
}

// Accepted returns how many connections clients have made so far.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// CloseConnections closes the connections that are open, for both ends.
func (p *Proxy) CloseConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a, b := range p.conns {
		// Each may be closed by either end already.
		_, _ = a.Close(), b.Close()
	}
}

// Close ends the proxy and its connections and waits for its goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.changed.Broadcast()
	p.mu.Unlock()
	err := p.listen.Close()
	p.CloseConnections()
	p.work.Wait()
	if err != nil {
		return fmt.Errorf("redistest: proxy: %w", err)
	}
	return nil
}

func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		engine, err := net.Dial("tcp", p.target)
		p.mu.Lock()
		if err != nil || p.faults.Refuse || p.closed {
			p.mu.Unlock()
			_ = client.Close() // only the end of the connection matters
			if engine != nil {
				_ = engine.Close() // only the end of the connection matters
			}
			continue
		}
		p.conns[client], p.left[client] = engine, p.faults.CutAfter
		p.accepted++
		p.mu.Unlock()
		p.work.Go(func() { p.pass(client, engine) })
	}
}

// pass carries one connection until either end or a fault closes it.
func (p *Proxy) pass(client, engine net.Conn) {
	closeBoth := func() { _, _ = client.Close(), engine.Close() } // only the end of the connection matters
	var requests sync.WaitGroup
	requests.Go(func() {
		defer closeBoth()
		p.pump(engine, client, client, false)
	})
	p.pump(client, engine, client, true)
	closeBoth()
	requests.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.left, client)
	p.mu.Unlock()
}

var errCut = errors.New("redistest: cut")

// pump carries pieces from src to dst. The connection is known by the client's
// side.
func (p *Proxy) pump(dst io.Writer, src io.Reader, client net.Conn, replies bool) {
	piece := make([]byte, 32<<10)
	for {
		n, err := src.Read(piece)
		if n > 0 {
			out, cut := p.judge(piece[:n], client, replies)
			if len(out) > 0 {
				if _, err := dst.Write(out); err != nil {
					return
				}
			}
			if cut != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// judge applies the faults to a piece: it waits, shortens or drops it.
func (p *Proxy) judge(b []byte, client net.Conn, replies bool) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.faults.Delay; d > 0 {
		p.mu.Unlock()
		time.Sleep(d)
		p.mu.Lock()
	}
	for p.faults.Stall && !p.closed {
		p.changed.Wait()
	}
	switch f := p.faults; {
	case p.closed:
		return nil, errCut
	case f.Swallow && !replies, f.Mute && replies:
		return nil, nil
	case f.CutAfter > 0 && replies:
		if len(b) >= p.left[client] {
			return b[:p.left[client]], errCut
		}
		p.left[client] -= len(b)
	}
	return b, nil
}
