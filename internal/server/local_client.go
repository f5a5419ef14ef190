package server

import (
	"context"
	"fmt"

	"seen/internal/resp"
	"seen/internal/server/acl"
)

// A localClient runs commands with the rights of a user for a request that did not come
// over a connection of the Redis protocol. It is for one goroutine.
type localClient struct{ conn *conn }

// newLocalClient returns a client with the rights of a user. Its replies are RESP3.
func (s *Server) newLocalClient(u *acl.User) *localClient {
	c := &conn{server: s, life: s.cutting, budget: s.buffers.Holder(nil, nil)}
	c.authenticated.Store(true)
	c.work = s.store.NewWork(c.life)
	c.user.Store(u)
	c.out.Proto = 3
	c.call = call{conn: c, out: &c.out}
	return &localClient{c}
}

// until makes commands stop when ctx ends. It returns l.
func (l *localClient) until(ctx context.Context) *localClient {
	l.conn.life = ctx
	l.conn.work = l.conn.server.store.NewWork(ctx)
	return l
}

// Ask runs one command and returns its reply once everything that it shows is durable.
func (l *localClient) Ask(args ...[]byte) (resp.Value, error) {
	c := l.conn
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
