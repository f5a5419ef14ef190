//go:build unix

package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"seen/internal/crashtest"
)

// Two servers on one folder, or on one port, are one too many.
func TestServeRefusesToStart(t *testing.T) {
	dir := t.TempDir() + "/data"
	s := startServed(t, dir)
	defer s.Stop()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--data", dir, "--addr", "127.0.0.1:0", "--http", "off"}, "the data directory is in use: process "},
		{[]string{"--data", t.TempDir() + "/other", "--addr", s.Addr, "--http", "off"}, "address already in use"},
		{[]string{"--data", t.TempDir() + "/other", "--addr", "0.0.0.0:0"}, "can be reached from other machines"},
		{[]string{"--data", t.TempDir() + "/other", "--unix", os.Args[0]}, "exists and is not a socket"},
	} {
		text, code := serveOutput(t, c.args...)
		if code != exitError || !strings.Contains(text, c.want) || strings.Contains(text, "msg=ready") {
			t.Errorf("seen serve %v: exit code %d, message\n%s", c.args, code, text)
		}
	}
}

func TestServeUnixSocket(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	args := []string{"--addr", "off", "--unix", path, "--unix-mode", "640"}
	s := startServed(t, dir+"/data", args...)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	s.Expect("+PONG", "PING")
	if text, code := serveOutput(t, "--data", dir+"/other", "--addr", "off", "--http", "off", "--unix", path); code != exitError ||
		!strings.Contains(text, "another server listens") {
		t.Errorf("a second server on the socket: exit code %d\n%s", code, text)
	}
	s.Kill() // leaves the socket behind
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	s = startServed(t, dir+"/data", args...)
	s.Expect("+PONG", "PING")
	s.Stop()
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is still there")
	}
}

// The supervisor hears that the server is ready, and that it stops.
func TestServeNotifies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	t.Setenv(notifyVariable, path)
	s := startServed(t, t.TempDir()+"/data")
	s.Stop()
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		b := make([]byte, 100)
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if n, err := conn.Read(b); err != nil || string(b[:n]) != want {
			t.Errorf("told %q, %v; want %q", b[:n], err, want)
		}
	}
}

// writeCertificate writes a certificate for 127.0.0.1 with its key, which is its
// own authority.
func writeCertificate(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// serialOf connects with TLS, says PING, and returns the number of the server's
// certificate.
func serialOf(addr string, config *tls.Config) (int64, error) {
	conn, err := tls.Dial("tcp", addr, config)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	c := &crashtest.Client{Conn: conn}
	if v, err := c.Do("PING"); err != nil || v.Text != "PONG" {
		return 0, fmt.Errorf("PING: %v, %w", v, err)
	}
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	clientCert, clientKey := filepath.Join(dir, "client-cert"), filepath.Join(dir, "client-key")
	writeCertificate(t, cert, key, 1)
	writeCertificate(t, clientCert, clientKey, 100)
	// As under nohup, where SIGHUP comes ignored.
	signal.Ignore(syscall.SIGHUP)
	s := startServed(t, dir+"/data", "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", clientCert)
	signal.Reset(syscall.SIGHUP)

	trusting := &tls.Config{InsecureSkipVerify: true} // the certificates change under us
	known := trusting.Clone()
	ours, err := tls.LoadX509KeyPair(clientCert, clientKey)
	if err != nil {
		t.Fatal(err)
	}
	known.Certificates = []tls.Certificate{ours}
	if n, err := serialOf(s.Addr, known); err != nil || n != 1 {
		t.Errorf("certificate %d, %v", n, err)
	}
	if n, err := serialOf(s.Addr, trusting); err == nil {
		t.Errorf("without a certificate of a client: let in, %d", n)
	}
	if c, err := crashtest.Dial(s.Addr); err == nil {
		if v, err := c.Do("PING"); err == nil {
			t.Errorf("without TLS: %v", v)
		}
	}

	// A reload serves the new certificate; one that is broken leaves the former.
	writeCertificate(t, cert, key, 2)
	s.Signal(syscall.SIGHUP)
	if _, ok := s.Await("reloaded settings, users and certificates"); !ok {
		t.Fatalf("not reloaded\n%s", &s.Log)
	}
	if n, err := serialOf(s.Addr, known); err != nil || n != 2 {
		t.Errorf("after a reload: certificate %d, %v", n, err)
	}
	if err := os.WriteFile(cert, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Signal(syscall.SIGHUP)
	if line, ok := s.Await("not reloaded; nothing has changed"); !ok || !strings.Contains(line.Error, "--tls-cert") {
		t.Errorf("a broken certificate: %+v", line)
	}
	if n, err := serialOf(s.Addr, known); err != nil || n != 2 {
		t.Errorf("after a broken reload: certificate %d, %v", n, err)
	}

	web := &http.Client{Transport: &http.Transport{TLSClientConfig: known}}
	if reply, err := web.Get("https://" + s.HTTP + "/how"); err != nil || reply.StatusCode != http.StatusOK {
		t.Errorf("HTTP over TLS: %v, %v", reply, err)
	} else {
		_ = reply.Body.Close()
		if c := reply.Cookies(); len(c) != 1 || !c[0].Secure || !strings.HasPrefix(c[0].Name, "__Host-") {
			t.Errorf("over TLS the cookie is not bound to it: %v", c)
		}
	}
	web.CloseIdleConnections()
	s.Stop()
}
