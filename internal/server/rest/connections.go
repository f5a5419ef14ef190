package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"seen/internal/fair"
)

const (
	// reservedHTTP is how many connections beyond the limit are accepted when no other
	// connection can be closed for them. They get only health and metrics.
	reservedHTTP = 16
	// headerPatience is how long a client may take to send the header of a request before
	// another client can take its place.
	headerPatience = 2 * time.Second
)

// A Server answers HTTP requests on any number of listeners. The number of connections is
// limited; when there are too many, idle and slow ones are closed.
type Server struct {
	Limits
	http    *http.Server
	places  *fair.Places
	reserve *fair.Places
}

// Limits bound the connections of a Server.
type Limits struct {
	Most int // connections at the same time
	Each int // connections of one address at the same time
	// Open reports whether the server can be used without a password.
	Open func() bool
	// Rejected is called for each connection beyond the limit, and Evicted for each
	// that is closed to make room for another.
	Rejected, Evicted func()
	// Now is the clock.
	Now func() time.Time
}

// NewServer returns a server that answers with next. It uses the ErrorLog of server and
// sets all its other fields.
func NewServer(server *http.Server, next http.Handler, l Limits) *Server {
	h := &Server{Limits: l, http: server, places: fair.NewPlaces(l.Most, l.Each), reserve: fair.NewPlaces(reservedHTTP, 0)}
	server.Handler = h.watch(next)
	server.ReadHeaderTimeout, server.ReadTimeout = 10*time.Second, 5*time.Minute
	server.WriteTimeout, server.IdleTimeout = 5*time.Minute, 2*time.Minute
	server.MaxHeaderBytes = 32 << 10
	server.ConnState = func(socket net.Conn, state http.ConnState) { connOf(socket).state(state) }
	server.ConnContext = func(ctx context.Context, socket net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, connOf(socket))
	}
	return h
}

