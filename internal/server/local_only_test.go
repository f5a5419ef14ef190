package server

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// farListener is a listener whose clients seem to be on another machine.
type farListener struct{ net.Listener }

type farConn struct{ net.Conn }

func (l farListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return farConn{c}, nil
}

func (c farConn) SyscallConn() (syscall.RawConn, error) { return c.Conn.(syscall.Conn).SyscallConn() }

func (farConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(203, 0, 113, 7), Port: 4711}
}

// serveFar lets the server serve clients on another machine too, and returns its address.
func (s *testServer) serveFar(t *testing.T, serve func(net.Listener) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving(t, farListener{l}, serve)
	return l.Addr().String()
}

// httpAs requests the list of filters with a name and a password, "" for none.
func httpAs(s *testServer, name, password string) *httptest.ResponseRecorder {
	r := localRequest("GET", "http://127.0.0.1/v1/filters", nil)
	if name != "" {
		r.SetBasicAuth(name, password)
	}
	out := httptest.NewRecorder()
	s.HTTP(HTTPConfig{}).ServeHTTP(out, r)
	return out
}

// Whenever a server stops to need a password, clients on other machines are refused from
// then on. Clients that have logged in and local clients continue.
func TestOpenedLater(t *testing.T) {
	for _, words := range [][]string{
		{"CONFIG", "SET", "requirepass", ""},
		{"ACL", "SETUSER", "default", "nopass"},
		{"ACL", "SETUSER", "default", "reset", "on", "nopass", "+@all", "~*"},
	} {
		var warned atomic.Int64
		s := start(t, func(c *Config) {
			c.Password = "sesame"
			c.Events = func(level Level, message string, _ ...any) {
				if level == Warning {
					warned.Add(1)
				}
			}
		})
		address := s.serveFar(t, s.Serve)
		known, waiting, near := dial(t, "tcp", address), dial(t, "tcp", address), s.dial(t)
		known.want("+OK", "AUTH", "sesame")
		waiting.want("-NOAUTH Authentication required.", "DBSIZE")
		near.want("+OK", "AUTH", "sesame")
		near.want("+OK", words...)
		if warned.Load() != 1 {
			t.Errorf("%q: %d warnings", words, warned.Load())
		}
		known.want(":0", "DBSIZE")
		near.want(":0", "DBSIZE")
		s.dial(t).want(":0", "DBSIZE")
		for _, try := range [][]string{{"DBSIZE"}, {"AUTH", "default", "sesame"}, {"HELLO", "3"}, {"HELLO", "3", "AUTH", "default", ""}} {
			waiting.want("-"+denied, try...)
		}
		known.want("+RESET", "RESET")
		known.want("-"+denied, "DBSIZE")
		c := dial(t, "tcp", address)
		if v, err := c.next(); err != nil || v.Text != denied {
			t.Errorf("%q: a new client is told %v, %v", words, v, err)
		}
		c.wantClosed()
		if warned.Load() != 2 {
			t.Errorf("%q: %d warnings", words, warned.Load())
		}
		near.want("+OK", "CONFIG", "SET", "requirepass", "sesame")
		c = dial(t, "tcp", address)
		c.want("+OK", "AUTH", "sesame")
		waiting.want("+OK", "AUTH", "sesame")
	}
}

// A named user without a password does not work from other machines either. An insecure
// server serves all clients.
func TestUsersWithoutPassword(t *testing.T) {
	s := start(t, func(c *Config) { c.Password = "sesame" })
	s.run(t, "ACL", "SETUSER", "guest", "on", "nopass", "+@all", "~*")
	address := s.serveFar(t, s.Serve)
	c := dial(t, "tcp", address)
	c.want("-"+denied, "AUTH", "guest", "")
	c.want("-NOAUTH Authentication required.", "DBSIZE")
	s.dial(t).want("+OK", "AUTH", "guest", "")

	s = start(t, func(c *Config) { c.Insecure = true })
	dial(t, "tcp", s.serveFar(t, s.Serve)).want(":0", "DBSIZE")
}

// TLS alone does not identify a client; a certificate does.
func TestTLSIsNoPassword(t *testing.T) {
	s := start(t)
	authority := certificate(t, "authority", nil)
	config := &tls.Config{
		Certificates: []tls.Certificate{*certificate(t, "server", authority)}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: pool(authority),
	}
	address := s.serveFar(t, func(l net.Listener) error { return s.ServeTLS(l, config) })
	for _, known := range []bool{false, true} {
		mine := &tls.Config{RootCAs: pool(authority)}
		if known {
			mine.Certificates = []tls.Certificate{*certificate(t, "client", authority)}
		}
		socket, err := tls.Dial("tcp", address, mine)
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		c := &client{t: t, Conn: socket}
		if known {
			c.want(":0", "DBSIZE")
		} else if v, err := c.next(); err != nil || v.Text != denied {
			t.Errorf("%v, %v", v, err)
		}
	}
}

// The same over HTTP, for the API and the pages. Health is for all clients.
func TestHTTPOpenedLater(t *testing.T) {
	s := start(t, func(c *Config) { c.Password = "sesame" })
	site := s.HTTP(HTTPConfig{})
	ask := func(path, from string, header ...string) (int, string) {
		r := httptest.NewRequest("GET", "http://127.0.0.1"+path, nil)
		r.RemoteAddr = from
		if len(header) > 0 {
			r.Header.Set("Authorization", header[0])
		}
		out := httptest.NewRecorder()
		site.ServeHTTP(out, r)
		b, err := io.ReadAll(out.Body)
		if err != nil {
			t.Fatal(err)
		}
		return out.Code, string(b)
	}
	const far, near = "203.0.113.7:4711", "[::1]:4711"
	if code, _ := ask("/v1/filters", far, "Bearer sesame"); code != 200 {
		t.Errorf("with the password: %d", code)
	}
	s.run(t, "CONFIG", "SET", "requirepass", "")
	for _, path := range []string{"/v1/filters", "/metrics", "/", "/events"} {
		if code, text := ask(path, far); code != http.StatusForbidden || !strings.Contains(text, "DENIED") {
			t.Errorf("%s from another machine: %d %.200s", path, code, text)
		}
		if path == "/events" {
			continue // goes on for ever
		}
		if code, text := ask(path, near); code != 200 {
			t.Errorf("%s from here: %d %.200s", path, code, text)
		}
	}
	if code, _ := ask("/v1/filters", far, "Bearer sesame"); code != http.StatusForbidden {
		t.Errorf("with a password that is not checked: %d", code)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, _ := ask(path, far); code != 200 {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code, _ := ask("/v1/filters", "nonsense"); code != http.StatusForbidden {
		t.Errorf("with an invalid address: %d", code)
	}
}

// A refused client holds nothing.
func TestDeniedClientsLeaveNothing(t *testing.T) {
	s := start(t, func(c *Config) { c.Password = "sesame" })
	address := s.serveFar(t, s.Serve)
	s.run(t, "CONFIG", "SET", "requirepass", "")
	for range 20 {
		c := dial(t, "tcp", address)
		if _, err := c.next(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the end of all connections", func() bool { return s.clients.count() == 0 })
}
