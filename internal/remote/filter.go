package remote

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"seen/bloom"
	"seen/cluster"
)

// Config says which filter to open, and how to ask it.
type Config struct {
	// WindowConfig describes the filter to open or create: a window if it has a Span.
	// With Capacity 0 the filter must exist; it is opened whether it is a window or not.
	cluster.WindowConfig
	// Timeout is how long a call may take.
	Timeout time.Duration
}

// Filter is an open filter on other machines: in engines of Redis or Valkey, or in a
// server that has the BF commands. It may be used by several goroutines.
type Filter struct {
	// Label is the address without a login, for messages.
	Label string
	// Timeout is how long a call may take.
	Timeout time.Duration
	// Fleet is the filter in engines, nil if it is in a server.
	Fleet Fleet
	// Server is the filter in a server, nil if it is in engines.
	Server *cluster.ServerFilter

	// Window is how long a window in engines remembers a key, 0 for a filter.
	Window time.Duration

	client Client
}

// Fleet is a [cluster.Filter] or a [cluster.Window].
type Fleet interface {
	Hash() bloom.Hash
	AddHashes(ctx context.Context, hs []uint64) ([]bool, error)
	HasHashes(ctx context.Context, hs []uint64) ([]bool, error)
	Stats(ctx context.Context) (cluster.Stats, error)
	ErrorRate(ctx context.Context) (now, surely, asked float64, err error)
	Trace(ctx context.Context, h uint64) ([]cluster.Trace, error)
}

// Open connects to an address and opens the filter there, or creates it. The caller closes
// the filter.
func Open(ctx context.Context, at Address, c Config) (*Filter, error) {
	client, err := at.Dial()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	f := &Filter{Label: at.String(), Timeout: c.Timeout, client: client}
	if at.Server {
		f.Server, err = cluster.OpenServer(ctx, client, at.Name, cluster.ServerConfig{Capacity: c.Capacity, ErrorRate: c.ErrorRate})
	} else {
		err = f.openFleet(ctx, at.Name, c)
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return f, nil
}

func (f *Filter) openFleet(ctx context.Context, name string, c Config) error {
	if c.Span == 0 {
		filter, err := cluster.Open(ctx, f.client, name, c.WindowConfig.Config)
		if err == nil {
			f.Fleet = filter
			return nil
		}
		other, ok := errors.AsType[*cluster.ParameterError](err)
		if c.Capacity != 0 || !ok || other.Parameter != "Kind" {
			return err
		}
	}
	window, err := cluster.OpenWindow(ctx, f.client, name, c.WindowConfig)
	if err == nil {
		f.Fleet, f.Window = window, window.Span()
	}
	return err
}

// Close ends the connection.
func (f *Filter) Close() { f.client.Close() }

// Hash returns the hash for the keys of a run: that of the filter or, since a server
// hashes by itself, a random one for a filter in a server.
func (f *Filter) Hash() bloom.Hash {
	if f.Fleet == nil {
		return bloom.RandomHash()
	}
	return f.Fleet.Hash()
}

// ask returns the function that asks about a batch, or with adds adds it.
func (f *Filter) ask(adds bool) func(ctx context.Context, q questions) ([]bool, []int, error) {
	return func(ctx context.Context, q questions) ([]bool, []int, error) {
		ctx, cancel := context.WithTimeout(ctx, f.Timeout)
		defer cancel()
		answers, err := f.call(ctx, q, adds)
		if undecided, ok := errors.AsType[*cluster.UndecidedError](err); ok {
			return answers, undecided.Keys, undecided
		}
		return answers, nil, err
	}
}

func (f *Filter) call(ctx context.Context, q questions, adds bool) ([]bool, error) {
	switch {
	case f.Server != nil && adds:
		return f.Server.Add(ctx, q.Keys...)
	case f.Server != nil:
		return f.Server.Has(ctx, q.Keys...)
	case adds:
		return f.Fleet.AddHashes(ctx, q.Hashes)
	}
	return f.Fleet.HasHashes(ctx, q.Hashes)
}

// ServerPort is the port of "seen serve".
const ServerPort = "6380"

// ParseServerAddress reads the address of a server that has the BF commands: one for
// ParseAddress, or HOST[:PORT][/NAME], whose default port is that of "seen serve".
func ParseServerAddress(text string) (Address, error) {
	if !IsAddress(text) {
		end := strings.IndexAny(text, "/?")
		if end < 0 {
			end = len(text)
		}
		host, rest := text[:end], text[end:]
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), ServerPort)
		}
		text = "redis://" + host + rest
	}
	at, err := ParseAddress(text)
	at.Server = true
	return at, err
}
