package powerloss

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"seen/internal/crashtest"
)

// program builds the command seen once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "powerloss")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "seen")
	build := exec.Command("go", "build", "-o", name, "./cmd/seen")
	build.Dir = filepath.Join("..", "..") // the module of the product
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building seen: %w\n%s", err, out)
	}
	return name, nil
})

// machine is a machine with an attached disk, on which the command runs.
type machine struct {
	t       *testing.T
	program string
	dir     string // for sockets and mount points
	*attached
}

// powerUp attaches a disk and mounts its file system. The end of the test detaches it if
// necessary.
func powerUp(t *testing.T, disk *Disk, format bool, options string) *machine {
	t.Helper()
	name, err := program()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, program: name, dir: t.TempDir()}
	if m.attached, err = attach(disk, m.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if m.attached != nil {
			m.powerDown()
		}
	})
	if format {
		if _, err := run("mkfs.ext4", "-q", "-m", "0", "-E", "nodiscard,lazy_itable_init=1", m.device); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.mount(m.dir, options+",noinit_itable"); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) powerDown() {
	m.t.Helper()
	if err := m.detach(); err != nil {
		m.t.Error(err)
	}
	m.attached = nil
}

// seen runs a subcommand in the folder of the disk and returns what it prints.
func (m *machine) seen(input string, args ...string) (output string, err error) {
	cmd := exec.Command(m.program, args...)
	cmd.Dir, cmd.Stdin = m.folder, strings.NewReader(input)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("seen %s: %w\n%s", strings.Join(args, " "), err, &log)
	}
	return out.String(), nil
}

// filter returns the lines that "seen filter" prints. It may print no lines.
func (m *machine) filter(lines string, args ...string) (string, error) {
	output, err := m.seen(lines, append([]string{"filter"}, args...)...)
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() == 1 && output == "" {
		return "", nil
	}
	return output, err
}

// server is "seen serve" on a machine.
type server struct {
	cmd     *exec.Cmd
	log     bytes.Buffer
	ended   chan struct{}
	address string
}

// serve starts the server on the disk and waits until it answers.
func (m *machine) serve(args ...string) (*server, error) {
	socket := filepath.Join(m.dir, "socket")
	s := &server{ended: make(chan struct{}), address: "unix:" + socket}
	s.cmd = exec.Command(m.program, append([]string{"serve", "--data", filepath.Join(m.folder, "data"), "--addr", "off", "--http", "off", "--unix", socket}, args...)...)
	s.cmd.Stderr = &s.log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if c, err := crashtest.Dial(s.address); err == nil {
			v, err := c.Do("PING")
			c.Close()
			if err == nil && v.Text == "PONG" {
				return s, nil
			}
		}
		select {
		case <-s.ended:
			return nil, fmt.Errorf("the server ended with %d\n%s", s.cmd.ProcessState.ExitCode(), &s.log)
		default:
		}
		if time.Now().After(limit) {
			s.kill()
			return nil, fmt.Errorf("the server does not answer after a minute\n%s", &s.log)
		}
	}
}

// kill kills the server and waits for its end.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.ended
}

// canLosePower returns why the tests cannot run on this machine, or nil.
func canLosePower() error {
	if os.Getuid() != 0 {
		return errors.New("needs root")
	}
	for _, file := range []string{"/dev/fuse", "/dev/loop-control"} {
		if _, err := os.Stat(file); err != nil {
			return err
		}
	}
	for _, name := range []string{"losetup", "mkfs.ext4", "mount", "umount"} {
		if _, err := exec.LookPath(name); err != nil {
			return err
		}
	}
	return nil
}
