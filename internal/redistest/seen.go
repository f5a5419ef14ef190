package redistest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// StartSeen builds the command of this project and starts "seen serve" with the
// given options in a new folder below dir. It returns when the server answers.
func StartSeen(dir string, options ...string) (*Server, error) {
	program := filepath.Join(dir, "seen")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	building.Lock()
	out, err := exec.Command("go", "build", "-o", program, "seen/cmd/seen").CombinedOutput()
	building.Unlock()
	if err != nil {
		return nil, fmt.Errorf("redistest: building seen: %w\n%s", err, out)
	}
	return onFreePort(dir, "seen", func(s *Server, _ int) error {
		s.program = program
		s.args = append([]string{"serve", "--data", filepath.Join(s.dir, "data"), "--addr", s.address, "--http", "127.0.0.1:0"}, options...)
		return nil
	})
}

// building keeps tests from building the same program at the same time.
var building sync.Mutex

// Seen returns the package's server of this project.
func (l *Lab) Seen(tb testing.TB) *Server {
	tb.Helper()
	return shared(tb, l, &l.seen, StartSeen, func(s *Server) []*Server { return []*Server{s} })
}
