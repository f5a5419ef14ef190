package redistest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"seen/internal/resp"
)

// patience bounds every wait for an engine: far above what a loaded machine
// needs, so that it ends only what would hang.
const patience = 60 * time.Second

// A Server is one process: of redis-server, a Sentinel included, or of "seen
// serve". It keeps its address and its folder over Kill and Restart.
type Server struct {
	dir, address, program string
	args                  []string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// Start starts a server in a new folder below dir, with the lines of config (as
// in redis.conf, without the port) over those of a server that keeps everything
// in memory and listens on loopback. It returns when the server answers.
func Start(dir string, config ...string) (*Server, error) {
	return start(dir, "server", false, config)
}

func start(dir, kind string, sentinel bool, config []string) (*Server, error) {
	program, err := Program("redis-server")
	if err != nil {
		return nil, err
	}
	return onFreePort(dir, kind, func(s *Server, port int) error {
		file := filepath.Join(s.dir, "redis.conf")
		s.program, s.args = program, []string{file}
		lines := []string{
			"bind 127.0.0.1", "port " + strconv.Itoa(port), "dir " + s.dir, "logfile " + s.logFile(), "daemonize no", "protected-mode no",
		}
		if sentinel {
			s.args = append(s.args, "--sentinel")
		} else {
			lines = append(lines, `save ""`, "appendonly no", "enable-debug-command yes", "repl-diskless-sync-delay 0")
		}
		for _, line := range config {
			if line == "cluster-enabled yes" {
				bus, err := freePort()
				if err != nil {
					return err
				}
				lines = append(lines, "cluster-port "+strconv.Itoa(bus))
			}
			lines = append(lines, line)
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			return fmt.Errorf("redistest: the engine's configuration: %w", err)
		}
		return nil
	})
}

// onFreePort starts a server in a new folder below dir, on a free port; prepare
// sets its program and arguments.
func onFreePort(dir, kind string, prepare func(s *Server, port int) error) (*Server, error) {
	// Between the choice of a port and its use somebody else may take it.
	var last error
	for range 20 {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s := &Server{address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
		if s.dir, err = os.MkdirTemp(dir, fmt.Sprintf("%s-%d-", kind, port)); err != nil {
			return nil, fmt.Errorf("redistest: a folder for the engine: %w", err)
		}
		if err := prepare(s, port); err != nil {
			return nil, err
		}
		if last = s.Restart(); last == nil {
			return s, nil
		}
		if stop := s.Kill(); stop != nil {
			return nil, stop
		}
		if !strings.Contains(strings.ToLower(s.Log()), "address already in use") {
			return nil, fmt.Errorf("%w\n%s", last, s.Log())
		}
	}
	return nil, last
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// Addr is the address on loopback, host:port.
func (s *Server) Addr() string { return s.address }

// Restart starts the process where it does not run, with the folder and the
// configuration that it had, and returns when it answers.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs() {
		return nil
	}
	// What it says before its log is open.
	said, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("redistest: the engine's log: %w", err)
	}
	defer said.Close() // the process has it open
	cmd := exec.Command(s.program, s.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, said, said
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("redistest: %s: %w", s.program, err)
	}
	s.cmd, s.done = cmd, make(chan struct{})
	go reap(s.cmd, s.done)
	return await("an answer of "+s.address, func() (bool, error) {
		if !s.runs() {
			return false, fmt.Errorf("redistest: the engine at %s ended: %v", s.address, cmd.ProcessState)
		}
		_, err := s.Do("PING")
		return err == nil, nil
	})
}

// reap waits for the end of a process. Tests that look for leaked goroutines
// leave it out by its name.
func reap(cmd *exec.Cmd, done chan<- struct{}) {
	defer close(done)
	// How the process ended is in its state; that it was killed is not an error here.
	_ = cmd.Wait()
}

// Reaper names the function whose goroutine waits for a process, for goleak.
const Reaper = "seen/internal/redistest.reap"

