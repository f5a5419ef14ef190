package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seen/internal/resp"
)

// serving serves on a listener until the test ends.
func serving(t *testing.T, l net.Listener, serve func(net.Listener) error) {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- serve(l) }()
	t.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestUnixSocket(t *testing.T) {
	s := start(t)
	path := filepath.Join(t.TempDir(), "seen.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	serving(t, l, s.Serve)
	c := dial(t, "unix", path)
	c.want("+PONG", "PING")
	if got := c.do("CLIENT", "INFO").Text; !strings.Contains(got, " addr="+path+":0 ") || !strings.Contains(got, " flags=U ") {
		t.Error(got)
	}
	big := strings.Repeat("x", 5_000_000)
	if got := c.do("ECHO", big).Text; got != big {
		t.Errorf("%d bytes came back", len(got))
	}
}

// A server that other machines can use without a password does not start by accident.
func TestOpenToTheWorld(t *testing.T) {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if err := start(t).Serve(listen()); err == nil || !strings.Contains(err.Error(), "needs no password") {
		t.Errorf("without a password: %v", err)
	}
	serving(t, listen(), start(t, func(c *Config) { c.Password = "x" }).Serve)
	serving(t, listen(), start(t, func(c *Config) { c.Insecure = true }).Serve)
}

// certificate creates a certificate for 127.0.0.1, signed by parent or self-signed.
func certificate(t *testing.T, name string, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: parent == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signer, signerKey := template, any(key)
	if parent != nil {
		signer, signerKey = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, signerKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func pool(c *tls.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(c.Leaf)
	return p
}

func TestTLS(t *testing.T) {
	s := start(t)
	authority := certificate(t, "authority", nil)
	var current atomic.Pointer[tls.Config]
	use := func(name string) {
		current.Store(&tls.Config{
			Certificates: []tls.Certificate{*certificate(t, name, authority)},
			ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: pool(authority),
		})
	}
	use("first")
	// TLS may be open to other machines: certificates decide who may connect.
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	serving(t, l, func(l net.Listener) error {
		return s.ServeTLS(l, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return current.Load(), nil }})
	})
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	connect := func(config *tls.Config) *client {
		socket, err := tls.Dial("tcp", "127.0.0.1:"+port, config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = socket.Close() }) // the test may have closed it
		return &client{t: t, Conn: socket}
	}
	mine := &tls.Config{RootCAs: pool(authority), Certificates: []tls.Certificate{*certificate(t, "client", authority)}}
	c := connect(mine)
	c.want("+PONG", "PING")
	if got := c.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName; got != "first" {
		t.Errorf("the server is %s", got)
	}

	// More than the sockets buffer, before the first reply is read.
	const commands, size = 3000, 5000
	one := resp.AppendCommand(nil, "ECHO", strings.Repeat("x", size))
	for range commands {
		c.write(one)
	}
	for i := range commands {
		if v := c.read(); len(v.Text) != size {
			t.Fatalf("reply %d has %d bytes", i, len(v.Text))
		}
	}
	// The last reply arrives before the end, with a closing message.
	c.send("ECHO", strings.Repeat("x", 1_000_000))
	c.send("QUIT")
	if v := c.read(); len(v.Text) != 1_000_000 {
		t.Errorf("%d bytes", len(v.Text))
	}
	if v := c.read(); v.String() != "+OK" {
		t.Error(v)
	}
	c.wantClosed()

	// New connections get the new certificate.
	use("second")
	c = connect(mine)
	c.want("+PONG", "PING")
	if got := c.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName; got != "second" {
		t.Errorf("the server is %s", got)
	}

	// Clients without a certificate are refused, and so are clients without TLS.
	for what, config := range map[string]*tls.Config{
		"no certificate":      {RootCAs: pool(authority)},
		"another's authority": {RootCAs: pool(authority), Certificates: []tls.Certificate{*certificate(t, "client", certificate(t, "other", nil))}},
	} {
		stranger := connect(config)
		_, _ = stranger.Write(resp.AppendCommand(nil, "PING")) // the server may be gone
		if v, err := stranger.next(); err == nil {
			t.Errorf("%s: %v", what, v)
		}
	}
	plain := dial(t, "tcp", "127.0.0.1:"+port)
	plain.send("PING")
	if v, err := plain.next(); err == nil {
		t.Errorf("without TLS: %v", v)
	}
	c.want("+PONG", "PING")
}

// Shutdown lets running commands finish, sends their replies, and accepts no more.
func TestShutdown(t *testing.T) {
	s := start(t)
	idle, sleeping := s.dial(t), s.dial(t)
	idle.want("+PONG", "PING")
	sleeping.want(":1", "BF.ADD", "k", "a")
	before := s.received.Load()
	sent := resp.AppendCommand(resp.AppendCommand(nil, "DEBUG", "SLEEP", "3600"), "BF.EXISTS", "k", "a")
	sleeping.write(sent)
	eventually(t, "the arrival of the commands", func() bool { return s.received.Load() == before+int64(len(sent)) })
	done := make(chan error)
	go func() { done <- s.Shutdown(context.Background()) }()
	idle.wantClosed()
	for _, want := range []string{"+OK", ":1"} {
		if got := sleeping.read().String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	sleeping.wantClosed()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if socket, err := net.Dial("tcp", s.address); err == nil {
		_ = socket.Close()
		t.Error("a connection was accepted afterwards")
	}
}

// When the context of Shutdown ends, connections are closed.
func TestShutdownAtOnce(t *testing.T) {
	s := start(t)
	stalled := s.dial(t)
	one := resp.AppendCommand(nil, "ECHO", strings.Repeat("x", 100_000))
	for range 200 {
		stalled.write(one)
	}
	eventually(t, "waiting for the client", func() bool {
		all := s.clients.list()
		return len(all) == 1 && all[0].outlet.waiting() > 1_000_000
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestShutdownCommand(t *testing.T) {
	stopped := make(chan struct{}, 1)
	s := start(t, func(c *Config) { c.Stop = func() { stopped <- struct{}{} } })
	c := s.dial(t)
	c.want("-ERR syntax error", "SHUTDOWN", "now", "please")
	c.send("SHUTDOWN", "NOSAVE")
	c.wantClosed()
	<-stopped
	start(t).dial(t).want("-ERR Errors trying to SHUTDOWN. Check logs.", "SHUTDOWN")
}

// A web page can make a browser send a request here; commands in its body must not run.
func TestRequestsOfBrowsers(t *testing.T) {
	s := start(t)
	for _, first := range []string{"POST / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		c := s.dial(t)
		c.write([]byte(first + "BF.ADD k x\r\n"))
		for {
			if _, err := c.next(); err != nil {
				if !closedByPeer(err) {
					t.Error(err)
				}
				break
			}
		}
	}
	s.dial(t).want(":0", "EXISTS", "k")
}

// A listener that fails for a while continues; one that was closed from outside ends with
// an error.
func TestAcceptErrors(t *testing.T) {
	var said atomic.Int64
	s := start(t, func(c *Config) { c.Events = func(Level, string, ...any) { said.Add(1) } })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &failingListener{Listener: l}
	f.left.Store(3)
	served := make(chan error, 1)
	go func() { served <- s.Serve(f) }()
	dial(t, "tcp", l.Addr().String()).want("+PONG", "PING")
	if said.Load() != 3 {
		t.Errorf("%d events", said.Load())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

type failingListener struct {
	net.Listener
	left atomic.Int64
}

func (l *failingListener) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, errors.New("too many open files")
	}
	return l.Listener.Accept()
}
