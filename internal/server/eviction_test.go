package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"seen/internal/fair"
	"seen/internal/resp"
	"seen/internal/server/rest"
)

// serveHTTP serves HTTP on a free port, with clients that seem to be on another machine if
// far is true, and returns its address.
func (s *testServer) serveHTTP(t *testing.T, far bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := s.NewHTTPServer(HTTPConfig{}, &http.Server{})
	served := make(chan error, 1)
	go func() {
		if far {
			served <- h.Serve(farListener{l}, nil)
		} else {
			served <- h.Serve(l, nil)
		}
	}()
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// ask sends a request over its own connection and returns the response.
func ask(t *testing.T, address, path string) (status int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	r, err := client.Get("http://" + address + path)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return 0, ""
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return r.StatusCode, string(b)
}

// connect opens a connection and sends something.
func connect(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the server may have closed it
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// Idle connections, in any number and state, do not keep other clients out.
func TestIdleConnectionsOfHTTP(t *testing.T) {
	for what, text := range map[string]string{
		"idle":        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"silent":      "",
		"slow header": "GET /healthz HTTP/1.1\r\nHost: loc",
		"slow body":   "POST /v1/filters/f/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nabc",
	} {
		s := start(t, func(c *Config) { c.Limits.HTTP = 50 })
		address := s.serveHTTP(t, false)
		var held []net.Conn
		for range 50 {
			c := connect(t, address, text)
			if what == "idle" {
				if _, err := io.ReadFull(c, make([]byte, 12)); err != nil {
					t.Fatal(err)
				}
			}
			held = append(held, c)
		}
		if what != "idle" { // those make room at once
			eventually(t, "the arrival of the connections", func() bool { status, _ := ask(t, address, "/v1/filters"); return status == 503 })
		}
		// Health and metrics are answered at once, ...
		for range 3 {
			for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
				if status, body := ask(t, address, path); status != 200 {
					t.Errorf("%s: %s: %d %.100s", what, path, status, body)
				}
			}
		}
		// ... and everything else after the patience for the others.
		s.clock.advance(fair.Patience)
		for range 10 {
			if status, body := ask(t, address, "/v1/filters"); status != 200 {
				t.Errorf("%s: %d %.100s", what, status, body)
			}
		}
		for _, c := range held {
			_ = c.Close()
		}
	}
}

// Slow requests do not keep other requests from being answered.
func TestSlowBodiesDoNotTakeAllRequests(t *testing.T) {
	s := start(t)
	address := s.serveHTTP(t, false)
	for range rest.MaxRequests {
		connect(t, address, "POST /v1/filters/f/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nabc")
	}
	eventually(t, "the arrival of the requests", func() bool { status, _ := ask(t, address, "/v1/filters"); return status == 503 })
	if status, _ := ask(t, address, "/metrics"); status != 200 {
		t.Errorf("metrics: %d", status)
	}
	s.clock.advance(fair.Patience)
	for range 5 {
		if status, body := ask(t, address, "/v1/filters"); status != 200 {
			t.Errorf("%d %.100s", status, body)
		}
	}
}

// One address cannot have all connections: others get a place at once.
func TestOneAddressCannotTakeAll(t *testing.T) {
	s := start(t, func(c *Config) { c.Password, c.Limits.Clients = "sesame", 20 })
	address := s.serveFar(t, s.Serve)
	var held []*client
	for range 18 {
		c := dial(t, "tcp", address)
		c.want("+OK", "AUTH", "sesame")
		held = append(held, c)
	}
	c := dial(t, "tcp", address)
	if v, err := c.next(); err != nil || v.Text != "ERR max number of clients of one address reached" {
		t.Errorf("%v, %v", v, err)
	}
	for range 2 {
		s.dial(t).want("+OK", "AUTH", "sesame")
	}
	s.dial(t).want("+OK", "AUTH", "sesame") // in the place of one of the others
	if n := s.clients.evicted.Load(); n != 1 || s.clients.count() > 20 {
		t.Errorf("%d were evicted, %d are there", n, s.clients.count())
	}
	s.clock.advance(fair.Patience)
	dial(t, "tcp", address).want("+OK", "AUTH", "sesame") // in the place of one of its own that does nothing
	gone := 0
	for _, c := range held {
		if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil && closedByPeer(err) {
			gone++
		}
	}
	if gone != 2 {
		t.Errorf("%d of the 18 connections are gone", gone)
	}
}

// At the limit, inactive clients make room: idle ones, those with half a command, and
// those that do not read. A client that is being served stays.
func TestIdleClientsMakeRoom(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Clients = 4 })
	idle, half, deaf, busy := s.dial(t), s.dial(t), s.dial(t), s.dial(t)
	for _, c := range []*client{idle, half, deaf, busy} {
		c.want("+PONG", "PING")
	}
	half.write([]byte("*2\r\n$4\r\nECHO\r\n$1000\r\nab"))
	one := bytes.Repeat(resp.AppendCommand(nil, "ECHO", strings.Repeat("x", 10_000)), 100)
	waiting := func() (most int) {
		for _, c := range s.clients.list() {
			most = max(most, c.outlet.waiting())
		}
		return most
	}
	for waiting() < 1<<20 {
		deaf.write(one)
	}
	// Let the socket accept what it can before the clock moves.
	for before := -1; before != waiting(); time.Sleep(200 * time.Millisecond) {
		before = waiting()
	}
	c := s.dial(t)
	if v, err := c.next(); err != nil || v.Text != "ERR max number of clients reached" {
		t.Errorf("%v, %v", v, err)
	}
	s.clock.advance(fair.Patience)
	busy.want("+PONG", "PING")
	for range 3 {
		s.dial(t).want("+PONG", "PING")
	}
	busy.want("+PONG", "PING")
	for what, c := range map[string]*client{"idle": idle, "half": half} {
		if _, err := c.next(); err == nil || !closedByPeer(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := s.clients.evicted.Load(); n != 3 {
		t.Errorf("%d were evicted", n)
	}
	eventually(t, "the return of all memory", func() bool { return s.buffers.Used() == 0 })
}

// Two clients with incomplete commands that use all memory cannot keep others out.
func TestUnfinishedCommandsShareMemory(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Buffers = 4 << 20 })
	var large []*client
	for range 2 {
		c := s.dial(t)
		c.write([]byte("*2\r\n$4\r\nECHO\r\n$100000000\r\n"))
		c.write(make([]byte, 1_100_000)) // which takes a buffer of 2 MiB
		large = append(large, c)
	}
	eventually(t, "the arrival of the commands", func() bool { return s.buffers.Used() > 4<<20-100_000 })
	other := s.dial(t)
	text := strings.Repeat("x", 600_000)
	if v := other.do("ECHO", text); v.Text != text {
		t.Fatalf("%.100s", v)
	}
	eventually(t, "the end of a connection", func() bool { return s.clients.count() == 2 })
	dropped := 0
	for _, c := range large {
		if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		if n, err := c.Read(b); err == nil {
			dropped++
			if !strings.HasPrefix(string(b[:n]), "-ERR the buffers of all clients") {
				t.Errorf("a client that was dropped is told %q", b[:n])
			}
		}
	}
	if dropped != 1 {
		t.Errorf("%d clients were dropped", dropped)
	}
}