// Serve accepts connections from l until Shutdown, and then returns nil. It uses TLS if
// config is not nil. It closes l.
func (h *Server) Serve(l net.Listener, config *tls.Config) error {
	l = &listener{l, h}
	if config != nil {
		l = tls.NewListener(l, config) // outermost: net/http checks the type of the connection to detect TLS
	}
	if err := h.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown accepts no more connections and waits for running requests.
func (h *Server) Shutdown(ctx context.Context) error { return h.http.Shutdown(ctx) }

// Close closes all connections at once.
func (h *Server) Close() error { return h.http.Close() }

// listener accepts connections that have a place.
type listener struct {
	net.Listener
	server *Server
}

// Accept returns the next connection that gets a place.
func (l *listener) Accept() (net.Conn, error) {
	for {
		socket, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.server.admit(socket); c != nil {
			return c, nil
		}
		_ = socket.Close() // all places are taken by clients that are being served
	}
}

// admit gives a connection a place or, if there is no place, a reserved one. It returns
// nil if both are used up.
func (h *Server) admit(socket net.Conn) *conn {
	c := &conn{Conn: socket, server: h}
	now := h.Now()
	c.began.Store(now.UnixNano())
	key := fair.Key(socket.RemoteAddr())
	var err error
	if c.place, err = h.places.Take(key, c, now); err == nil {
		return c
	}
	h.Rejected()
	c.reserved = true
	if c.place, err = h.reserve.Take(key, c, now); err != nil {
		return nil
	}
	return c
}

// conn is an HTTP connection. Many goroutines use its atomic fields.
type conn struct {
	net.Conn
	server   *Server
	place    *fair.Place
	reserved bool // has a reserved place

	began   atomic.Int64 // when the connection, the wait for a request, or the request began, in Unix nanoseconds
	idle    atomic.Bool  // waits for another request
	active  atomic.Bool  // a request is being answered
	known   atomic.Bool  // the client has logged in, or does not have to
	body    atomic.Int64 // readers that wait for the body of the request
	bytes   atomic.Int64 // bytes of the body so far
	writing atomic.Int64 // when the current write began, in Unix nanoseconds; 0: no write
}

type connKey struct{}

// connOf returns the connection below TLS.
func connOf(socket net.Conn) *conn {
	if secured, ok := socket.(*tls.Conn); ok {
		socket = secured.NetConn()
	}
	return socket.(*conn)
}

func (c *conn) state(state http.ConnState) {
	switch state {
	case http.StateNew, http.StateIdle, http.StateActive:
		c.began.Store(c.server.Now().UnixNano())
		c.bytes.Store(0)
		c.idle.Store(state == http.StateIdle)
		c.active.Store(state == http.StateActive)
	}
}

// Write writes to the client and notes for how long that takes.
func (c *conn) Write(b []byte) (int, error) {
	c.writing.Store(c.server.Now().UnixNano())
	defer c.writing.Store(0)
	return c.Conn.Write(b)
}

// Close closes the connection and gives its place back.
func (c *conn) Close() error {
	c.place.Leave()
	return c.Conn.Close()
}

// Waits reports for how long the connection has been idle or its client slow. An idle
// connection is always overdue: clients expect that it may be closed.
func (c *conn) Waits(now time.Time) (since time.Duration, overdue, ok bool) {
	since = now.Sub(time.Unix(0, c.began.Load()))
	if at := c.writing.Load(); at != 0 {
		stalled := now.Sub(time.Unix(0, at))
		return stalled, stalled >= fair.Patience, true
	}
	switch {
	case c.reserved, c.idle.Load():
		return since, true, true
	case !c.active.Load():
		return since, since >= headerPatience, true
	case c.body.Load() > 0:
		return since, fair.Slow(since, c.bytes.Load()), true
	}
	return since, false, false
}

// Known reports whether the client has logged in, or does not have to.
func (c *conn) Known() bool { return c.known.Load() || c.server.Open() }

// Evict closes the connection because its place is needed.
func (c *conn) Evict() {
	c.server.Evicted()
	_ = c.Conn.Close() // an error changes nothing: the place is free
}

// watch notes when requests wait for their bodies, and answers only health and metrics on
// reserved connections.
func (h *Server) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(*conn)
		if !ok {
			next.ServeHTTP(out, r)
			return
		}
		if c.reserved {
			out.Header().Set("Connection", "close")
			if !reservedPaths[r.URL.Path] {
				out.Header().Set("Retry-After", "1")
				plain(out, http.StatusServiceUnavailable, "too many connections: only health and metrics are available")
				return
			}
		}
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &watchedBody{r.Body, c}
		}
		next.ServeHTTP(out, r)
	})
}

// reservedPaths are answered on reserved connections.
var reservedPaths = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// watchedBody is a request body that notes in its connection when it is being read.
type watchedBody struct {
	io.ReadCloser
	conn *conn
}

func (w *watchedBody) Read(b []byte) (int, error) {
	w.conn.body.Add(1)
	defer w.conn.body.Add(-1)
	n, err := w.ReadCloser.Read(b)
	w.conn.bytes.Add(int64(n))
	return n, err
}

// A guest is a running request, which can lose its place to another.
type guest struct {
	out  http.ResponseWriter
	conn *conn // nil in a test without connections
}

// guestOf returns the guest of a request.
func guestOf(out http.ResponseWriter, r *http.Request) *guest {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return &guest{out, c}
}

// Waits reports for how long the client of a request has been slow, and whether that is
// too long. ok is false while the client is not slow.
func Waits(r *http.Request, now time.Time) (since time.Duration, overdue, ok bool) {
	return guestOf(nil, r).Waits(now)
}

// Waits reports for how long the client has been slow.
func (g *guest) Waits(now time.Time) (since time.Duration, overdue, ok bool) {
	if g.conn == nil {
		return 0, false, false
	}
	return g.conn.Waits(now)
}

// Known returns true: a request gets a place only after its log-in.
func (g *guest) Known() bool { return true }

// Evict makes reads and writes of the request fail, so that it ends.
func (g *guest) Evict() {
	past, control := time.Unix(1, 0), http.NewResponseController(g.out)
	if control.SetReadDeadline(past) != nil || g.conn != nil && g.conn.writing.Load() != 0 { // the client may have gone
		_ = control.SetWriteDeadline(past) // a recorder in a test has none
	}
}
