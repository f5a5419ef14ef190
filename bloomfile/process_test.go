package bloomfile

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"seen/bloom"
)

// TestMain lets the test binary play a process that adds until it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("BLOOMFILE_TEST_ADD"); path != "" {
		if err := addForever(path, os.Getenv("BLOOMFILE_TEST_FROM")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// numbered is the hash of the i-th key of the tests with processes.
func numbered(h bloom.Hash, i int) uint64 { return h.SumString("key " + strconv.Itoa(i)) }

// addForever adds numbered keys and prints after each the number it has reached.
// Now and then it syncs.
func addForever(path, from string) error {
	f, err := Open(path, Options{Writable: true})
	if err != nil {
		return err
	}
	i, err := strconv.Atoi(from)
	if err != nil {
		return err
	}
	for ; ; i++ {
		if _, err := f.AddHash(numbered(bloom.Hash{}, i)); err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString(strconv.Itoa(i+1) + "\n"); err != nil {
			return err
		}
		if i%5000 == 4999 {
			if err := f.Sync(); err != nil {
				return err
			}
		}
	}
}

// TestKilledProcess kills a process in the middle of its work again and again.
// Whatever it has acknowledged is there, and the file is sound.
func TestKilledProcess(t *testing.T) {
	s, err := bloom.New(bloom.Config{Capacity: 500_000, ErrorRate: 0.001})
	if err != nil {
		t.Fatal(err)
	}
	path := written(t, s)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	acked := 0
	for round := range 8 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "BLOOMFILE_TEST_ADD="+path, fmt.Sprint("BLOOMFILE_TEST_FROM=", acked))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		target := acked + 1 + rng.IntN(20_000)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatalf("the process says %q", lines.Text())
			}
			acked = n
			if n == target {
				if round%2 == 0 {
					// The writer has the lock, and no other process sees a half-written file.
					if _, err := Open(path, Options{}); !errors.Is(err, ErrLocked) && err != nil {
						t.Errorf("beside the living process: %v", err)
					}
				}
				cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the process ended by itself: %v", err)
		}
		f, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range acked {
			if found, err := f.HasHash(numbered(bloom.Hash{}, i)); !found || err != nil {
				t.Fatalf("round %d: key %d of %d acknowledged: %v, %v", round, i, acked, found, err)
			}
		}
		for err := range f.Check() {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
