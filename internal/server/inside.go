package server

import (
	"context"
	"fmt"
	"net/http"

	"seen/internal/resp"
)

// An inside is a client without a connection: it runs commands for a request that
// came in another way, with the rights of a user. It is for one goroutine.
type inside struct{ conn *conn }

// newInside returns a client with the rights of a user that speaks version 3 of the
// protocol.
func (s *Server) newInside(u *user) *inside {
	c := &conn{server: s, life: s.cutting, budget: s.buffers.Holder(nil, nil)}
	c.authenticated.Store(true)
	c.work = s.store.NewWork(c.life)
	c.user.Store(u)
	c.out.Proto = 3
	c.call = call{conn: c, out: &c.out}
	return &inside{c}
}

// until has commands stop when ctx ends, and returns i.
func (i *inside) until(ctx context.Context) *inside {
	i.conn.life = ctx
	i.conn.work = i.conn.server.store.NewWork(ctx)
	return i
}

// ask runs one command and returns its reply, once what it shows is durable.
func (i *inside) ask(args ...[]byte) (resp.Value, error) {
	c := i.conn
	defer c.out.Reset(keepBuffer)
	c.batch = append(c.batch[:0], parsed{c.server.table.find(args), args})
	c.run()
	c.settle()
	v, n, err := resp.ParseReply(c.out.Bytes())
	if err == nil && n == 0 {
		err = fmt.Errorf("the command %q gave no reply", args[0])
	}
	return v, err
}

// speaker returns who speaks with a name and a password, or without them, or why
// nobody does. What it runs is stopped when the request ends.
func (s *Server) speaker(r *http.Request, name, password string, given bool) (speaker, error) {
	from := s.placeOfRequest(r)
	if given {
		u, err := s.acl.authenticate(r.Context(), name, []byte(password), from.key, from.far)
		if err != nil {
			return nil, err
		}
		return s.newInside(u).until(r.Context()), nil
	}
	switch {
	case !s.acl.open():
		return nil, errWrong
	case from.far:
		s.noteFar(r.RemoteAddr)
		return nil, errFar
	}
	return s.newInside(s.acl.nobody).until(r.Context()), nil
}
