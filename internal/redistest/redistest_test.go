package redistest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"seen/internal/resp"
)

var lab Lab

// orphan, set in the environment, makes the test binary start a server, print
// its address and wait to be killed.
const orphan = "SEEN_REDISTEST_ORPHAN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(orphan); dir != "" {
		s, err := Start(dir)
		if err != nil {
			os.Exit(2)
		}
		_, _ = os.Stdout.WriteString(s.Addr() + "\n")
		select {}
	}
	os.Exit(lab.Run(m, os.Stderr))
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestServer kills, restarts and pauses a server that writes to disk: what it
// had is there again, at the same address.
func TestServer(t *testing.T) {
	s := NewServer(t, "appendonly yes", "appendfsync always")
	do := func(args ...string) resp.Value { t.Helper(); return must[resp.Value](t)(s.Do(args...)) }
	do("SET", "k", "v")
	ok(t, s.Kill())
	if _, err := s.Do("GET", "k"); err == nil {
		t.Error("a killed server answers")
	}
	ok(t, s.Kill())
	ok(t, s.Restart())
	if v := do("GET", "k"); v.Text != "v" {
		t.Errorf("after the restart k is %v", v)
	}
	if _, err := s.Do("INCR", "k"); err == nil || !strings.Contains(err.Error(), "not an integer") {
		t.Errorf("an error reply gives %v", err)
	}
	if !strings.Contains(s.Log(), "Ready to accept connections") {
		t.Errorf("the log says %q", s.Log())
	}

	ok(t, s.Pause())
	conn := must[net.Conn](t)(net.Dial("tcp", s.Addr()))
	defer conn.Close()
	must[int](t)(conn.Write([]byte("PING\r\n")))
	ok(t, conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	reply := make([]byte, 7)
	if _, err := conn.Read(reply); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a paused server: %v", err)
	}
	ok(t, s.Resume())
	ok(t, conn.SetReadDeadline(time.Now().Add(patience)))
	must[int](t)(io.ReadFull(conn, reply))

	if _, err := Start(t.TempDir(), "no-such-setting 1"); err == nil || !strings.Contains(err.Error(), "no-such-setting") && !strings.Contains(err.Error(), "ended") {
		t.Errorf("a bad setting gives %v", err)
	}
	ok(t, s.Kill())
	if err := s.Pause(); err == nil {
		t.Error("a dead server is paused")
	}
}

// TestSeen asks our own server, before and after a crash.
func TestSeen(t *testing.T) {
	s := lab.Seen(t)
	must[resp.Value](t)(s.Do("BF.ADD", "f", "key"))
	ok(t, s.Kill())
	ok(t, s.Restart())
	if v := must[resp.Value](t)(s.Do("BF.EXISTS", "f", "key")); v.Int != 1 {
		t.Errorf("after the restart: %v", v)
	}
}

// TestOrphan kills the process that started a server: the server ends as well.
func TestOrphan(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the children of a process with it")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphan+"="+t.TempDir())
	out := must[io.ReadCloser](t)(cmd.StdoutPipe())
	ok(t, cmd.Start())
	line := make([]byte, 64)
	n := must[int](t)(out.Read(line))
	s := &Server{address: strings.TrimSpace(string(line[:n]))}
	must[resp.Value](t)(s.Do("PING"))
	ok(t, cmd.Process.Kill())
	_ = cmd.Wait()
	ok(t, await("the end of the orphan", func() (bool, error) {
		_, err := s.Do("PING")
		return err != nil, nil
	}))
}

// TestPair kills the primary: the replica takes its part and its keys, and the
// old one comes back as a replica.
func TestPair(t *testing.T) {
	p := lab.Pair(t)
	first := must[*Server](t)(p.Primary())
	other := p.Servers[0]
	if other == first {
		other = p.Servers[1]
	}
	must[resp.Value](t)(first.Do("SET", "pair", "1"))
	ok(t, await("the copy", func() (bool, error) {
		v, err := other.Do("GET", "pair")
		return v.Text == "1", err
	}))
	ok(t, first.Kill())
	ok(t, p.AwaitPrimary(other))
	must[resp.Value](t)(other.Do("SET", "pair", "2"))
	ok(t, first.Restart())
	ok(t, p.Await())
	if v := must[resp.Value](t)(first.Do("GET", "pair")); v.Text != "2" {
		t.Errorf("the old primary has %v", v)
	}
}

