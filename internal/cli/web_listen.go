package cli

import (
	"net"
	"sync"
)

// maxWebConnections bounds the connections of "seen web" at the same time. Others wait
// to be accepted.
const maxWebConnections = 1024

// fewListener accepts a connection only when there are not too many.
type fewListener struct {
	net.Listener
	slots chan struct{}
	once  sync.Once
	done  chan struct{} // closed with the listener
}

func newFewListener(l net.Listener, most int) *fewListener {
	return &fewListener{Listener: l, slots: make(chan struct{}, most), done: make(chan struct{})}
}

func (l *fewListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &fewConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

func (l *fewListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// fewConn is a connection that gives its place free when it is closed.
type fewConn struct {
	net.Conn
	release func()
}

func (c *fewConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
