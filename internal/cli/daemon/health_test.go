//go:build unix

package daemon

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// checkHealth checks the health of the server that runs with the flags.
func checkHealth(t *testing.T, ctx context.Context, flags ...string) error {
	t.Helper()
	s := NewSettings()
	if err := s.Load(Sources{Flags: given(flags)}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Check()
	if err != nil {
		t.Fatal(err)
	}
	return CheckHealth(ctx, c)
}

// A server is healthy on each of its ports, also if it asks for a password.
func TestCheckHealth(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	s := startServed(t, t.TempDir()+"/data", "--unix", socket, "--requirepass", "sesame")
	for _, flags := range [][]string{
		{"--http", s.HTTP},
		{"--http", "off", "--addr", s.Addr},
		{"--http", "off", "--addr", "off", "--unix", socket},
		{"--http", ":" + port(t, s.HTTP), "--insecure"},
		{"--http", "0.0.0.0:" + port(t, s.HTTP), "--insecure"},
	} {
		if err := checkHealth(t, t.Context(), flags...); err != nil {
			t.Errorf("%q: %v", flags, err)
		}
	}
	s.Stop()
	for _, flags := range [][]string{
		{"--http", s.HTTP},
		{"--http", "off", "--addr", s.Addr},
		{"--http", "off", "--addr", "off", "--unix", socket},
	} {
		if err := checkHealth(t, t.Context(), flags...); err == nil || !strings.Contains(err.Error(), "is not ready: ") {
			t.Errorf("%q of a server that has ended: error %v", flags, err)
		}
	}
}

// With TLS, also if clients need a certificate, a server is healthy.
func TestCheckHealthTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1)
	otherCA := filepath.Join(dir, "other.pem")
	writeCertificate(t, otherCA, filepath.Join(dir, "other.key"), 2)
	for _, more := range [][]string{nil, {"--tls-client-ca", cert}, {"--tls-client-ca", otherCA}} {
		flags := append([]string{"--tls-cert", cert, "--tls-key", key}, more...)
		s := startServed(t, t.TempDir()+"/data", flags...)
		for _, ports := range [][]string{{"--http", s.HTTP}, {"--http", "off", "--addr", s.Addr}} {
			if err := checkHealth(t, t.Context(), append(ports, flags...)...); err != nil {
				t.Errorf("%q %q: %v", ports, more, err)
			}
		}
		s.Stop()
	}
}

// A server that answers that it is not ready, or nothing, or something else is not healthy.
func TestCheckHealthOfOthers(t *testing.T) {
	ill := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the disk is full", http.StatusServiceUnavailable)
	}))
	defer ill.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	illAddress := ill.Listener.Addr().String()
	for _, c := range []struct {
		ctx  context.Context
		want string
		args []string
	}{
		{t.Context(), "the disk is full", []string{"--http", illAddress}},
		{t.Context(), "it answers PING with \"HTTP/", []string{"--http", "off", "--addr", illAddress}},
		{short, "i/o timeout", []string{"--http", "off", "--addr", silent.Addr().String()}},
	} {
		if err := checkHealth(t, c.ctx, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.args, err, c.want)
		}
	}
}

func port(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
