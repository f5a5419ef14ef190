//go:build unix

package cli

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

	"seen/internal/crashtest"
	"seen/internal/resp"
)

// served is "seen serve" running as a process of its own.
type served struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string // of the first port
	http string
	log  logLines
}

// logLines are the lines that the process has logged so far.
type logLines struct {
	mutex sync.Mutex
	text  bytes.Buffer
	lines chan logLine
}

type logLine struct {
	Message string   `json:"msg"`
	Level   string   `json:"level"`
	Addr    []string `json:"addr"`
	HTTP    []string `json:"http"`
	Error   string   `json:"error"`
}

func (l *logLines) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// startServed starts a server on ports of its own and waits until it is ready.
func startServed(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	s := launchServed(t, dir, args...)
	line, ok := s.await("ready")
	if !ok {
		t.Fatalf("the server did not start:\n%s", &s.log)
	}
	if len(line.Addr) > 0 {
		s.addr = line.Addr[0]
	}
	if len(line.HTTP) > 0 {
		s.http = line.HTTP[0]
	}
	return s
}

// launchServed starts a server and does not wait.
func launchServed(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	s := &served{t: t}
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
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	s.log.lines = make(chan logLine, 10_000)
	go func() {
		defer close(s.log.lines)
		in := bufio.NewScanner(stderr)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			s.log.mutex.Lock()
			s.log.text.Write(append(in.Bytes(), '\n'))
			s.log.mutex.Unlock()
			var line logLine
			if json.Unmarshal(in.Bytes(), &line) == nil {
				select {
				case s.log.lines <- line:
				default: // nobody waits for so many
				}
			}
		}
	}()
	return s
}

// await waits for a line of the log, and reports false when the log ends without.
func (s *served) await(message string) (logLine, bool) {
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for {
		select {
		case line, ok := <-s.log.lines:
			if !ok {
				return logLine{}, false
			}
			if line.Message == message {
				return line, true
			}
		case <-limit.C:
			s.t.Errorf("nothing is logged for two minutes; waiting for %q", message)
			return logLine{}, false
		}
	}
}

// kill ends the process as a crash would, and waits for its end.
func (s *served) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	for range s.log.lines { // the pipe is read to its end before Wait closes it
	}
	_ = s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code != -1 {
		s.t.Fatalf("the server ended by itself with %d before it was killed\n%s", code, &s.log)
	}
}

// signal sends a signal.
func (s *served) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// exit waits for the end of the process and returns its exit code.
func (s *served) exit() int {
	for range s.log.lines {
	}
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// stop ends the server cleanly.
func (s *served) stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if code := s.exit(); code != ExitOK {
		s.t.Fatalf("the server ended with %d\n%s", code, &s.log)
	}
}

// must runs a command that has to succeed.
func (s *served) must(args ...string) resp.Value {
	s.t.Helper()
	c, err := crashtest.Dial(s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	v, err := c.Do(args...)
	if err != nil || v.Kind == resp.Error {
		s.t.Fatalf("%.100q: %v, %v\n%s", args, v, err, &s.log)
	}
	return v
}

// expect runs a command and compares its reply in the form of resp.Value.String.
func (s *served) expect(want string, args ...string) {
	s.t.Helper()
	c, err := crashtest.Dial(s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	if v, err := c.Do(args...); err != nil || v.String() != want {
		s.t.Errorf("%.100q: %v, %v; want %s", args, v, err, want)
	}
}

// seenOutput runs a subcommand as a process and returns what it prints and its
// exit code.
func seenOutput(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	cmd := command(args...)
	b, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}
