//go:build unix

package cli

import (
	"bytes"
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

// fillServed puts a value of each kind into a server; checkServed looks for them.
func fillServed(s *served) {
	s.must("BF.RESERVE", "bloom", "1e-6", "1000")
	s.must("BF.MADD", "bloom", "a", "b", "c")
	s.must("BF.ADD", "born", "a")
	s.must("CF.ADD", "cuckoo", "a")
	s.must("CF.ADD", "cuckoo", "a")
	s.must("CMS.INITBYDIM", "counts", "1000", "5")
	s.must("CMS.INCRBY", "counts", "a", "41")
	s.must("TOPK.RESERVE", "top", "3")
	s.must("TOPK.ADD", "top", "a", "b", "a")
	s.must("EXPIRE", "born", "100000")
}

func checkServed(s *served) {
	s.t.Helper()
	s.expect(":5", "DBSIZE")
	s.expect("[:1, :1, :1, :0]", "BF.MEXISTS", "bloom", "a", "b", "c", "d")
	s.expect(":3", "BF.CARD", "bloom")
	s.expect(":1", "BF.EXISTS", "born", "a")
	s.expect(":2", "CF.COUNT", "cuckoo", "a")
	s.expect("[:41]", "CMS.QUERY", "counts", "a")
	s.expect("[:1, :1, :0]", "TOPK.QUERY", "top", "a", "b", "c")
	if ttl := s.must("TTL", "born").Int; ttl < 90000 || ttl > 100000 {
		s.t.Errorf("TTL of born is %d", ttl)
	}
}

// A server that is told to end keeps everything and ends with 0, whoever tells it.
func TestServeCleanStop(t *testing.T) {
	dir := t.TempDir() + "/data"
	for i, end := range []func(*served){
		func(s *served) { s.signal(syscall.SIGTERM) },
		func(s *served) { s.signal(syscall.SIGINT) },
		func(s *served) {
			c, err := crashtest.Dial(s.addr)
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
			fillServed(s)
		}
		checkServed(s)
		end(s)
		if code := s.exit(); code != ExitOK {
			t.Fatalf("way %d: exit code %d\n%s", i, code, &s.log)
		}
		if !strings.Contains(s.log.String(), `"msg":"stopped"`) {
			t.Errorf("way %d: the log does not say that the server has stopped\n%s", i, &s.log)
		}
	}
	s := startServed(t, dir)
	checkServed(s)
	s.stop()
}

// What runs when the server is told to end gets its answer.
func TestServeDrains(t *testing.T) {
	s := startServed(t, t.TempDir()+"/data")
	c, err := crashtest.Dial(s.addr)
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
			s.signal(syscall.SIGTERM)
		}
	}
	if code := s.exit(); code != ExitOK || answered < 4 {
		t.Errorf("exit code %d after %d answers\n%s", code, answered, &s.log)
	}
}

// The second signal does not wait for anything.
func TestServeSecondSignal(t *testing.T) {
	s := startServed(t, t.TempDir()+"/data", "--drain", "1h")
	// A request of HTTP that does not end keeps the first from ending.
	conn, err := net.Dial("tcp", s.http)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/filters/x/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
	if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 100"))); err != nil {
		t.Fatal(err) // it reads the body now
	}
	s.signal(syscall.SIGTERM)
	if _, ok := s.await("stopping"); !ok {
		t.Fatalf("the first signal is not heeded\n%s", &s.log)
	}
	s.signal(syscall.SIGTERM)
	if code := s.exit(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d\n%s", code, &s.log)
	}
}

func TestServePassword(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServed(t, t.TempDir()+"/data", "--password-file", password)
	s.expect("-NOAUTH Authentication required.", "DBSIZE")
	c, err := crashtest.Dial(s.addr)
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
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+s.http+"/v1/filters", nil)
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
	s.stop()
	if log := s.log.String(); strings.Contains(log, "sesame") {
		t.Errorf("the password is in the log\n%s", log)
	}
}

func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	s := startServed(t, dir+"/data")
	fillServed(s)
	backup := filepath.Join(dir, "backup")
	if text, code := seenOutput(t, "backup", "--addr", s.addr, backup); code != ExitOK || text != "" {
		t.Fatalf("backup: exit code %d\n%s", code, text)
	}
	// What comes after the backup is not in it.
	s.must("BF.ADD", "bloom", "later")
	s.must("DEL", "cuckoo")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"backup", "--addr", s.addr, backup}, "the server answers"},
		{[]string{"backup", "--addr", "127.0.0.1:1", dir + "/x"}, "connection refused"},
		{[]string{"restore", dir + "/nothing", dir + "/new"}, "nothing"},
		{[]string{"restore", backup, dir + "/data"}, "data"},
	} {
		if text, code := seenOutput(t, c.args...); code != ExitError || !strings.Contains(text, c.want) {
			t.Errorf("seen %v: exit code %d\n%s", c.args, code, text)
		}
	}
	s.stop()
	if text, code := seenOutput(t, "restore", backup, dir+"/new"); code != ExitOK || !strings.Contains(text, "5 filters") {
		t.Fatalf("restore: exit code %d\n%s", code, text)
	}
	s = startServed(t, dir+"/new")
	checkServed(s)
	s.stop()

	// A backup that is damaged within: no folder is left that a server would not open.
	manifests, err := filepath.Glob(filepath.Join(backup, "db", "MANIFEST-*"))
	if err != nil || len(manifests) != 1 {
		t.Fatalf("manifests of the backup: %v, %v", manifests, err)
	}
	info, err := os.Stat(manifests[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifests[0], bytes.Repeat([]byte{0xff}, int(info.Size())), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, code := seenOutput(t, "restore", backup, dir+"/bad"); code != ExitError || !strings.Contains(text, "use another backup") {
		t.Errorf("restore of a damaged backup: exit code %d\n%s", code, text)
	}
	if _, err := os.Stat(dir + "/bad"); !os.IsNotExist(err) {
		t.Errorf("a damaged backup left a folder: %v", err)
	}
}