// TestCluster moves a slot and kills a primary.
func TestCluster(t *testing.T) {
	c := lab.Cluster(t)
	primaries := must[[]*Server](t)(c.Primaries())
	if len(primaries) != 3 || len(c.Addrs()) != 6 {
		t.Fatalf("%d primaries of %d nodes", len(primaries), len(c.Addrs()))
	}
	slot := must[int](t)(c.Slot("moved"))
	from := must[*Server](t)(c.Owner(slot))
	to := primaries[0]
	if to == from {
		to = primaries[1]
	}
	must[resp.Value](t)(from.Do("SET", "moved", "1"))
	var said []string
	ok(t, c.MoveSlot(slot, to, func() {
		_, err := from.Do("GET", "moved")
		said = append(said, "none")
		if err != nil {
			said[len(said)-1] = err.Error()
		}
	}))
	if len(said) != 2 || said[0] != "none" || !strings.Contains(said[1], "ASK "+strconv.Itoa(slot)) {
		t.Errorf("while it moved the old owner said %q", said)
	}
	if now := must[*Server](t)(c.Owner(slot)); now != to {
		t.Errorf("the owner is %s, want %s", now.Addr(), to.Addr())
	}
	if v := must[resp.Value](t)(to.Do("GET", "moved")); v.Text != "1" {
		t.Errorf("the new owner has %v", v)
	}

	ok(t, c.Await())
	ok(t, to.Kill())
	ok(t, c.AwaitOwner(slot, to))
	ok(t, to.Restart())
	ok(t, c.Await())
	if role := must[string](t)(to.Info("replication", "role")); role != "slave" {
		t.Errorf("the old owner is a %s", role)
	}
	ok(t, c.MoveSlot(slot, must[*Server](t)(c.Owner(slot)), nil))
}

// TestProxy sends an echo through every fault.
func TestProxy(t *testing.T) {
	s := lab.Server(t)
	p := must[*Proxy](t)(NewProxy(s.Addr()))
	dial := func() net.Conn {
		c := must[net.Conn](t)(net.Dial("tcp", p.Addr()))
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	text := bytes.Repeat([]byte("0123456789"), 10)
	command := resp.AppendCommand(nil, "ECHO", string(text))
	reply := len("$100\r\n") + 100 + 2
	// ask returns how much of the reply came, and how the wait for it ended.
	ask := func(c net.Conn, wait time.Duration) (int, error) {
		t.Helper()
		if _, err := c.Write(command); err != nil {
			return 0, err
		}
		ok(t, c.SetReadDeadline(time.Now().Add(wait)))
		return io.ReadFull(c, make([]byte, reply))
	}
	c := dial()
	if n, err := ask(c, patience); err != nil {
		t.Fatalf("through a whole proxy: %d, %v", n, err)
	}
	p.Set(Faults{Delay: 20 * time.Millisecond})
	begun := time.Now()
	if _, err := ask(c, patience); err != nil || time.Since(begun) < 40*time.Millisecond {
		t.Errorf("delayed: %v after %v", err, time.Since(begun))
	}
	p.Set(Faults{Stall: true})
	if n, err := ask(c, 50*time.Millisecond); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("stalled: %d, %v", n, err)
	}
	p.Set(Faults{})
	ok(t, c.SetReadDeadline(time.Now().Add(patience)))
	must[int](t)(io.ReadFull(c, make([]byte, reply)))
	for _, f := range []Faults{{Swallow: true}, {Mute: true}} {
		p.Set(f)
		must[resp.Value](t)(s.Do("CONFIG", "RESETSTAT"))
		if n, err := ask(c, 50*time.Millisecond); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%+v: %d, %v", f, n, err)
		}
		if came := must[string](t)(s.Info("commandstats", "cmdstat_echo")); (came != "") != f.Mute {
			t.Errorf("%+v: the engine has seen %q", f, came)
		}
	}
	p.Set(Faults{CutAfter: 40})
	if n, err := ask(c, patience); n != 40 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut after 40 bytes: %d, %v", n, err)
	}
	p.Set(Faults{Refuse: true})
	if n, err := ask(dial(), patience); n != 0 || err == nil {
		t.Errorf("refused: %d, %v", n, err)
	}
	p.Set(Faults{})
	c = dial()
	if _, err := ask(c, patience); err != nil {
		t.Fatal(err)
	}
	p.CloseConnections()
	if _, err := ask(c, patience); err == nil {
		t.Error("a closed connection answers")
	}
	p.Set(Faults{Stall: true})
	c = dial()
	must[int](t)(c.Write(command))
	ok(t, p.Close())
	if _, err := ask(c, patience); err == nil {
		t.Error("a closed proxy answers")
	}
}

// TestProgram names the remedy for an engine that is not there.
func TestProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if _, err := Program("redis-server"); err == nil || !strings.Contains(err.Error(), "scripts/deps test") {
		t.Errorf("without redis-server: %v", err)
	}
}
