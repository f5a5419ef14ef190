//go:build linux

package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A run that goes on with temporary files takes little more than -m beside what any run
// takes: also while its table becomes files and a filter, and while late lines are found.
func TestSpillMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads millions of lines")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	name := filepath.Join(dir, "lines")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range 5_000_000 {
		fmt.Fprintf(w, "%x\n", uint32(i%4_000_000)*0x9e3779b1)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	peak := func(file string) int64 {
		cmd := command("uniq", "--stats", "-m", "32MiB", file)
		cmd.Stdout = nil
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	}
	least := peak(os.DevNull)
	const memory = 32 << 20
	if more := peak(name) - least; more > memory*12/10+blocksInFlight {
		t.Errorf("the run took %d bytes more than one without lines; -m is %d", more, memory)
	}
}

// blocksInFlight is the memory of the blocks of a run with two jobs, and of what is written.
const blocksInFlight = 12 << 20
