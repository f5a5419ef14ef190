package redistest

import (
	"fmt"
	"os"
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
	if err := buildSeen(program); err != nil {
		return nil, err
	}
	return onFreePort(dir, "seen", func(s *Server, _ int) error {
		s.program = program
		s.args = append([]string{"serve", "--data", filepath.Join(s.dir, "data"), "--addr", s.address, "--http", "127.0.0.1:0"}, options...)
		return nil
	})
}

// built is the program that this process has built last; linking it takes seconds.
var built struct {
	sync.Mutex
	program string
}

// buildSeen puts the command into the file program.
func buildSeen(program string) error {
	built.Lock()
	defer built.Unlock()
	// The folder of the other may be gone, and its disk another one.
	if built.program == "" || os.Link(built.program, program) != nil {
		out, err := exec.Command("go", "build", "-o", program, "seen/cmd/seen").CombinedOutput()
		if err != nil {
			return fmt.Errorf("redistest: building seen: %w\n%s", err, out)
		}
	}
	built.program = program
	return nil
}

// Seen returns the package's server of this project.
func (l *Lab) Seen(tb testing.TB) *Server {
	tb.Helper()
	return shared(tb, l, &l.seen, StartSeen, func(s *Server) []*Server { return []*Server{s} })
}
