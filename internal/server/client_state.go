package server

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// about is the state of a client that other goroutines may read. The goroutine of the
// connection updates it after every batch.
type about struct {
	mu                sync.Mutex
	name              string
	library, version  string
	command           *command // the last
	proto             int
	queued            int // commands of a transaction, -1: no transaction
	input, inputSpace int
	muted             bool
	noEvict, noTouch  bool
}

// tell updates the state that other goroutines may read.
func (c *conn) tell() {
	a := &c.about
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(c.batch); n > 0 {
		a.command = c.batch[n-1].command
	}
	a.proto, a.muted = c.out.Proto, c.mute == muteAll
	a.queued = -1
	if c.tx.open {
		a.queued = len(c.tx.queued)
	}
	a.input, a.inputSpace = len(c.in)-c.from, cap(c.in)-len(c.in)
}

func (c *conn) name() string {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	return c.about.name
}

// address returns the address of the client: the path of the socket for a client on a
// Unix socket, and "http" for one without a connection of its own.
func (c *conn) address() string {
	if c.outlet == nil {
		return "http"
	}
	return socketName(c.outlet.RemoteAddr(), c.outlet.LocalAddr())
}

// localAddress returns the address that the client has connected to.
func (c *conn) localAddress() string {
	if c.outlet == nil {
		return "http"
	}
	return socketName(c.outlet.LocalAddr(), c.outlet.LocalAddr())
}

// socketName returns an address as Redis writes it: for Unix sockets the path with port 0.
func socketName(a, local net.Addr) string {
	if u, ok := local.(*net.UnixAddr); ok {
		return u.Name + ":0"
	}
	return a.String()
}

// describe returns the line of the client in CLIENT LIST. Any goroutine may call it.
func (c *conn) describe() string {
	now := c.server.config.Now()
	waiting, unix := 0, false
	if c.outlet != nil {
		waiting = c.outlet.waiting()
		_, unix = c.outlet.LocalAddr().(*net.UnixAddr)
	}
	a := &c.about
	a.mu.Lock()
	defer a.mu.Unlock()
	command := "NULL"
	if a.command != nil {
		command = a.command.full
	}
	flags := ""
	if a.queued >= 0 {
		flags += "x"
	}
	if unix {
		flags += "U"
	}
	if a.noEvict {
		flags += "e"
	}
	if a.noTouch {
		flags += "T"
	}
	if flags == "" {
		flags = "N"
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=0 name=%s age=%d idle=%d flags=%s db=0 sub=0 psub=0 ssub=0 multi=%d watch=0 "+
		"qbuf=%d qbuf-free=%d argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=%d tot-mem=%d events=r cmd=%s user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s",
		c.id, c.address(), c.localAddress(), a.name, int(now.Sub(c.began)/time.Second), int(c.idleFor(now)/time.Second), flags, a.queued,
		a.input, a.inputSpace, waiting, a.input+a.inputSpace+waiting, command, c.user.Load().Name, max(a.proto, 2), a.library, a.version)
}

// maxClientName bounds the name and the library that a client sets for itself.
const maxClientName = 1024

// plainName reports whether a name fits into a line of CLIENT LIST.
func plainName(name []byte) bool {
	return len(name) <= maxClientName && !strings.ContainsFunc(string(name), func(r rune) bool { return r < '!' || r > '~' })
}
