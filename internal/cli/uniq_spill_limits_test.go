package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// spillInput writes lines that need the disk with -m 64KiB, and of which some are late, and
// returns the name of the file and the lines that occur first.
func spillInput(t *testing.T) (name, first string) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var all, once strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&all, "line %d\n", i)
		fmt.Fprintf(&once, "line %d\n", i)
		if i%3 == 0 {
			fmt.Fprintf(&all, "line %d\n", i/2)
		}
	}
	name = filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name, once.String()
}

// isPartOf reports whether each line of got is one of first, and none comes twice.
func isPartOf(got, first string) bool {
	lines := map[string]bool{}
	for line := range strings.Lines(first) {
		lines[line] = true
	}
	for line := range strings.Lines(got) {
		if !lines[line] {
			return false
		}
		delete(lines, line)
	}
	return true
}

// Without room on the disk a run ends with exit code 3 and what is right; -o leaves the file
// as it was.
func TestSpillNoRoom(t *testing.T) {
	name, first := spillInput(t)
	code, got, said := run("", "uniq", "-m", "64KiB", "--spill-max", "400KiB", name)
	if code != ExitLimit || got == "" || !isPartOf(got, first) {
		t.Errorf("exit code %d, %d bytes", code, len(got))
	}
	for _, want := range []string{"stopped after ", "--spill-max 400KiB is used up", "what was printed so far is right", "are not decided and were not printed", "--spill DIR"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(out, []byte("former\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, said = run("", "uniq", "-m", "64KiB", "--spill-max", "400KiB", "-o", out, name)
	if b, err := os.ReadFile(out); err != nil || string(b) != "former\n" || code != ExitLimit || !strings.Contains(said, out+" is as it was") {
		t.Errorf("exit code %d, %q, %v: %s", code, b, err, said)
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	code, got, said = run("", "uniq", "-m", "64KiB", name)
	if code != ExitLimit || !isPartOf(got, first) || !strings.Contains(said, "temporary files cannot be made in") {
		t.Errorf("without a folder: exit code %d, %s", code, said)
	}
}

// A join in the middle makes room below --spill-max where most of the files are doubts.
func TestSpillJoinsBelowLimit(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var all strings.Builder
	for range 30 {
		for i := range 10_000 {
			fmt.Fprintln(&all, i)
		}
	}
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, []byte(all.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{nil, {name}, {name, "-o", filepath.Join(t.TempDir(), "out")}} {
		args := append([]string{"-m", "4096", "--spill-max", "1MiB"}, more...)
		r, _ := uniqReportOf(t, all.String(), args...)
		if r.Kept != 10_000 || r.DiskBytes > 1<<20 || r.SpilledBytes < 2<<20 {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

func TestSpillLateFail(t *testing.T) {
	name, first := spillInput(t)
	code, got, said := run("", "uniq", "-m", "64KiB", "--late", "fail", name)
	if code != ExitLimit || !isPartOf(got, first) || !strings.Contains(said, "lines are new and were not printed") || strings.Contains(said, "not decided") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, got, said := run("", "uniq", "-m", "10MiB", "--late", "fail", name); code != ExitOK || got != first || said != "" {
		t.Errorf("with enough memory: exit code %d: %s", code, said)
	}
}

// changing is a standard error that changes a file when late lines are about to be printed.
type changing struct {
	bytes.Buffer
	name string
}

func (c *changing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("lines come late")) {
		b, err := os.ReadFile(c.name)
		if err != nil {
			return 0, err
		}
		b[bytes.LastIndex(b, []byte("line"))] = 'L'
		if err := os.WriteFile(c.name, b, 0o600); err != nil {
			return 0, err
		}
	}
	return c.Buffer.Write(p)
}

// A file that changes between its two readings is an error.
func TestSpillChangedInput(t *testing.T) {
	name, first := spillInput(t)
	var out bytes.Buffer
	said := &changing{name: name}
	code := Run(context.Background(), Env{Args: []string{"uniq", "-m", "64KiB", name}, Stdout: &out, Stderr: said})
	if code != ExitError || !strings.Contains(said.String(), "the file has changed since it was first read") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if !isPartOf(out.String(), first+"Line 59999\n") {
		t.Error("a line is wrong")
	}
}

// A live input gets its late lines when it pauses, not only when it ends.
func TestSpillLive(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	name, first := spillInput(t)
	all, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	in, feed := io.Pipe()
	out := new(lockedBuffer)
	done := make(chan int)
	go func() {
		done <- Run(context.Background(), Env{Args: []string{"uniq", "-q", "-m", "64KiB"}, Stdin: in, Stdout: out, Stderr: io.Discard})
	}()
	for range 2 {
		if _, err := feed.Write(all); err != nil {
			t.Fatal(err)
		}
		for i := 0; out.len() < len(first) && i < 600; i++ {
			time.Sleep(50 * time.Millisecond)
		}
		if got := out.text(); len(got) != len(first) || !isPartOf(got, first) {
			t.Errorf("%d bytes of %d while the input pauses", len(got), len(first))
		}
	}
	feed.Close()
	if code := <-done; code != ExitOK || out.len() != len(first) {
		t.Errorf("exit code %d, %d bytes of %d", code, out.len(), len(first))
	}
}

// lockedBuffer is a buffer for two goroutines.
type lockedBuffer struct {
	mutex sync.Mutex
	bytes bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes.Write(p)
}

func (b *lockedBuffer) len() int { return len(b.text()) }

func (b *lockedBuffer) text() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.bytes.String()
}

// A run that is interrupted says how many lines are not decided, and nothing if all are
// decided and printed.
func TestSpillInterrupted(t *testing.T) {
	name, first := spillInput(t)
	all, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{1, len(first)} { // bytes of output
		if after > 1 && testing.Short() {
			continue // takes seconds
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		in, feed := io.Pipe()
		out, said := new(lockedBuffer), new(lockedBuffer)
		done := make(chan int)
		go func() {
			done <- Run(ctx, Env{Args: []string{"uniq", "-m", "64KiB"}, Stdin: in, Stdout: out, Stderr: said})
		}()
		if _, err := feed.Write(all); err != nil {
			t.Fatal(err)
		}
		for i := 0; out.len() < after && i < 3000; i++ {
			time.Sleep(10 * time.Millisecond)
		}
		cancel(&signalError{15})
		code := <-done
		feed.Close()
		if code != 128+15 || !isPartOf(out.text(), first) {
			t.Errorf("exit code %d, %d bytes", code, out.len())
		}
		const note = "are not decided and were not printed"
		if is, want := strings.Contains(said.text(), note), out.len() < len(first); is != want {
			t.Errorf("after %d of %d bytes it says %s", out.len(), len(first), said.text())
		}
	}
}
