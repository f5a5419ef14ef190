package server

import (
	"cmp"
	"fmt"
	"time"

	"seen/internal/resp"
	"seen/internal/store"
)

// Config says how a server behaves. The zero value of every field but Store is a
// default.
type Config struct {
	// Store holds the values. The server does not close it.
	Store *store.Store
	// Version is shown by INFO and HELLO.
	Version string
	// Password is the password of the default user; "" means that none is needed.
	Password string
	// ACLFile is the path of the users in the format of Redis; "" means that ACL SETUSER
	// makes the only users.
	ACLFile string
	// Insecure allows a server that other machines can use without a password.
	Insecure bool
	// Settings are initial values of settings of CONFIG SET, by name.
	Settings map[string]string
	Limits   Limits
	// Metrics collects what the server does; nil creates one that is shown over HTTP only.
	Metrics *Metrics
	// Events is called for events worth logging; pairs are names and values. Many
	// goroutines call it.
	Events func(level Level, message string, pairs ...any)
	// Stop is called by SHUTDOWN. It must lead to Shutdown and must not wait for it. If it
	// is nil, SHUTDOWN is refused.
	Stop func()
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Level is the importance of an event.
type Level int

// The levels have the numbers of log/slog.
const (
	Debug   Level = -4
	Info    Level = 0
	Warning Level = 4
	Failure Level = 8
)

// Limits limit what clients can use. 0 means the default.
type Limits struct {
	Clients  int           // connections at the same time; default 10000
	Each     int           // of Clients, and of HTTP, for one address; default nine tenths
	HTTP     int           // HTTP connections at the same time; default 1024
	Idle     time.Duration // how long a connection may send no command; default and < 0: no limit
	Stalled  time.Duration // how long a client may leave all replies unread; default 1 min
	Output   int           // bytes of replies that may wait for one client; default 256 MiB
	Buffers  int           // bytes of all buffers beyond the initial ones; default 1 GiB
	Pipeline int           // commands that are read from a connection before they run; default 1024
	Queued   int           // commands in a transaction; default 65536
	Command  resp.Limits   // default resp.DefaultLimits
}

// each returns how many of most connections one address may have.
func (l Limits) each(most int) int {
	if l.Each > 0 {
		return l.Each
	}
	return max(1, most-most/10)
}

func (c Config) complete() (Config, error) {
	if c.Store == nil {
		return c, fmt.Errorf("the configuration has no store; open one with store.Open")
	}
	if c.Events == nil {
		c.Events = func(Level, string, ...any) {}
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(c.Version)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	l := &c.Limits
	for _, limit := range []struct {
		name  string
		value *int
		def   int
	}{
		{"Clients", &l.Clients, 10000},
		{"HTTP", &l.HTTP, 1024},
		{"Output", &l.Output, 256 << 20},
		{"Buffers", &l.Buffers, 1 << 30},
		{"Pipeline", &l.Pipeline, 1024},
		{"Queued", &l.Queued, 65536},
		{"Command.Args", &l.Command.Args, resp.DefaultLimits.Args},
		{"Command.Bulk", &l.Command.Bulk, resp.DefaultLimits.Bulk},
		{"Command.Inline", &l.Command.Inline, resp.DefaultLimits.Inline},
		{"Command.Total", &l.Command.Total, resp.DefaultLimits.Total},
	} {
		if *limit.value < 0 {
			return c, fmt.Errorf("the limit %s is %d; it must be positive, or 0 for %d", limit.name, *limit.value, limit.def)
		}
		*limit.value = cmp.Or(*limit.value, limit.def)
	}
	if l.Each < 0 {
		return c, fmt.Errorf("the limit Each is %d; it must be positive, or 0 for nine tenths of all", l.Each)
	}
	l.Stalled = cmp.Or(l.Stalled, time.Minute)
	return c, nil
}
