//go:build unix

package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"seen/internal/resp"
)

// fillServed puts values into a server; checkServed looks for them.
func fillServed(s *served) {
	s.must("BF.RESERVE", "bloom", "1e-6", "1000")
	s.must("BF.MADD", "bloom", "a", "b", "c")
	s.must("BF.ADD", "born", "a")
}

func checkServed(s *served) {
	s.t.Helper()
	s.expect("[:1, :1, :1, :0]", "BF.MEXISTS", "bloom", "a", "b", "c", "d")
	s.expect(":3", "BF.CARD", "bloom")
	s.expect(":1", "BF.EXISTS", "born", "a")
}

// A server that is told to end keeps everything and ends with 0, whoever tells it.
func TestServeCleanStop(t *testing.T) {
	dir := t.TempDir() + "/data"
	for i, end := range []func(*served){
		func(s *served) { s.signal(syscall.SIGTERM) },
		func(s *served) { s.signal(syscall.SIGINT) },
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
	c, err := dialServed(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.conn.Close()
	// More than can be done before the signal arrives.
	const commands = 200
	keys := make([]string, 1000)
	go func() {
		for i := range commands {
			for j := range keys {
				keys[j] = fmt.Sprint(i, "-", j)
			}
			if c.send(append([]string{"BF.MADD", "bloom"}, keys...)...) != nil {
				return
			}
		}
	}()
	answered := 0
	for ; answered < commands; answered++ {
		v, err := c.receive()
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
	if len(c.in) > 0 {
		t.Errorf("the connection ends within an answer: %.60q", c.in)
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
	if text, code := seenOutput(t, "restore", backup, dir+"/new"); code != ExitOK || !strings.Contains(text, "2 filters") {
		t.Fatalf("restore: exit code %d\n%s", code, text)
	}
	s = startServed(t, dir+"/new")
	checkServed(s)
	s.stop()
}
