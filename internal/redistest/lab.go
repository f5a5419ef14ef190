package redistest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
)

// A Lab holds the engines that the tests of one package share. The zero value
// has none; each is started by the first test that asks for it. TestMain runs the
// tests through it:
//
//	var lab redistest.Lab
//
//	func TestMain(m *testing.M) { os.Exit(lab.Run(m, os.Stderr)) }
//
// Tests choose names of their own for what they keep in shared engines, and leave
// the engines whole.
type Lab struct {
	mu      sync.Mutex
	dir     string
	server  *Server
	seen    *Server
	pair    *Pair
	cluster *Cluster
}

// Run runs the tests, stops the engines and removes their folders; what goes
// wrong with that it writes to stderr. It returns the code to exit with.
func (l *Lab) Run(m *testing.M, stderr io.Writer) int {
	code := m.Run()
	if err := l.stop(); err != nil {
		fmt.Fprintln(stderr, err)
		return max(code, 1)
	}
	return code
}

func (l *Lab) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*Server
	for _, s := range []*Server{l.server, l.seen} {
		if s != nil {
			all = append(all, s)
		}
	}
	if l.pair != nil {
		all = append(all, l.pair.all()...)
	}
	if l.cluster != nil {
		all = append(all, l.cluster.Nodes...)
	}
	err := stop(all)
	if l.dir != "" {
		err = errors.Join(err, os.RemoveAll(l.dir))
	}
	return err
}

// needed skips a test of engines where only quick tests run (go test -short).
func needed(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts an engine")
	}
}

// shared returns what have points to, made by the first who asks.
func shared[T any](tb testing.TB, l *Lab, have **T, start func(dir string, config ...string) (*T, error), servers func(*T) []*Server) *T {
	tb.Helper()
	needed(tb)
	l.mu.Lock()
	defer l.mu.Unlock()
	if *have == nil {
		if l.dir == "" {
			dir, err := os.MkdirTemp("", "seen-redistest-")
			if err != nil {
				tb.Fatal(err)
			}
			l.dir = dir
		}
		made, err := start(l.dir)
		if err != nil {
			tb.Fatal(err)
		}
		*have = made
	}
	logOnFailure(tb, servers(*have))
	return *have
}

// Server returns the package's single server.
func (l *Lab) Server(tb testing.TB) *Server {
	tb.Helper()
	return shared(tb, l, &l.server, Start, func(s *Server) []*Server { return []*Server{s} })
}

// Pair returns the package's primary, replica and Sentinel.
func (l *Lab) Pair(tb testing.TB) *Pair {
	tb.Helper()
	return shared(tb, l, &l.pair, StartPair, (*Pair).all)
}

// Cluster returns the package's Redis Cluster.
func (l *Lab) Cluster(tb testing.TB) *Cluster {
	tb.Helper()
	return shared(tb, l, &l.cluster, StartCluster, func(c *Cluster) []*Server { return c.Nodes })
}

// NewServer starts a server for one test, which stops it.
func NewServer(tb testing.TB, config ...string) *Server {
	tb.Helper()
	needed(tb)
	s, err := Start(tb.TempDir(), config...)
	if err != nil {
		tb.Fatal(err)
	}
	owned(tb, s)
	return s
}

// NewPair starts a primary, a replica and a Sentinel for one test, which stops
// them.
func NewPair(tb testing.TB, config ...string) *Pair {
	tb.Helper()
	needed(tb)
	p, err := StartPair(tb.TempDir(), config...)
	if err != nil {
		tb.Fatal(err)
	}
	owned(tb, p.all()...)
	return p
}

// NewCluster starts a Redis Cluster for one test, which stops it.
func NewCluster(tb testing.TB, config ...string) *Cluster {
	tb.Helper()
	needed(tb)
	c, err := StartCluster(tb.TempDir(), config...)
	if err != nil {
		tb.Fatal(err)
	}
	owned(tb, c.Nodes...)
	return c
}

func owned(tb testing.TB, servers ...*Server) {
	tb.Helper()
	tb.Cleanup(func() {
		if err := stop(servers); err != nil {
			tb.Error(err)
		}
	})
	logOnFailure(tb, servers)
}

// logOnFailure shows what the engines said when the test has failed.
func logOnFailure(tb testing.TB, servers []*Server) {
	tb.Helper()
	tb.Cleanup(func() {
		if tb.Failed() {
			for _, s := range servers {
				tb.Log(s.Log())
			}
		}
	})
}
