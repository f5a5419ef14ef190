//go:build unix

package crashtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"seen/internal/resp"
)

// Server is "seen serve" running as a process of its own, for one test.
type Server struct {
	Addr string // of the first Redis port
	HTTP string // of the first HTTP port
	Log  Log

	t   *testing.T
	cmd *exec.Cmd
}

// Log is what the process has logged so far.
type Log struct {
	mutex sync.Mutex
	text  bytes.Buffer
	lines chan Line
}

// Line is a line of the log.
type Line struct {
	Message string   `json:"msg"`
	Addr    []string `json:"addr"`
	HTTP    []string `json:"http"`
	Error   string   `json:"error"`
}

// String returns all lines.
func (l *Log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// Start starts a server with its data in dir, on ports of its own, and waits until it
// is ready. command makes a command of arguments, the first of which is "serve".
func Start(t *testing.T, command func(args ...string) *exec.Cmd, dir string, args ...string) *Server {
	t.Helper()
	s := &Server{t: t}
	fixed := []string{"serve", "--data", dir, "--http", "127.0.0.1:0", "--log", "json", "--log-level", "debug"}
	if !slices.Contains(args, "--addr") {
		fixed = append(fixed, "--addr", "127.0.0.1:0")
	}
	s.cmd = command(append(fixed, args...)...)
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // it may have ended
	s.Log.lines = make(chan Line, 10_000)
	go func() {
		defer close(s.Log.lines)
		in := bufio.NewScanner(stderr)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			s.Log.mutex.Lock()
			s.Log.text.Write(append(in.Bytes(), '\n'))
			s.Log.mutex.Unlock()
			var line Line
			if json.Unmarshal(in.Bytes(), &line) == nil { // lines of other forms are kept as text
				select {
				case s.Log.lines <- line:
				default: // more lines than any test waits for
				}
			}
		}
	}()
	line, ok := s.Await("ready")
	if !ok {
		t.Fatalf("the server did not start:\n%s", &s.Log)
	}
	if len(line.Addr) > 0 {
		s.Addr = line.Addr[0]
	}
	if len(line.HTTP) > 0 {
		s.HTTP = line.HTTP[0]
	}
	return s
}

// Await waits for a line of the log, and reports false when the log ends without.
func (s *Server) Await(message string) (Line, bool) {
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for {
		select {
		case line, ok := <-s.Log.lines:
			if !ok {
				return Line{}, false
			}
			if line.Message == message {
				return line, true
			}
		case <-limit.C:
			s.t.Errorf("nothing is logged for two minutes; waiting for %q", message)
			return Line{}, false
		}
	}
}

// Kill ends the process as a crash would, and waits for its end.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	if code := s.Exit(); code != -1 {
		s.t.Fatalf("the server ended by itself with %d before it was killed\n%s", code, &s.Log)
	}
}

// Signal sends a signal.
func (s *Server) Signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Exit waits for the end of the process and returns its exit code.
func (s *Server) Exit() int {
	for range s.Log.lines { // the pipe is read to its end before Wait closes it
	}
	_ = s.cmd.Wait() // the exit code tells
	return s.cmd.ProcessState.ExitCode()
}

// Stop ends the server cleanly.
func (s *Server) Stop() {
	s.t.Helper()
	s.Signal(syscall.SIGTERM)
	if code := s.Exit(); code != 0 {
		s.t.Fatalf("the server ended with %d\n%s", code, &s.Log)
	}
}

// do runs a command on a connection of its own.
func (s *Server) do(args ...string) (resp.Value, error) {
	s.t.Helper()
	c, err := Dial(s.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close() // nothing is left to send
	return c.Do(args...)
}

// Must runs a command that has to succeed.
func (s *Server) Must(args ...string) resp.Value {
	s.t.Helper()
	v, err := s.do(args...)
	if err != nil || v.Kind == resp.Error {
		s.t.Fatalf("%.100q: %v, %v\n%s", args, v, err, &s.Log)
	}
	return v
}

// Expect runs a command and compares its reply in the form of resp.Value.String.
func (s *Server) Expect(want string, args ...string) {
	s.t.Helper()
	if v, err := s.do(args...); err != nil || v.String() != want {
		s.t.Errorf("%.100q: %v, %v; want %s", args, v, err, want)
	}
}

// Fill puts a value of each kind into the server.
func (s *Server) Fill() {
	s.t.Helper()
	s.Must("BF.RESERVE", "bloom", "1e-6", "1000")
	s.Must("BF.MADD", "bloom", "a", "b", "c")
	s.Must("BF.ADD", "born", "a")
	s.Must("CF.ADD", "cuckoo", "a")
	s.Must("CF.ADD", "cuckoo", "a")
	s.Must("CMS.INITBYDIM", "counts", "1000", "5")
	s.Must("CMS.INCRBY", "counts", "a", "41")
	s.Must("TOPK.RESERVE", "top", "3")
	s.Must("TOPK.ADD", "top", "a", "b", "a")
	s.Must("EXPIRE", "born", "100000")
}

// CheckFilled looks for what Fill has put into the server.
func (s *Server) CheckFilled() {
	s.t.Helper()
	s.Expect(":5", "DBSIZE")
	s.Expect("[:1, :1, :1, :0]", "BF.MEXISTS", "bloom", "a", "b", "c", "d")
	s.Expect(":3", "BF.CARD", "bloom")
	s.Expect(":1", "BF.EXISTS", "born", "a")
	s.Expect(":2", "CF.COUNT", "cuckoo", "a")
	s.Expect("[:41]", "CMS.QUERY", "counts", "a")
	s.Expect("[:1, :1, :0]", "TOPK.QUERY", "top", "a", "b", "c")
	if ttl := s.Must("TTL", "born").Int; ttl < 90000 || ttl > 100000 {
		s.t.Errorf("TTL of born is %d", ttl)
	}
}
