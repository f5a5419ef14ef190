package powerloss

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fileModel has what is known about the files of the subcommands: when each run began,
// and when it succeeded.
type fileModel struct {
	disk  *Disk
	mutex sync.Mutex
	runs  []fileRun
}

type fileRun struct {
	began, succeeded int64 // positions of the disk; -1: not yet
}

// finished returns the number of runs that succeeded.
func (f *fileModel) finished() (n int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, r := range f.runs {
		if r.succeeded >= 0 {
			n++
		}
	}
	return n
}

// linesOfRun returns the new lines of a run.
func linesOfRun(i int) string {
	var b strings.Builder
	for j := range 200 {
		fmt.Fprintf(&b, "run-%d-line-%d\n", i, j)
	}
	return b.String()
}

func linesOfRuns(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(linesOfRun(i))
	}
	return b.String()
}

func outputOfRun(i int) string { return fmt.Sprintf("once-%d.txt", i) }

// work replaces a set and continues a state, until a run fails or the channel is closed.
// Run i writes a set of the lines of all runs so far, and prints its own lines once, to
// its own file.
func (f *fileModel) work(m *machine, end <-chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-end:
			return nil
		default:
		}
		f.mutex.Lock()
		f.runs = append(f.runs, fileRun{f.disk.Position(), -1})
		f.mutex.Unlock()
		if _, err := m.seen(linesOfRuns(i+1), "build", "-n", "1M", "-p", "1e-9", "-o", "set.seen"); err != nil {
			return err
		}
		if _, err := m.seen(linesOfRuns(i+1), "uniq", "--state", "state.seen", "-o", outputOfRun(i)); err != nil {
			return err
		}
		f.mutex.Lock()
		f.runs[i].succeeded = f.disk.Position()
		f.mutex.Unlock()
	}
}

// check compares the files after a loss of power with what was known at its position,
// and returns the contradictions.
func (f *fileModel) check(m *machine, position int64) (problems []string, err error) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	began, succeeded := 0, 0
	for _, r := range f.runs {
		if r.began <= position {
			began++
		}
		if r.succeeded >= 0 && r.succeeded <= position {
			succeeded++
		}
	}
	for _, name := range []string{"set.seen", "state.seen"} {
		if _, err := os.Stat(filepath.Join(m.folder, name)); errors.Is(err, fs.ErrNotExist) {
			if succeeded > 0 {
				complain("%d runs had succeeded, and there is no %s", succeeded, name)
			}
			continue
		} else if err != nil {
			return nil, err
		}
		if _, err := m.seen("", "verify", name); err != nil {
			complain("%s is damaged: %v", name, err)
			continue
		}
		lost, err := m.filter(linesOfRuns(succeeded), "-v", "--set", name)
		if err != nil {
			return nil, err
		}
		if lost != "" {
			complain("%d runs had succeeded, and %s lacks lines of theirs, such as %.40q", succeeded, name, lost)
		}
	}
	for i := range began {
		output, err := os.ReadFile(filepath.Join(m.folder, outputOfRun(i)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		want := linesOfRun(i)
		if string(output) == want {
			continue
		}
		if err == nil || i < succeeded {
			complain("%s has %d of %d bytes", outputOfRun(i), len(output), len(want))
		}
		if _, err := os.Stat(filepath.Join(m.folder, "state.seen")); err != nil {
			continue // reported above, or not written yet
		}
		known, err := m.filter(want, "--set", "state.seen")
		if err != nil {
			return nil, err
		}
		if known != "" {
			complain("state.seen has lines that no output has, such as %.40q", known)
		}
	}
	return problems, nil
}

// TestFileJudge checks that check finds contradictions to a model.
func TestFileJudge(t *testing.T) {
	if err := canLosePower(); err != nil {
		t.Skip("this machine cannot simulate a loss of power:", err)
	}
	disk := NewDisk(diskSize)
	m := powerUp(t, disk, true, "data=ordered")
	expect := func(f *fileModel, want ...string) {
		t.Helper()
		problems, err := f.check(m, 5)
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) != len(want) {
			t.Errorf("the problems are %q, want %q", problems, want)
			return
		}
		for i := range want {
			if !strings.Contains(problems[i], want[i]) {
				t.Errorf("problem %d is %q, want %q", i, problems[i], want[i])
			}
		}
	}
	expect(&fileModel{runs: []fileRun{{1, -1}}})
	expect(&fileModel{runs: []fileRun{{1, 5}}}, "there is no set.seen", "there is no state.seen", "once-0.txt has 0")
	for _, args := range [][]string{
		{"build", "-n", "1M", "-p", "1e-9", "-o", "set.seen"},
		{"uniq", "--state", "state.seen", "-o", outputOfRun(0)},
	} {
		if _, err := m.seen(linesOfRun(0), args...); err != nil {
			t.Fatal(err)
		}
	}
	expect(&fileModel{runs: []fileRun{{1, 5}}})
	expect(&fileModel{runs: []fileRun{{1, 5}, {2, 6}}})
	expect(&fileModel{runs: []fileRun{{1, 4}, {2, 5}}}, "set.seen lacks", "state.seen lacks", "once-1.txt has 0")
	output := filepath.Join(m.folder, outputOfRun(0))
	if err := os.Truncate(output, 100); err != nil {
		t.Fatal(err)
	}
	expect(&fileModel{runs: []fileRun{{1, -1}}}, "once-0.txt has 100", "lines that no output has")
	if err := os.Remove(output); err != nil {
		t.Fatal(err)
	}
	expect(&fileModel{runs: []fileRun{{1, -1}}}, "lines that no output has")
	if err := os.Truncate(filepath.Join(m.folder, "set.seen"), 100_000); err != nil {
		t.Fatal(err)
	}
	expect(&fileModel{runs: []fileRun{{7, -1}}}, "set.seen is damaged")
}
