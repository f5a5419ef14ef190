//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/corpus"
	"seen/internal/crashtest"
)

// command returns seen with the given arguments, as a process of its own.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), runAsCommand+"=1")
	return cmd
}

// startServed starts "seen serve".
func startServed(t *testing.T, dir string, args ...string) *crashtest.Server {
	t.Helper()
	return crashtest.Start(t, command, dir, args...)
}

// seenOutput runs a subcommand as a process and returns what it prints and its exit
// code.
func seenOutput(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	cmd := command(args...)
	b, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// input writes a corpus to a file.
func inputFile(t *testing.T, c corpus.Config) string {
	t.Helper()
	r, err := corpus.NewReader(c)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "in.txt")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, r); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// distinctLines returns the lines of the outputs together, each once, and how
// many there were.
func distinctLines(t *testing.T, name string) (set map[string]bool, n int) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	set = map[string]bool{}
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Scan() {
		set[s.Text()] = true
		n++
	}
	return set, n
}

// TestKilledRunsLoseNothing kills runs with a state at random moments, each going
// on from the state that the last one left, until one ends by itself. Their
// outputs together must hold every distinct line, however they were cut off.
func TestKilledRunsLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	config := corpus.Config{Kind: corpus.URLs, Lines: 400_000, Distinct: 200_000, Seed: 1}
	in := inputFile(t, config)
	r := rand.New(rand.NewPCG(1, 9))
	for _, mode := range [][]string{
		{"uniq", "-q"},
		{"uniq", "-q", "-n", "1000", "-p", "1e-9"},
		{"uniq", "-q", "--window", "1000d"},
	} {
		t.Run(strings.Join(mode, " "), func(t *testing.T) {
			dir := t.TempDir()
			state, out := filepath.Join(dir, "state"), filepath.Join(dir, "out")
			killed, torn := 0, 0
			for limit := 20 * time.Millisecond; ; limit += limit / 8 {
				w, err := os.OpenFile(out, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
				if err != nil {
					t.Fatal(err)
				}
				cmd := command(append(mode, "--state", state, "--checkpoint", "1ms", in)...)
				cmd.Stdout = w
				var messages bytes.Buffer
				cmd.Stderr = &messages
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				timer := time.AfterFunc(time.Duration(r.Int64N(int64(limit))), func() { _ = cmd.Process.Kill() })
				err = cmd.Wait()
				timer.Stop()
				if closeErr := w.Close(); closeErr != nil {
					t.Fatal(closeErr)
				}
				if err == nil {
					break
				}
				if killed++; cmd.ProcessState.ExitCode() != -1 {
					t.Fatalf("a run ended by itself: %v\n%s", err, &messages)
				}
				if v, err := bloomfile.Read(state, bloom.LoadOptions{}); err == nil {
					if v.Stats().Added > 0 {
						torn++
					}
				} else if !errors.Is(err, os.ErrNotExist) {
					t.Fatalf("a killed run left a state that cannot be read: %v", err)
				}
				// The last line of a killed run may be cut off; the next run must
				// not write on in the middle of it.
				endLine(t, out)
			}
			lines, n := distinctLines(t, out)
			missing := 0
			for i := range config.Distinct {
				if !lines[string(config.AppendLine(nil, i))] {
					missing++
				}
			}
			if missing > 0 {
				t.Errorf("after %d killed runs %d of %d lines are in no output", killed, missing, config.Distinct)
			}
			if killed < 3 || torn < 1 {
				t.Errorf("only %d runs were killed, %d after a checkpoint; the test shows nothing", killed, torn)
			}
			t.Logf("%d runs killed, %d after a checkpoint; %d lines printed for %d distinct", killed, torn, n, config.Distinct)
		})
	}
}

// endLine completes the last line of a file.
func endLine(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 0 && b[len(b)-1] != '\n' {
		if err := os.WriteFile(name, append(b, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledOutputIsWhole kills runs with -o at random moments: the file is the
// former one or the new one.
func TestKilledOutputIsWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	config := corpus.Config{Kind: corpus.URLs, Lines: 100_000, Distinct: 50_000, Seed: 2}
	in := inputFile(t, config)
	dir := t.TempDir()
	out, state := filepath.Join(dir, "out"), filepath.Join(dir, "state")
	var whole []byte
	for i := range config.Distinct {
		whole = append(config.AppendLine(whole, i), '\n')
	}
	former := []byte("the former output\n")
	r := rand.New(rand.NewPCG(2, 9))
	ended := 0
	for range 40 {
		if err := os.WriteFile(out, former, 0o666); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(state)
		cmd := command("uniq", "-q", "-o", out, "--state", state, in)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.Int64N(int64(80 * time.Millisecond))))
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			ended++
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		isNew := bytes.Equal(b, whole)
		if !isNew && !bytes.Equal(b, former) {
			t.Fatalf("the output is neither the former one nor the new one: %d bytes", len(b))
		}
		if _, err := os.Stat(state); err == nil && !isNew {
			t.Fatal("the state was saved before the output was in place")
		}
	}
	t.Logf("%d of 40 runs ended before they were killed", ended)
}

// feed starts seen with a pipe as input, and returns when it has printed one line.
func feed(t *testing.T, args ...string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader, messages *messages) {
	t.Helper()
	cmd = command(args...)
	messages = newMessages()
	cmd.Stderr = messages
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out = bufio.NewReader(stdout)
	fmt.Fprintln(in, "first")
	if line, err := out.ReadString('\n'); err != nil || line != "first\n" {
		t.Fatalf("read %q, error %v\n%s", line, err, messages)
	}
	return cmd, in, out, messages
}

// messages is what a run writes to standard error, to be read while it runs.
type messages struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func newMessages() *messages { return new(messages) }

func (m *messages) Write(b []byte) (int, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.text.Write(b)
}

func (m *messages) String() string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.text.String()
}

