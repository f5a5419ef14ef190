//go:build unix

package daemon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"seen/internal/crashtest"
)

// runAsDaemon, when set in the environment, makes this test binary be "seen serve".
const runAsDaemon = "RUN_AS_DAEMON"

func TestMain(m *testing.M) {
	if os.Getenv(runAsDaemon) != "" {
		os.Exit(serve(os.Args[2:]))
	}
	// In the background of a script, or under nohup, signals are ignored, and what
	// is started inherits that; a signal that is caught is not.
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	os.Exit(m.Run())
}

// serve does what the command does with its flags, and returns its exit code.
func serve(flags []string) int {
	s, from := NewSettings(), Sources{Flags: given(flags), Environ: os.Environ()}
	if file := from.Flags["config"]; file != nil {
		from.File = file[0]
	}
	err := s.Load(from)
	if err == nil {
		var c *Config
		if c, err = s.Check(); err == nil {
			if Run(context.Background(), c, Process{Version: "test", Log: os.Stderr, HandOver: func() error { return nil }}) != nil {
				return exitError
			}
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return exitError
}

// exitError is the exit code of a server that failed.
const exitError = 2

func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), runAsDaemon+"=1")
	return cmd
}

// startServed starts a server.
func startServed(t *testing.T, dir string, args ...string) *crashtest.Server {
	t.Helper()
	return crashtest.Start(t, command, dir, args...)
}

// serveOutput runs a server that is to end by itself, and returns what it prints and
// its exit code.
func serveOutput(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	cmd := command(append([]string{"serve"}, args...)...)
	b, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}
