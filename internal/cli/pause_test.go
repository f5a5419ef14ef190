//go:build unix

package cli

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What was decided is printed when the input pauses, without --line-buffered.
func TestOutputInAPause(t *testing.T) {
	dir := t.TempDir()
	set := filepath.Join(dir, "set")
	if err := os.WriteFile(set, []byte("first\nthird\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"uniq", "-j", "1"},
		{"uniq", "-j", "4"},
		{"uniq", "--state", filepath.Join(dir, "state")},
		{"uniq", "--state", filepath.Join(dir, "often"), "--checkpoint", "1ms"},
		{"filter", "--set", set, "-j", "1"},
		{"filter", "--set", set, "-j", "3"},
	} {
		cmd, in, out, messages := feed(t, args...)
		fmt.Fprint(in, "third\nfou")
		if got, err := out.ReadString('\n'); err != nil || got != "third\n" {
			t.Errorf("%q: read %q, error %v: %s", args, got, err, messages)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q: %v: %s", args, err, messages)
		}
	}

	cmd := command("check", set)
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
	fmt.Fprintln(in, "first")
	if got, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || got != "first\tyes\n" {
		t.Errorf("check: %q, %v", got, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
