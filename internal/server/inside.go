package server

import (
	"fmt"

	"seen/internal/resp"
)

// An inside is a client without a connection: it runs commands for a request that
// came in another way, with the rights of a user. It is for one goroutine.
type inside struct{ conn *conn }

// newInside returns a client with the rights of a user that speaks version 3 of the
// protocol.
func (s *Server) newInside(u *user) *inside {
	c := &conn{server: s, authenticated: true}
	c.user.Store(u)
	c.out.Proto = 3
	c.call = call{conn: c, out: &c.out}
	return &inside{c}
}

// ask runs one command and returns its reply, once what it shows is durable.
func (i *inside) ask(args ...[]byte) (resp.Value, error) {
	c := i.conn
	defer c.out.Reset(keepBuffer)
	c.batch = append(c.batch[:0], parsed{c.server.table.find(args), args})
	c.run()
	if err := c.settle(); err != nil {
		return resp.Value{}, fmt.Errorf("the log cannot be written, so that the outcome is not known: %w", err)
	}
	v, n, err := resp.ParseReply(c.out.Bytes())
	if err == nil && n == 0 {
		err = fmt.Errorf("the command %q gave no reply", args[0])
	}
	return v, err
}

// speaker returns who speaks with a name and a password, or without them; nil if
// they are wrong.
func (s *Server) speaker(name, password string, given bool) speaker {
	u := s.acl.nobody
	if given {
		u = s.acl.authenticate(name, []byte(password))
	} else if !s.acl.open() {
		u = nil
	}
	if u == nil {
		return nil
	}
	return s.newInside(u)
}
