package server

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seen/internal/resp"
	"seen/internal/store"
)

// eventually waits until something happens that must happen.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s has not happened", what)
		}
	}
}

func TestTooManyClients(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Clients = 2 })
	first, second := s.dial(t), s.dial(t)
	first.want("+PONG", "PING")
	second.want("+PONG", "PING")
	third := s.dial(t)
	if got := third.read().String(); got != "-ERR max number of clients reached" {
		t.Error(got)
	}
	third.wantClosed()
	if n := s.clients.rejected.Load(); n != 1 {
		t.Errorf("%d were rejected", n)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of a connection", func() bool { return s.clients.count() == 1 })
	s.dial(t).want("+PONG", "PING")
	first.want("+OK", "CONFIG", "SET", "maxclients", "1")
	if got := s.dial(t).read().String(); got != "-ERR max number of clients reached" {
		t.Error(got)
	}
}

func TestIdleClients(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Idle = time.Minute })
	idle, busy := s.dial(t), s.dial(t)
	idle.want("+PONG", "PING")
	s.clock.advance(50 * time.Second)
	busy.want("+PONG", "PING")
	s.clock.advance(20 * time.Second)
	eventually(t, "the end of the idle connection", func() bool { s.sweep(s.clock.Now()); return s.clients.count() == 1 })
	idle.wantClosed()
	busy.want("+PONG", "PING")
	busy.want("+OK", "CONFIG", "SET", "timeout", "0")
	s.clock.advance(time.Hour)
	s.sweep(s.clock.Now())
	busy.want("+PONG", "PING")
}

// A client may send all of a long pipeline before it reads the first reply.
func TestLongPipelineBeforeReading(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	const commands, size = 20_000, 1000 // far more than sockets hold
	one := resp.AppendCommand(nil, "ECHO", strings.Repeat("x", size))
	c.write(bytes.Repeat(one, commands))
	for i := range commands {
		if v := c.read(); len(v.Text) != size {
			t.Fatalf("reply %d has %d bytes", i, len(v.Text))
		}
	}
	if used := s.buffers.Used(); used > int64(keepBuffer) {
		t.Errorf("%d bytes of buffers are accounted for afterwards", used)
	}
}

// A client that never reads is disconnected when the waiting replies reach the limit, and
// its memory is freed.
func TestSlowReaderIsDropped(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Output = 1 << 20 })
	slow, other := s.dial(t), s.dial(t)
	one := bytes.Repeat(resp.AppendCommand(nil, "ECHO", strings.Repeat("x", 10_000)), 100)
	var err error
	for range 1000 {
		if _, err = slow.Write(one); err != nil {
			break
		}
	}
	if err == nil || !closedByPeer(err) {
		t.Errorf("after a gigabyte of unread replies: %v", err)
	}
	eventually(t, "the end of the connection", func() bool { return s.clients.count() == 1 || s.clients.count() == 0 })
	if n := s.clients.slow.Load(); n != 1 {
		t.Errorf("%d clients were dropped", n)
	}
	other.want("+PONG", "PING")
	eventually(t, "the return of all memory", func() bool { return s.buffers.Used() == 0 })
}

// A client that reads nothing for a long time is disconnected, even if little waits.
func TestStalledReaderIsDropped(t *testing.T) {
	s := start(t)
	stalled, other := s.dial(t), s.dial(t)
	one := bytes.Repeat(resp.AppendCommand(nil, "ECHO", strings.Repeat("x", 10_000)), 100)
	waiting := func() bool {
		for _, c := range s.clients.list() {
			if c.outlet.waiting() > 16<<20 { // more than the system takes
				return true
			}
		}
		return false
	}
	for !waiting() {
		stalled.write(one)
	}
	other.want("+PONG", "PING")
	s.clock.advance(59 * time.Second)
	s.sweep(s.clock.Now())
	if n := s.clients.slow.Load(); n != 0 {
		t.Fatalf("%d clients were dropped too early", n)
	}
	s.clock.advance(time.Minute)
	s.sweep(s.clock.Now())
	if n := s.clients.slow.Load(); n != 1 {
		t.Errorf("%d clients were dropped", n)
	}
	eventually(t, "the return of all memory", func() bool { return s.buffers.Used() == 0 })
	other.want("+PONG", "PING")
}

