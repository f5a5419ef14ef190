//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package vfs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"seen/internal/vfs"
)

// TestMain lets the test binary play the other process.
func TestMain(m *testing.M) {
	if path := os.Getenv("VFS_TEST_HOLD"); path != "" {
		hold(path)
	}
	os.Exit(m.Run())
}

// hold takes the lock of path and a temporary file for it, says so, and waits to
// be killed.
func hold(path string) {
	if _, err := vfs.Lock(vfs.OS, path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	temp, err := vfs.OS.CreateTemp(path, vfs.Shared)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(temp.Name())
	io.Copy(io.Discard, os.Stdin)
}

// other starts a process that holds path's lock. It returns the name of its
// temporary file and a function that kills it.
func other(t *testing.T, path string) (pid int, temp string, kill func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "VFS_TEST_HOLD="+path)
	if _, err := cmd.StdinPipe(); err != nil { // open as long as we live
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, strings.TrimSpace(line), func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

func TestLockExcludes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.Symlink("f", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	l, err := vfs.Lock(vfs.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = vfs.Lock(vfs.OS, filepath.Join(dir, "link"))
	var locked *vfs.LockedError
	if !errors.As(err, &locked) || !errors.Is(err, vfs.ErrLocked) || locked.PID != os.Getpid() || locked.Path != path+".lock" {
		t.Errorf("second lock, through a link: %v", err)
	}
	if want := fmt.Sprintf("locked by process %d (%s.lock); wait until it has ended", os.Getpid(), path); err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if names := folder(t, dir); len(names) != 1 {
		t.Errorf("left after the release: %v", names)
	}
	l, err = vfs.Lock(vfs.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestKilledProcessLeavesNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	pid, temp, kill := other(t, path)
	defer kill()
	_, err := vfs.Lock(vfs.OS, path)
	var locked *vfs.LockedError
	if !errors.As(err, &locked) || locked.PID != pid {
		t.Errorf("lock held by process %d: %v", pid, err)
	}
	// Its temporary file is in use, so this writer takes another.
	if err := vfs.WriteAtomic(vfs.OS, path, put("x")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(temp); err != nil {
		t.Errorf("temporary file of a living process: %v", err)
	}
	kill()
	l, err := vfs.Lock(vfs.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := vfs.WriteAtomic(vfs.OS, path, put("y")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("temporary file of a killed process: %v", err)
	}
}

// TestLockRace has holders come and go so fast that lock files are removed while
// others open them. At no time may two hold the lock.
func TestLockRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var inside, entered atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				l, err := vfs.Lock(vfs.OS, path)
				if errors.Is(err, vfs.ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				entered.Add(1)
				if inside.Add(1) != 1 {
					t.Error("two holders at once")
				}
				inside.Add(-1)
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if entered.Load() == 0 {
		t.Error("nobody got the lock")
	}
}

// TestWritersAtOnce has writers without a lock replace one file: each write
// succeeds, the file is whole at any time, nothing is left.
func TestWritersAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			text := strings.Repeat(fmt.Sprint(i), 10000)
			for range 50 {
				if err := vfs.WriteAtomic(vfs.OS, path, put(text)); err != nil {
					t.Error(err)
				}
				got, err := os.ReadFile(path)
				if err != nil || string(got) != strings.Repeat(string(got[:1]), 10000) {
					t.Errorf("torn file, %v", err)
				}
			}
		})
	}
	wg.Wait()
	if names := folder(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left in the folder: %v", names)
	}
}

func TestOrphansOfOtherKindsStay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	// Planted where the next temporary file would be.
	if err := os.Symlink(victim, filepath.Join(dir, ".f.seen-tmp0")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".f.seen-tmp1"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteAtomic(vfs.OS, path, put("x")); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, victim); got != "mine" {
		t.Errorf("written through a planted link: %q", got)
	}
}

func TestBootID(t *testing.T) {
	a, err := vfs.OS.BootID()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := vfs.OS.BootID(); a != b || a == [16]byte{} {
		t.Errorf("boot ids %x and %x", a, b)
	}
}
