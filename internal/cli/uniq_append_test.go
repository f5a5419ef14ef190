package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The list has afterwards what it had and what was printed, which are the lines that it did
// not have, each once, whatever the memory.
func TestAppendIsExact(t *testing.T) {
	dir := t.TempDir()
	list, in := filepath.Join(dir, "list"), filepath.Join(dir, "in")
	rapid.Check(t, func(t *rapid.T) {
		distinct := rapid.SampledFrom([]int{1, 5, 500, 5000}).Draw(t, "distinct")
		draw := func(what string) (lines []string) {
			for _, n := range rapid.SliceOfN(rapid.IntRange(0, distinct-1), 0, 1500).Draw(t, what) {
				lines = append(lines, fmt.Sprint(n))
			}
			return lines
		}
		had, lines := draw("had"), draw("lines")
		text := func(lines []string) string { return strings.Join(append(lines[:len(lines):len(lines)], ""), "\n") }
		before := text(had)
		torn := len(had) > 0 && rapid.Bool().Draw(t, "torn")
		os.Remove(list)
		if len(had) > 0 || rapid.Bool().Draw(t, "exists") {
			content := before
			if torn {
				content = strings.TrimSuffix(before, "\n")
			}
			if err := os.WriteFile(list, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		seen := map[string]bool{}
		for _, line := range had {
			seen[line] = true
		}
		var fresh []string
		for _, line := range lines {
			if !seen[line] {
				seen[line] = true
				fresh = append(fresh, line)
			}
		}
		args := []string{"uniq", "-q", "--append", list, "-m", rapid.SampledFrom([]string{"4096", "64K", "1G"}).Draw(t, "memory")}
		var stdin io.Reader
		if rapid.Bool().Draw(t, "pipe") {
			stdin = bytes.NewReader([]byte(text(lines)))
		} else if err := os.WriteFile(in, []byte(text(lines)), 0o600); err != nil {
			t.Fatal(err)
		} else {
			args = append(args, in)
		}
		got, errs, code := runSeen(t, stdin, args...)
		if code != 0 || errs != "" || got != text(fresh) {
			t.Fatalf("exit code %d, %s: %d bytes were printed and differ at %d from %d", code, errs, len(got), differAt(got, text(fresh)), len(text(fresh)))
		}
		want := before + text(fresh)
		if torn && len(fresh) == 0 {
			want = strings.TrimSuffix(before, "\n") // nothing is added, and the list is as it was
		}
		after, err := os.ReadFile(list)
		if err != nil || string(after) != want {
			t.Fatalf("the list has %d bytes, %v; want %d", len(after), err, len(want))
		}
	})
}