// runs wants mu.
func (s *Server) runs() bool {
	if s.cmd == nil {
		return false
	}
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Kill ends the process with SIGKILL, as a crash does, and returns when it is
// gone. A process that does not run is not an error.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.runs() {
		return nil
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("redistest: kill %s: %w", s.address, err)
	}
	<-s.done
	return nil
}

// Pause stops the process without ending it: connections stay, and nothing
// answers until Resume.
func (s *Server) Pause() error { return s.signal(true) }

// Resume undoes Pause.
func (s *Server) Resume() error { return s.signal(false) }

func (s *Server) signal(stop bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.runs() {
		return fmt.Errorf("redistest: %s does not run", s.address)
	}
	return pause(s.cmd.Process, stop)
}

// Log returns the end of what the process has logged.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	const most = 8 << 10
	return fmt.Sprintf("log of %s:\n%s", s.address, b[max(0, len(b)-most):])
}

// Do sends one command over a connection of its own. An error reply is an error.
func (s *Server) Do(args ...string) (resp.Value, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return resp.Value{}, fmt.Errorf("redistest: %w", err)
	}
	defer conn.Close() // the answer has come, or its error
	limit, _ := ctx.Deadline()
	if err := conn.SetDeadline(limit); err != nil {
		return resp.Value{}, fmt.Errorf("redistest: %w", err)
	}
	if _, err := conn.Write(resp.AppendCommand(nil, args...)); err != nil {
		return resp.Value{}, fmt.Errorf("redistest: %s: %w", args[0], err)
	}
	var buf []byte
	piece := make([]byte, 64<<10)
	for {
		n, err := conn.Read(piece)
		buf = append(buf, piece[:n]...)
		v, used, bad := resp.ParseReply(buf)
		switch {
		case bad != nil:
			return resp.Value{}, fmt.Errorf("redistest: %s at %s: %w", args[0], s.address, bad)
		case used > 0 && v.Kind == resp.Error:
			return v, fmt.Errorf("redistest: %s at %s: %s", strings.Join(args[:min(len(args), 3)], " "), s.address, v.Text)
		case used > 0:
			return v, nil
		case errors.Is(err, io.EOF):
			return resp.Value{}, fmt.Errorf("redistest: %s closed the connection: %w", s.address, err)
		case err != nil:
			return resp.Value{}, fmt.Errorf("redistest: %s at %s: %w", args[0], s.address, err)
		}
	}
}

// Info returns the field of a section of INFO, empty where there is none.
func (s *Server) Info(section, field string) (string, error) {
	v, err := s.Do("INFO", section)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(v.Text) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", nil
}

// Program finds a program of the engines: where the shell would, and in the
// folder where scripts/deps unpacks packages when it may not install them.
func Program(name string) (string, error) {
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	cache, err := os.UserCacheDir()
	if err == nil {
		unpacked := filepath.Join(cache, "seen", "programs", "bin", name)
		if _, err = exec.LookPath(unpacked); err == nil {
			return unpacked, nil
		}
	}
	return "", fmt.Errorf("redistest: there is no %s; \"make deps\" (scripts/deps test) installs it", name)
}

// freePort chooses a free port, below those that the system gives to outgoing connections,
// so that a server that is killed finds its port free when it starts again.
func freePort() (int, error) {
	var last error
	for range 1000 {
		port := 12000 + rand.IntN(20000)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			last = err
			continue
		}
		if err := l.Close(); err != nil {
			return 0, fmt.Errorf("redistest: %w", err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("redistest: no free port between 12000 and 32000: %w", last)
}

// await asks until the answer is yes, an error, or late. A connection that fails is
// no answer: an engine closes them when it starts or becomes a replica.
func await(what string, ok func() (bool, error)) error {
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		done, err := ok()
		_, network := errors.AsType[*net.OpError](err)
		if done || err != nil && !network && !errors.Is(err, io.EOF) {
			return err
		}
		if time.Since(begun) > patience {
			return errors.Join(fmt.Errorf("redistest: waited %v for %s without success", patience, what), err)
		}
	}
}
