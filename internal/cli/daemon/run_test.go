//go:build unix

package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"seen/internal/crashtest"
	"seen/internal/resp"
)

// A server that is told to end keeps everything and ends with 0, in every way to tell it.
func TestServeCleanStop(t *testing.T) {
	dir := t.TempDir() + "/data"
	for i, end := range []func(*crashtest.Server){
		func(s *crashtest.Server) { s.Signal(syscall.SIGTERM) },
		func(s *crashtest.Server) { s.Signal(syscall.SIGINT) },
		func(s *crashtest.Server) {
			c, err := crashtest.Dial(s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if v, err := c.Do("SHUTDOWN"); err == nil {
				t.Errorf("SHUTDOWN is answered with %v", v)
			}
		},
	} {
		s := startServed(t, dir)
		if i == 0 {
			s.Fill()
		}
		s.CheckFilled()
		end(s)
		if code := s.Exit(); code != 0 {
			t.Fatalf("way %d: exit code %d\n%s", i, code, &s.Log)
		}
		if !strings.Contains(s.Log.String(), `"msg":"stopped"`) {
			t.Errorf("way %d: the log does not say that the server has stopped\n%s", i, &s.Log)
		}
	}
	s := startServed(t, dir)
	s.CheckFilled()
	s.Stop()
}

// What runs when the server is told to end gets its answer.
func TestServeDrains(t *testing.T) {
	s := startServed(t, t.TempDir()+"/data")
	c, err := crashtest.Dial(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// More than can be done before the signal arrives.
	const commands = 200
	keys := make([]string, 1000)
	go func() {
		for i := range commands {
			for j := range keys {
				keys[j] = fmt.Sprint(i, "-", j)
			}
			if c.Send(append([]string{"BF.MADD", "bloom"}, keys...)...) != nil {
				return
			}
		}
	}()
	answered := 0
	for ; answered < commands; answered++ {
		v, err := c.Receive()
		if err == io.ErrUnexpectedEOF {
			t.Error("the connection ends within an answer")
		}
		if err != nil {
			break
		}
		if v.Kind != resp.Array || len(v.Elems) != len(keys) {
			t.Fatalf("answer %d is %.100v", answered, v)
		}
		if answered == 3 {
			s.Signal(syscall.SIGTERM)
		}
	}
	if code := s.Exit(); code != 0 || answered < 4 {
		t.Errorf("exit code %d after %d answers\n%s", code, answered, &s.Log)
	}
}

// The second signal does not wait for anything.
func TestServeSecondSignal(t *testing.T) {
	s := startServed(t, t.TempDir()+"/data", "--drain", "1h")
	// A request of HTTP that does not end keeps the first from ending.
	conn, err := net.Dial("tcp", s.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/filters/x/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
	if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 100"))); err != nil {
		t.Fatal(err) // it reads the body now
	}
	s.Signal(syscall.SIGTERM)
	if _, ok := s.Await("stopping"); !ok {
		t.Fatalf("the first signal is not heeded\n%s", &s.Log)
	}
	s.Signal(syscall.SIGTERM)
	if code := s.Exit(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d\n%s", code, &s.Log)
	}
}

func TestServePassword(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServed(t, t.TempDir()+"/data", "--password-file", password)
	s.Expect("-NOAUTH Authentication required.", "DBSIZE")
	c, err := crashtest.Dial(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, step := range []struct {
		words []string
		want  string
	}{
		{[]string{"AUTH", "wrong"}, "-WRONGPASS invalid username-password pair or user is disabled."},
		{[]string{"AUTH", "sesame"}, "+OK"},
		{[]string{"DBSIZE"}, ":0"},
	} {
		if v, err := c.Do(step.words...); err != nil || v.String() != step.want {
			t.Errorf("%v: %v, %v", step.words, v, err)
		}
	}
	for token, want := range map[string]int{"": 401, "wrong": 401, "sesame": 200} {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+s.HTTP+"/v1/filters", nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = reply.Body.Close()
		if reply.StatusCode != want {
			t.Errorf("token %q: %s", token, reply.Status)
		}
	}
	s.Stop()
	if log := s.Log.String(); strings.Contains(log, "sesame") {
		t.Errorf("the password is in the log\n%s", log)
	}
}
