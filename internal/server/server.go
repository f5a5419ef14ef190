package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"seen/internal/fair"
	"seen/internal/server/acl"
	"seen/internal/server/dashboard"
	"seen/internal/store"
)

// A Server serves clients on any number of listeners. New creates one.
type Server struct {
	config  Config
	store   *store.Store
	table   *table
	filters atomic.Pointer[filterDefaults]
	began   time.Time
	runID   string

	acl       *acl.Users
	errors    errorStats
	slowLog   slowLog
	dashboard *dashboard.Dashboard

	received, sent atomic.Int64 // bytes

	configuring sync.Mutex   // held by CONFIG SET
	maxClients  atomic.Int64 // settings that can change
	idleLimit   atomic.Int64 // nanoseconds; 0: none

	wasOpen atomic.Bool  // after the last change of the users, the default user needed no password
	lastFar atomic.Int64 // when the last refused client was logged

	buffers *fair.Budget // bytes of buffers beyond the initial ones of each connection
	clients clients

	mu        sync.Mutex
	listeners map[net.Listener]bool
	tcpPort   int             // of the first TCP listener
	stopping  chan struct{}   // closed when Shutdown begins
	cutting   context.Context // ends when Shutdown stops waiting
	cutNow    func()
	running   sync.WaitGroup // connections and background work
}

// New returns a server without listeners. Call Shutdown to end it, even if it never
// served.
func New(c Config) (*Server, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:    c,
		store:     c.Store,
		table:     newTable(),
		began:     c.Now(),
		runID:     randomID(),
		listeners: map[net.Listener]bool{},
		stopping:  make(chan struct{}),
	}
	s.acl = acl.NewUsers(&s.table.acl, c.Password, c.ACLFile, c.Now)
	s.acl.TryAtOnce(max(2, runtime.GOMAXPROCS(0)))
	s.slowLog.init()
	s.maxClients.Store(int64(c.Limits.Clients))
	s.idleLimit.Store(int64(max(c.Limits.Idle, 0)))
	ctx, cut := context.WithCancelCause(context.Background())
	s.cutting, s.cutNow = ctx, func() { cut(errEnding) }
	settings := initialFilterDefaults()
	s.filters.Store(&settings)
	s.buffers = fair.NewBudget(int64(c.Limits.Buffers))
	s.clients.init(c.Limits.Clients, c.Limits.each(c.Limits.Clients))
	s.dashboard = dashboard.New(dashboard.Config{
		Store: s.store, Users: pageUsers{s}, Ending: s.stopping, Now: c.Now,
		Warn: func(message string, pairs ...any) { s.event(Warning, message, pairs...) },
	})
	if err := s.ReloadACL(); err != nil {
		return nil, err
	}
	if err := s.preset(c.Settings); err != nil {
		return nil, err
	}
	s.wasOpen.Store(s.acl.Open())
	s.acl.Changed = s.usersChanged
	s.running.Go(s.watch)
	return s, nil
}

func (s *Server) preset(values map[string]string) error {
	return presetWith(values, func(name, value string) string {
		_, problem := s.configure([]change{{name, value}})
		return problem
	})
}

// CheckFilterSettings returns the error that New would return for the settings of new
// filters.
func CheckFilterSettings(values map[string]string) error {
	s := initialFilterDefaults()
	return presetWith(values, func(name, value string) (problem string) {
		s, problem = s.set(name, value)
		return problem
	})
}

// presetWith sets each of the values; "" means the default. The limits of a setting can
// depend on another setting, so wrong values are tried again after the others.
func presetWith(values map[string]string, set func(name, value string) (problem string)) error {
	left := slices.Sorted(maps.Keys(values))
	for {
		var again []string
		var wrong error
		for _, name := range left {
			if values[name] == "" {
				continue
			}
			if !isSetting(name) {
				return fmt.Errorf("there is no setting %q", name)
			}
			if problem := set(name, values[name]); problem != "" {
				again = append(again, name)
				wrong = fmt.Errorf("the setting %s=%s: %s", name, values[name], problem)
			}
		}
		if len(again) == 0 || len(again) == len(left) {
			return wrong
		}
		left = again
	}
}

// event reports an event to the owner of the server.
func (s *Server) event(level Level, message string, pairs ...any) {
	s.config.Events(level, message, pairs...)
}

// Serve accepts connections from l until Shutdown and then returns nil. It closes l. A
// listener that other machines can reach is refused while no password is required, unless
// the configuration allows an insecure server. Later every connection is checked: see
// local_only.go.
func (s *Server) Serve(l net.Listener) error {
	if a := l.Addr(); !fair.Local(a) && s.acl.Open() && !s.config.Insecure {
		_ = l.Close() // it was never used
		return fmt.Errorf("other machines can reach %s, and the default user needs no password; set one, ask for certificates of clients, "+
			"listen on 127.0.0.1, or allow it as insecure", a)
	}
	return s.serve(l, nil)
}

