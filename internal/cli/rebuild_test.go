package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/internal/frame"
)

// run runs the command in this process and returns its exit code and output.
func run(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, messages bytes.Buffer
	code = Run(context.Background(), Env{Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &messages})
	return code, out.String(), messages.String()
}

// TestRebuild: a file that a machine crash left in the middle of changes is
// refused by all commands with a message what to do, and is accepted after that is done.
func TestRebuild(t *testing.T) {
	name := filepath.Join(t.TempDir(), "set.seen")
	if code, _, stderr := run("a\nb\n", "build", "-q", "-o", name); code != 0 {
		t.Fatal(stderr)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[frame.StateOffset:], frame.AppendState(nil, frame.State{Mark: frame.MarkDirty, BootID: [16]byte{1, 2, 3}}))
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", name, "a"}, {"info", name}, {"verify", name}, {"uniq", "--state", name}, {"add", name}} {
		if code, _, stderr := run("", args...); code != ExitError || !strings.Contains(stderr, "seen verify --rebuild") {
			t.Errorf("%v: exit code %d, message %q", args, code, stderr)
		}
	}
	if code, stdout, stderr := run("", "verify", "--rebuild", name); code != 0 || !strings.Contains(stdout, "ok") {
		t.Errorf("rebuild: exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := run("", "check", name, "a", "b"); code != 0 {
		t.Errorf("check after rebuild: exit code %d\n%s%s", code, stdout, stderr)
	}
}
