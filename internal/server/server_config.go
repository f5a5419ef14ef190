package server

import (
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
	// Version is what INFO and HELLO tell.
	Version string
	// Password is that of the user default; "" leaves that user open to everybody.
	Password string
	// ACLFile holds the users, in the form of Redis' ACL files; "" means that there
	// are only those made by ACL SETUSER.
	ACLFile string
	// Insecure allows a server that everybody can reach and use.
	Insecure bool
	// Settings are the values that CONFIG SET could give, by name.
	Settings map[string]string
	Limits   Limits
	// Metrics gathers what the server does; nil makes some that nobody sees but
	// HTTP.
	Metrics *Metrics
	// Events is told what is worth a line in a log; pairs are names and values.
	// It is called by many goroutines.
	Events func(level Level, message string, pairs ...any)
	// Stop is called by the command SHUTDOWN; it has to lead to Shutdown, and must
	// not wait for it. A server without it refuses the command.
	Stop func()
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Level says how much an event matters.
type Level int

// The levels, with the numbers of log/slog.
const (
	Debug   Level = -4
	Info    Level = 0
	Warning Level = 4
	Failure Level = 8
)

// Limits bound what clients can take. 0 stands for the default.
type Limits struct {
	Clients  int           // connections at the same time; default 10000
	Each     int           // of those of one address, and of HTTP; default nine tenths of all
	HTTP     int           // connections of HTTP at the same time; default 1024
	Idle     time.Duration // a connection without a command for so long is closed; default and < 0: never
	Stalled  time.Duration // a client that takes nothing of its replies for so long is dropped; default 1 min
	Output   int           // bytes of replies that wait for a client before it is dropped; default 256 MiB
	Buffers  int           // bytes of the buffers of all connections beyond what each has from the start; default 1 GiB
	Pipeline int           // commands that are taken from a connection before they are answered; default 1024
	Queued   int           // commands in a transaction; default 65536
	Command  resp.Limits   // default resp.DefaultLimits
}

// each returns how many of so many connections may be of one address.
func (l Limits) each(most int) int {
	if l.Each > 0 {
		return l.Each
	}
	return max(1, most-most/10)
}

// complete returns the configuration with its defaults filled in.
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
		if *limit.value == 0 {
			*limit.value = limit.def
		}
	}
	if l.Each < 0 {
		return c, fmt.Errorf("the limit Each is %d; it must be positive, or 0 for nine tenths of all", l.Each)
	}
	if l.Stalled == 0 {
		l.Stalled = time.Minute
	}
	return c, nil
}
