package server

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"seen/internal/resp"
	"seen/internal/store"
)

// The tools of the command tests: servers on a free loopback port with their own store,
// clients, and transcripts.

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Goroutines of a database after a failure, which must not continue.
		goleak.IgnoreAnyFunction("seen/internal/store.(*database).Fatalf"))
}

var rewriteTranscripts = flag.Bool("rewrite", false, "write the transcripts anew, with the replies as they are")

// patience is how long a test waits; it does not affect results.
const patience = time.Minute

// testServer is a running server.
type testServer struct {
	*Server
	address string
	clock   *testClock
}

// testClock moves only when a test moves it.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// start starts a server with its own store; change may alter its configuration first.
func start(t testing.TB, change ...func(*Config)) *testServer {
	t.Helper()
	clock := &testClock{now: time.Date(2024, 5, 17, 12, 0, 0, 0, time.UTC)}
	dir := t.TempDir()
	// With the same secret in every run, filters have the same false positives.
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("a secret of 16 B"), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(dir, store.Options{Fsync: store.Never, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Store: st, Version: "0.0.0", Now: clock.Now}
	for _, f := range change {
		f(&config)
	}
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return &testServer{Server: s, address: l.Addr().String(), clock: clock}
}

// client is a connection to a server.
type client struct {
	t testing.TB
	net.Conn
	buf []byte
}

func dial(t testing.TB, network, address string) *client {
	t.Helper()
	socket, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() }) // the test may have closed it
	return &client{t: t, Conn: socket}
}

func (s *testServer) dial(t testing.TB) *client {
	t.Helper()
	return dial(t, "tcp", s.address)
}

// do sends a command and returns the reply.
func (c *client) do(args ...string) resp.Value {
	c.t.Helper()
	c.send(args...)
	return c.read()
}

// send sends a command.
func (c *client) send(args ...string) {
	c.t.Helper()
	c.write(resp.AppendCommand(nil, args...))
}

// write sends bytes.
func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// read returns the next reply.
func (c *client) read() resp.Value {
	c.t.Helper()
	v, err := c.next()
	if err != nil {
		c.t.Fatal(err)
	}
	return v
}

// next returns the next reply or an error.
func (c *client) next() (resp.Value, error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return resp.Value{}, err
	}
	for {
		v, n, err := resp.ParseReply(c.buf)
		if n > 0 || err != nil {
			c.buf = c.buf[n:]
			return v, err
		}
		var more [16 << 10]byte
		n, err = c.Read(more[:])
		c.buf = append(c.buf, more[:n]...)
		if n == 0 && err != nil {
			return resp.Value{}, err
		}
	}
}

// want sends a command and compares the reply, as resp.Value prints it.
func (c *client) want(reply string, args ...string) {
	c.t.Helper()
	if got := c.do(args...).String(); got != reply {
		c.t.Errorf("%.200q\n got %.1000s\nwant %s", args, got, reply)
	}
}

// wantClosed expects that the server has closed the connection.
func (c *client) wantClosed() {
	c.t.Helper()
	if v, err := c.next(); err == nil {
		c.t.Errorf("there is a reply: %v", v)
	} else if !closedByPeer(err) {
		c.t.Errorf("the connection is not closed: %v", err)
	}
}

func closedByPeer(err error) bool {
	return err == io.EOF || strings.Contains(err.Error(), "connection reset") || strings.Contains(err.Error(), "broken pipe")
}

// transcript plays the commands of a file in testdata, in both versions of the
// protocol on a server each, and compares the replies with those that stand below
// each. The lines of a file are
//
//	> BF.ADD k a        a command, as of an inline request
//	b> PING             a command of another connection, called b
//	@advance 10s        the clock moves
//	= +OK               the reply in both versions
//	2 :1                the reply in version 2
//	3 #t                the reply in version 3
//	# anything          a comment; empty lines mean nothing
//
// Ports of the loopback read as PORT.
//
// Run the test with -rewrite to write what the server says now.
func transcript(t *testing.T, name string, change ...func(*Config)) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	two := playTranscript(t, string(text), 2, change...)
	three := playTranscript(t, string(text), 3, change...)
	var got strings.Builder
	at := 0
	for line := range strings.Lines(string(text)) {
		if isReply(line) {
			continue
		}
		got.WriteString(line)
		if _, _, ok := commandLine(line); !ok {
			continue
		}
		if two[at] == three[at] {
			fmt.Fprintf(&got, "= %s\n", two[at])
		} else {
			fmt.Fprintf(&got, "2 %s\n3 %s\n", two[at], three[at])
		}
		at++
	}
	if *rewriteTranscripts {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func isReply(line string) bool {
	return strings.HasPrefix(line, "= ") || strings.HasPrefix(line, "2 ") || strings.HasPrefix(line, "3 ")
}

// commandLine splits a line of a transcript into the name of a connection and its
// command.
func commandLine(line string) (who, command string, ok bool) {
	who, command, ok = strings.Cut(strings.TrimSuffix(line, "\n"), "> ")
	return who, command, ok && len(who) <= 1
}

// ports differ from run to run.
var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// playTranscript returns the replies to the commands of a transcript.
func playTranscript(t *testing.T, text string, proto int, change ...func(*Config)) (replies []string) {
	t.Helper()
	s := start(t, change...)
	clients := map[string]*client{}
	for line := range strings.Lines(text) {
		if wait, ok := strings.CutPrefix(line, "@advance "); ok {
			d, err := time.ParseDuration(strings.TrimSpace(wait))
			if err != nil {
				t.Fatal(err)
			}
			s.clock.advance(d)
			continue
		}
		who, command, ok := commandLine(line)
		if !ok {
			continue
		}
		c := clients[who]
		if c == nil {
			c = s.dial(t)
			if proto == 3 {
				c.do("HELLO", "3")
			}
			clients[who] = c
		}
		c.write(resp.AppendCommand(nil, splitWords(t, command)...))
		v, err := c.next()
		switch {
		case err == nil:
			replies = append(replies, ports.ReplaceAllString(v.String(), "127.0.0.1:PORT"))
		case closedByPeer(err):
			replies = append(replies, "(closed)")
			delete(clients, who)
		default:
			t.Fatal(err)
		}
	}
	return replies
}

// splitWords splits a command as the server splits an inline command.
func splitWords(t *testing.T, command string) [][]byte {
	t.Helper()
	p := resp.Parser{Limits: resp.DefaultLimits}
	words, n, err := p.Next([]byte(command+"\n"), nil)
	if n == 0 || err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	return words
}