// ServeTLS is Serve with TLS. l itself must not use TLS: then the server decides what
// happens when a client does not read its replies. The configuration decides who may
// connect and may change per connection (GetConfigForClient).
func (s *Server) ServeTLS(l net.Listener, config *tls.Config) error { return s.serve(l, config) }

// serve accepts connections, with TLS if config is not nil.
func (s *Server) serve(l net.Listener, config *tls.Config) error {
	s.mu.Lock()
	if s.closing() {
		s.mu.Unlock()
		_ = l.Close() // it was never used
		return nil
	}
	s.listeners[l] = true
	if a, ok := l.Addr().(*net.TCPAddr); ok && s.tcpPort == 0 {
		s.tcpPort = a.Port
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
		_ = l.Close() // Shutdown may have closed it
	}()
	pause := time.Duration(0)
	for {
		socket, err := l.Accept()
		if err == nil {
			pause = 0
			s.welcome(socket, config)
			continue
		}
		if s.closing() {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("the listener %s was closed: %w", l.Addr(), err)
		}
		// Too many open files, or the client is gone: the next attempt may succeed.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.event(Warning, "accepting a connection failed", "listener", l.Addr().String(), "error", err.Error())
		select {
		case <-time.After(pause):
		case <-s.stopping:
			return nil
		}
	}
}

// welcome starts a connection on a socket or rejects it.
func (s *Server) welcome(socket net.Conn, config *tls.Config) {
	c := s.newConn(socket)
	if config != nil {
		c.tls = tls.Server(c.outlet, config)
		c.socket = c.tls
	}
	if err := s.clients.add(c, s.config.Now()); err != nil {
		// The socket is new: its buffer has room for these bytes.
		text := "-ERR max number of clients reached\r\n"
		if err == fair.ErrAddress {
			text = "-ERR max number of clients of one address reached\r\n"
		}
		_, _ = c.outlet.Write([]byte(text)) // the client may have gone
		c.cut()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing() {
		s.clients.remove(c)
		c.cut()
		return
	}
	s.running.Go(c.serve)
}

func (s *Server) closing() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// Shutdown stops the server: it accepts no more connections and commands, lets running
// commands finish, sends their replies and closes all connections. If ctx ends first, it
// closes connections, stops running commands and returns the error of ctx. It does not
// wait for commands that cannot be stopped at once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing() {
		close(s.stopping)
	}
	for l := range s.listeners {
		_ = l.Close() // Serve reports what matters
	}
	s.mu.Unlock()
	for _, c := range s.clients.list() {
		c.drain()
	}
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.cutNow()
		return nil
	case <-ctx.Done():
	}
	s.cutNow()
	for _, c := range s.clients.list() {
		c.cut()
	}
	select {
	case <-done:
	case <-time.After(stopTime):
		s.event(Warning, "some commands cannot be stopped and are still running", "connections", s.clients.count())
	}
	return ctx.Err()
}

const (
	// goneAfter is how long a command runs before the server checks whether its client has
	// closed the connection.
	goneAfter = 500 * time.Millisecond
	// halfGoneAfter is how long a command runs for a client that has closed its sending
	// side and may still read, as nc -N does. A client that has exited looks the same.
	halfGoneAfter = 15 * time.Second
)

// stopTime is how long Shutdown waits for commands to stop after its context has ended.
const stopTime = 100 * time.Millisecond

// errEnding is why commands stop when Shutdown stops waiting.
var errEnding = errors.New("the server is shutting down")

// watch closes connections that are idle or stalled for too long.
func (s *Server) watch() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.sweep(s.config.Now())
			s.dashboard.Keep()
		case <-s.stopping:
			return
		}
	}
}

func (s *Server) sweep(now time.Time) {
	limits, idle := s.config.Limits, time.Duration(s.idleLimit.Load())
	for _, c := range s.clients.list() {
		switch {
		case idle > 0 && c.idleFor(now) > idle:
			c.cut()
		case c.outlet.gone(c.busyFor(now)):
			c.cut()
		case limits.Stalled > 0 && c.outlet.stalledFor(now) > limits.Stalled:
			s.event(Warning, "a client that does not read its replies was disconnected", "client", c.socket.RemoteAddr().String())
			s.clients.slow.Add(1)
			c.cut()
		}
	}
}

// setMaxClients changes the limit of connections. Existing connections stay open.
func (s *Server) setMaxClients(n int64) {
	s.maxClients.Store(n)
	s.clients.places.Limit(int(n), s.config.Limits.each(int(n)))
}