// One budget pays for all input; a client that sends too much gets an error.
func TestBuffersAreBounded(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Buffers = 100_000 })
	c := s.dial(t)
	c.write([]byte("*2\r\n$4\r\nECHO\r\n$500000\r\n"))
	// The server may close before it has read everything.
	_, _ = c.Write(make([]byte, 500_000))
	if v, err := c.next(); err == nil && !strings.HasPrefix(v.String(), "-ERR the buffers of all clients") {
		t.Error(v)
	}
	eventually(t, "the return of all memory", func() bool { return s.buffers.Used() == 0 })
	s.dial(t).want("+PONG", "PING")
}

// A buffer grows with received bytes, not with announced lengths, and shrinks again.
func TestInputBuffer(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.write([]byte("*2\r\n$4\r\nECHO\r\n$100000000\r\nabc"))
	other := s.dial(t)
	other.want("+PONG", "PING")
	if used := s.buffers.Used(); used != 0 {
		t.Errorf("an announcement costs %d bytes", used)
	}
	big := strings.Repeat("x", 10_000_000)
	if got := other.do("ECHO", big).Text; got != big {
		t.Errorf("%d bytes came back", len(got))
	}
	other.want("+PONG", "PING")
	other.want("+PONG", "PING")
	eventually(t, "the return of all memory", func() bool { return s.buffers.Used() == 0 })
}

func TestLimitsAreChecked(t *testing.T) {
	st := start(t).store
	for want, change := range map[string]func(*Config){
		"has no store":           func(c *Config) { c.Store = nil },
		"Clients is -1":          func(c *Config) { c.Limits.Clients = -1 },
		"Command.Bulk is -5":     func(c *Config) { c.Limits.Command.Bulk = -5 },
		`no setting "nosuch"`:    func(c *Config) { c.Settings = map[string]string{"nosuch": "1"} },
		"maxclients=0":           func(c *Config) { c.Settings = map[string]string{"maxclients": "0"} },
		"can't set immutable":    func(c *Config) { c.Settings = map[string]string{"databases": "2"} },
		"no such file":           func(c *Config) { c.ACLFile = filepath.Join(t.TempDir(), "missing") },
		"bf-error-rate=2: Value": func(c *Config) { c.Settings = map[string]string{"bf-error-rate": "2"} },
	} {
		c := Config{Store: st}
		change(&c)
		s, err := New(c)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err == nil {
			_ = s.Shutdown(context.Background())
		}
	}
	// The order of settings does not matter if one depends on another.
	s, err := New(Config{Store: st, Settings: map[string]string{"cf-initial-size": "4", "cf-bucket-size": "1", "bf-initial-size": "", "maxmemory": "1gb"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.settingsLike("cf-initial-size")); got != "[[cf-initial-size 4]]" || st.MaxMemory() != 1<<30 {
		t.Errorf("%s, %d", got, st.MaxMemory())
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// If the log cannot be written, each command gets an error, and replies that depend on it
// are not sent.
func TestRepliesThatCannotBeDurable(t *testing.T) {
	s := start(t)
	s.store.SetFsync(store.Always)
	end, socket := net.Pipe()
	defer end.Close()
	c := s.newConn(socket)
	defer c.cut()
	c.out.Int(1)
	c.lsn = s.store.Last() + 1_000_000
	c.note(answered{replies: 1}, 0)
	mark := c.out.Len()
	c.out.Array(2)
	c.out.OK()
	c.out.OK()
	c.note(answered{replies: 1, from: mark}, 0)
	c.replies = 2
	s.cutNow()
	flushed := make(chan bool)
	go func() { flushed <- c.flush() }()
	reader := &client{t: t, Conn: end}
	for range 2 {
		if got := reader.read().String(); !strings.HasPrefix(got, "-MISCONF the log cannot be written") {
			t.Error(got)
		}
	}
	if !<-flushed {
		t.Error("the connection is over")
	}
	if c.lsn != 0 || c.replies != 0 {
		t.Errorf("the next replies wait for %d, and %d are counted", c.lsn, c.replies)
	}
}