// The budget also pays for HTTP bodies: a string without an end is not collected without
// limit.
func TestBodiesArePaidFor(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Buffers = 1 << 20 })
	address := s.serveHTTP(t, false)
	post := func(body io.Reader, header ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(context.Background(), "POST", "http://"+address+"/v1/filters/f/add", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
		reply, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		b, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		return reply.StatusCode, string(b)
	}
	if status, body := post(strings.NewReader(`["` + strings.Repeat("x", 3<<20) + `"]`)); status != http.StatusServiceUnavailable {
		t.Errorf("%d %.200s", status, body)
	}
	// Many keys are not one large string.
	var keys strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&keys, ",%q", fmt.Sprint("a key of some length ", i))
	}
	list := "[" + keys.String()[1:] + "]"
	if status, body := post(strings.NewReader(list)); status != 200 {
		t.Errorf("%d %.200s", status, body)
	}
	eventually(t, "the return of all memory", func() bool { return s.buffers.Used() == 0 })

	// The same, compressed.
	compress := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if status, body := post(bytes.NewReader(compress(list)), "Content-Encoding", "gzip"); status != 200 || !strings.Contains(body, `"count":0}`) {
		t.Errorf("gzip: %d %.200s", status, body)
	}
	address = start(t).serveHTTP(t, false) // with memory enough for all limits to be met
	bomb := compress("[" + strings.Repeat(" ", rest.MaxBytes+10) + "]")
	for what, c := range map[string]struct {
		body     []byte
		encoding string
		status   int
	}{
		"a bomb":      {bomb, "gzip", http.StatusRequestEntityTooLarge},
		"half":        {compress(list)[:1000], "gzip", http.StatusBadRequest},
		"not gzip":    {[]byte(`["a"]`), "gzip", http.StatusBadRequest},
		"damaged":     {append(compress(list)[:500], compress(list)[600:]...), "gzip", http.StatusBadRequest},
		"zstd":        {[]byte(`["a"]`), "zstd", http.StatusUnsupportedMediaType},
		"twice":       {compress(string(compress(`["a"]`))), "gzip, gzip", http.StatusUnsupportedMediaType},
		"an identity": {[]byte(`["a"]`), "identity", http.StatusOK},
	} {
		if status, body := post(bytes.NewReader(c.body), "Content-Encoding", c.encoding); status != c.status {
			t.Errorf("%s: %d %.200s, want %d", what, status, body, c.status)
		}
	}
	if n := s.dial(t).do("BF.CARD", "f"); n.Int < 49_000 || n.Int > 50_000 {
		t.Errorf("the filter has %d keys", n.Int)
	}
}

// A client with a long command is not idle meanwhile, and keeps its place after the reply.
func TestLongCommandsAreNotIdle(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Clients, c.Limits.Idle = 1, time.Minute })
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	s.run(t, "ACL", "SETUSER", "app", "on", "#"+string(hash), "+@all")
	release := s.occupy()
	c := s.dial(t)
	c.send("AUTH", "app", "right") // takes until a core is free
	s.awaitLogin(t)
	s.clock.advance(time.Hour)
	s.sweep(s.clock.Now())
	release()
	if got := c.read().String(); got != "+OK" {
		t.Error(got)
	}
	if got := s.dial(t).read().String(); got != "-ERR max number of clients reached" {
		t.Error(got)
	}
	c.want("+PONG", "PING")
}

// A client that closes without reading its last replies makes room too.
func TestEndingClientsMakeRoom(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Clients = 1 })
	deaf := s.dial(t)
	deaf.want("+PONG", "PING")
	served := s.clients.list()[0]
	one := bytes.Repeat(resp.AppendCommand(nil, "ECHO", strings.Repeat("x", 10_000)), 100)
	for served.outlet.waiting() < 1<<20 {
		deaf.write(one)
	}
	deaf.send("QUIT")
	eventually(t, "the end of the commands", func() bool {
		_, _, waits := served.Waits(s.clock.Now())
		return waits && strings.Contains(served.describe(), "cmd=quit")
	})
	s.clock.advance(fair.Patience)
	s.dial(t).want("+PONG", "PING")
}