// awaitStatus sends SIGUSR1 until the status that it prints has the text.
func awaitStatus(t *testing.T, cmd *exec.Cmd, m *messages, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(m.String(), text); time.Sleep(5 * time.Millisecond) {
		if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil || time.Now().After(deadline) {
			t.Fatalf("the status is never %q: %v\n%s", text, err, m)
		}
	}
}

// TestSignals: an interrupted run saves its state first, and says by its exit
// code which signal it was.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		state := filepath.Join(t.TempDir(), "state")
		cmd, _, _, messages := feed(t, "uniq", "--line-buffered", "--state", state)
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 128+int(sig) {
			t.Errorf("%v: exit code %d, want %d\n%s", sig, code, 128+int(sig), messages)
		}
		v, err := bloomfile.Read(state, bloom.LoadOptions{})
		if err != nil {
			t.Fatalf("%v: %v", sig, err)
		}
		if hash := v.Hash(); !v.HasHash(hash.SumString("first")) {
			t.Errorf("%v: the state does not hold the line that was printed", sig)
		}
		if _, err := os.Stat(state + ".lock"); err == nil {
			t.Errorf("%v: the lock is still there", sig)
		}
	}
}

// TestInterruptedOutput: with a state an interrupted -o is kept, so that a resumed
// run goes on from there; without one the former file stays.
func TestInterruptedOutput(t *testing.T) {
	for _, withState := range []bool{true, false} {
		dir := t.TempDir()
		out := filepath.Join(dir, "out")
		if err := os.WriteFile(out, []byte("former\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		args := []string{"uniq", "-o", out}
		want := "former\n"
		if withState {
			args = append(args, "--state", filepath.Join(dir, "state"))
			want = "first\n"
		}
		cmd := command(args...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		messages := newMessages()
		cmd.Stderr = messages
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(in, "first")
		waitForTemp(t, dir)
		awaitStatus(t, cmd, messages, "kept 1")
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(b); got != want {
			t.Errorf("with state: %v: the output is %q, want %q", withState, got, want)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*tmp*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// waitForTemp waits until the run has opened its output.
func waitForTemp(t *testing.T, dir string) {
	t.Helper()
	for range 500 {
		if entries, _ := os.ReadDir(dir); len(entries) > 1 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the run does not begin")
}

// TestStatusSignal: SIGUSR1 prints the progress and does not end the run.
func TestStatusSignal(t *testing.T) {
	cmd, in, out, messages := feed(t, "uniq", "--line-buffered")
	awaitStatus(t, cmd, messages, "kept 1") // the line was printed a moment before it is counted
	fmt.Fprintln(in, "second")
	if line, err := out.ReadString('\n'); err != nil || line != "second\n" {
		t.Fatalf("after the signal: %q, %v", line, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(messages.String(), "read") {
		t.Errorf("the status is %q", messages)
	}
}

// TestClosedPipe: a reader that closes our output is not an error, and the state does
// not contain lines that were not printed.
func TestClosedPipe(t *testing.T) {
	config := corpus.Config{Kind: corpus.URLs, Lines: 200_000, Distinct: 200_000, Seed: 4}
	in := inputFile(t, config)
	state := filepath.Join(t.TempDir(), "state")
	for _, args := range [][]string{
		{"uniq", in}, {"uniq", "--state", state, in}, {"filter", "-v", "--allow-empty", "--set", os.DevNull, in}, {"plan", "--table"},
	} {
		cmd := command(args...)
		var messages bytes.Buffer
		cmd.Stderr = &messages
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		_ = stdout.Close()
		if err := cmd.Wait(); err != nil || messages.Len() > 0 {
			t.Errorf("%v: %v, message %q", args, err, &messages)
		}
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("a state was saved although its lines were not written")
	}
}

// TestFullDisk: output that cannot be written is an error, and the state does not
// lead it.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatalf("this test needs /dev/full: %v", err)
	}
	defer full.Close()
	state := filepath.Join(t.TempDir(), "state")
	cmd := command("uniq", "--state", state)
	cmd.Stdin = strings.NewReader("line\n")
	cmd.Stdout = full
	var messages bytes.Buffer
	cmd.Stderr = &messages
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != ExitError || !strings.Contains(messages.String(), "no space left") {
		t.Errorf("exit code %d, message %q", code, &messages)
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("a state was saved although its lines were not written")
	}
}

// TestTwoRunsOneState: the second is refused.
func TestTwoRunsOneState(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	cmd, in, _, _ := feed(t, "uniq", "--line-buffered", "--state", state)
	second := command("uniq", "--state", state)
	second.Stdin = strings.NewReader("x\n")
	b, _ := second.CombinedOutput()
	if code := second.ProcessState.ExitCode(); code != ExitError || !strings.Contains(string(b), "lock") ||
		!strings.Contains(string(b), fmt.Sprint(cmd.Process.Pid)) {
		t.Errorf("exit code %d, message %q", code, b)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
