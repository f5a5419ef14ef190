//go:build unix

package daemon

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"seen/internal/crashtest"
)

// SIGHUP applies all files or nothing: while one of them is damaged, the others do not
// take effect.
func TestReloadIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeCertificate(t, path("cert"), path("key"), 1)
	writeCertificate(t, path("ca"), path("client-key"), 100)
	ours, err := tls.LoadX509KeyPair(path("ca"), path("client-key"))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{ours}}
	write("users", "user ann on >one +@all ~*\n")
	write("password", "sesame\n")
	write("settings", "timeout = \"1h\"\n")
	s := startServed(t, dir+"/data", "--config", path("settings"), "--acl-file", path("users"), "--password-file", path("password"),
		"--tls-cert", path("cert"), "--tls-key", path("key"), "--tls-client-ca", path("ca"))
	defer s.Stop()

	// state is the number of the certificate, and which passwords are right.
	state := func() (serial int64, right string) {
		t.Helper()
		conn, err := tls.Dial("tcp", s.Addr, config)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		c := &crashtest.Client{Conn: conn}
		for _, login := range [][]string{{"ann", "one"}, {"ann", "two"}, {"default", "sesame"}, {"default", "simsim"}} {
			v, err := c.Do(append([]string{"AUTH"}, login...)...)
			if err != nil {
				t.Fatal(err)
			}
			if v.String() == "+OK" {
				right += " " + login[1]
			}
		}
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), right
	}
	if n, right := state(); n != 1 || right != " one sesame" {
		t.Fatalf("certificate %d, passwords%s", n, right)
	}

	// Everything is new, except one file that is damaged.
	writeCertificate(t, path("cert"), path("key"), 2)
	write("users", "user ann on >two +@all ~*\n")
	write("password", "simsim\n")
	for _, name := range []string{"cert", "key", "ca", "users", "password", "settings"} {
		whole, err := os.ReadFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		damaged := "broken\n"
		if name == "password" {
			damaged = "\n"
		}
		for _, damage := range []func(){
			func() { write(name, damaged) },
			func() {
				if err := os.Remove(path(name)); err != nil {
					t.Fatal(err)
				}
			},
		} {
			damage()
			s.Signal(syscall.SIGHUP)
			if line, ok := s.Await("not reloaded; nothing has changed"); !ok || line.Error == "" {
				t.Errorf("%s is damaged: %+v", name, line)
			}
			if n, right := state(); n != 1 || right != " one sesame" {
				t.Errorf("%s is damaged: certificate %d, passwords%s", name, n, right)
			}
			write(name, string(whole))
		}
	}
	s.Signal(syscall.SIGHUP)
	if _, ok := s.Await("reloaded settings, users and certificates"); !ok {
		t.Fatalf("not reloaded\n%s", &s.Log)
	}
	if n, right := state(); n != 2 || right != " two simsim" {
		t.Errorf("after a reload: certificate %d, passwords%s", n, right)
	}

	// A setting that cannot change while the server runs is named.
	write("settings", "timeout = \"2h\"\n")
	s.Signal(syscall.SIGHUP)
	if _, ok := s.Await("reloaded settings, users and certificates; some settings take effect at the next start"); !ok || !strings.Contains(s.Log.String(), `"settings":["timeout"]`) {
		t.Errorf("a setting for the next start\n%s", &s.Log)
	}
}

// A reload that takes the password away from a server that others can reach does not
// happen.
func TestReloadDoesNotOpen(t *testing.T) {
	dir := t.TempDir()
	users := filepath.Join(dir, "users")
	if err := os.WriteFile(users, []byte("user default on >sesame +@all ~*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServed(t, dir+"/data", "--addr", "0.0.0.0:0", "--acl-file", users)
	defer s.Stop()
	if err := os.WriteFile(users, []byte("user default on nopass +@all ~*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Signal(syscall.SIGHUP)
	if line, ok := s.Await("not reloaded; nothing has changed"); !ok || !strings.Contains(line.Error, "other machines") {
		t.Errorf("%+v", line)
	}
}

// A certificate of the server alone does not make a server that others can reach safe.
func TestTLSAloneIsRefused(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	writeCertificate(t, cert, key, 1)
	for _, flag := range []string{"--addr", "--http"} {
		text, code := serveOutput(t, "--data", dir+"/data", "--tls-cert", cert, "--tls-key", key, flag, "0.0.0.0:0")
		if code != exitError || !strings.Contains(text, "can be reached from other machines") {
			t.Errorf("%s: exit code %d\n%s", flag, code, text)
		}
	}
}
