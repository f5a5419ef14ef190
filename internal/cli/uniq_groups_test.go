package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"
)

// groupLine is a line of a test and its key under the options; "" means that it has none.
type groupLine struct {
	text, key string
	missing   bool
}

// groupOptions are modes of uniq, and what they print of lines whose keys are counted.
var groupOptions = []struct {
	args string
	want func(lines []groupLine, total map[string]int, keyed bool) []string
}{
	{"-c", func(lines []groupLine, total map[string]int, _ bool) []string {
		return eachOccurrence(lines, func(l groupLine, n int) string {
			return onlyIf(n == 1, fmt.Sprintf("%7d %s", max(total[l.key], 1), l.text))
		})
	}},
	{"-c --top 3", func(lines []groupLine, total map[string]int, _ bool) []string {
		var all []groupLine
		eachOccurrence(lines, func(l groupLine, n int) string {
			if n == 1 {
				all = append(all, l)
			}
			return ""
		})
		slices.SortStableFunc(all, func(a, b groupLine) int { return max(total[b.key], 1) - max(total[a.key], 1) })
		var out []string
		for _, l := range all[:min(3, len(all))] {
			out = append(out, fmt.Sprintf("%7d %s", max(total[l.key], 1), l.text))
		}
		return out
	}},
	{"-u", func(lines []groupLine, total map[string]int, _ bool) []string {
		return eachOccurrence(lines, func(l groupLine, _ int) string { return onlyIf(l.missing || total[l.key] == 1, l.text) })
	}},
	{"-D", func(lines []groupLine, total map[string]int, _ bool) []string {
		return eachOccurrence(lines, func(l groupLine, _ int) string { return onlyIf(l.missing || total[l.key] > 1, l.text) })
	}},
	{"-d", func(lines []groupLine, total map[string]int, keyed bool) []string {
		return eachOccurrence(lines, func(l groupLine, n int) string {
			if keyed {
				return onlyIf(l.missing || n == 1 && total[l.key] > 1, l.text)
			}
			return onlyIf(n == 2, l.text)
		})
	}},
	{"--keep last", func(lines []groupLine, total map[string]int, _ bool) []string {
		return eachOccurrence(lines, func(l groupLine, n int) string { return onlyIf(l.missing || n == total[l.key], l.text) })
	}},
	{"--after-first", func(lines []groupLine, _ map[string]int, _ bool) []string {
		return eachOccurrence(lines, func(l groupLine, n int) string { return onlyIf(l.missing || n > 1, l.text) })
	}},
	{"--nth 3", func(lines []groupLine, _ map[string]int, _ bool) []string {
		return eachOccurrence(lines, func(l groupLine, n int) string { return onlyIf(l.missing || n == 3, l.text) })
	}},
	{"--mark", func(lines []groupLine, _ map[string]int, _ bool) []string {
		return eachOccurrence(lines, func(l groupLine, n int) string {
			if n == 1 {
				return "new\t" + l.text
			}
			return "old\t" + l.text
		})
	}},
}

func onlyIf(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// eachOccurrence calls print with each line and the number of its occurrence, from 1, and
// returns what is not empty. A line without a key is the first of its kind.
func eachOccurrence(lines []groupLine, print func(l groupLine, n int) string) (out []string) {
	seen := map[string]int{}
	for _, l := range lines {
		n := 1
		if !l.missing {
			seen[l.key]++
			n = seen[l.key]
		}
		if text := print(l, n); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// runSeen runs the command in this process.
func runSeen(t tester, stdin io.Reader, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), Env{Args: args, Stdin: stdin, Stdout: &out, Stderr: &errs})
	return out.String(), errs.String(), code
}

// Every mode prints what a map says, in a memory so small that nearly everything is decided on
// disk, and from inputs of all kinds.
func TestGroupModesAreExact(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom(groupOptions).Draw(t, "mode")
		args := append([]string{"uniq", "-q", "-m", rapid.SampledFrom([]string{"4096", "64K", "1G"}).Draw(t, "memory")}, strings.Fields(mode.args)...)
		args = append(args, "-j", rapid.SampledFrom([]string{"1", "3"}).Draw(t, "jobs"))
		end, header, key := "\n", "", ""
		missing := rapid.SampledFrom([]string{"keep", "drop"}).Draw(t, "missing")
		switch key = rapid.SampledFrom([]string{"line", "field", "csv", "nul"}).Draw(t, "key"); key {
		case "field":
			args = append(args, "-k", "2,2", "-t", " ", "--missing", missing)
		case "csv":
			args, header = append(args, "-k", "csv:key", "--missing", missing), "text,key\n"
		case "nul":
			args, end = append(args, "-z"), "\x00"
		}
		distinct := rapid.SampledFrom([]int{1, 5, 500, 5000}).Draw(t, "distinct")
		drawn := rapid.SliceOfN(rapid.IntRange(0, distinct-1), 0, 3000).Draw(t, "lines")
		lines := make([]groupLine, 0, len(drawn))
		for i, n := range drawn {
			l := groupLine{text: fmt.Sprint(n), key: fmt.Sprint(n)}
			switch {
			case key == "field" && n%7 == 3:
				l = groupLine{text: fmt.Sprintf("x%d", i), missing: true}
			case key == "field":
				l.text = fmt.Sprintf("x%d %d", i, n)
			case key == "csv" && n%7 == 3:
				l = groupLine{text: fmt.Sprintf("x%d", i), missing: true}
			case key == "csv":
				l.text = fmt.Sprintf("\"x\n%d\",%d", i, n)
			}
			lines = append(lines, l)
		}
		// Two inputs, the first perhaps without an end of its last line.
		cut := rapid.IntRange(0, len(lines)).Draw(t, "cut")
		torn := cut < len(lines) && rapid.Bool().Draw(t, "torn")
		var inputs [2][]byte
		for i, l := range lines {
			at := 0
			if i >= cut {
				at = 1
			}
			inputs[at] = append(inputs[at], l.text+end...)
		}
		if torn {
			inputs[0] = bytes.TrimSuffix(inputs[0], []byte(end))
		}
		var stdin io.Reader
		for i, content := range inputs {
			content = append([]byte(header), content...)
			if rapid.Bool().Draw(t, "compressed") {
				var packed bytes.Buffer
				w := gzip.NewWriter(&packed)
				w.Write(content)
				w.Close()
				content = packed.Bytes()
			}
			if i == 1 && rapid.Bool().Draw(t, "pipe") {
				args, stdin = append(args, "-"), bytes.NewReader(content)
				continue
			}
			name := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, name)
		}
		if missing == "drop" {
			lines = slices.DeleteFunc(lines, func(l groupLine) bool { return l.missing })
		}
		total := map[string]int{}
		for _, l := range lines {
			if !l.missing {
				total[l.key]++
			}
		}
		want := header + strings.Join(append(mode.want(lines, total, key == "field" || key == "csv"), ""), end)
		got, errs, code := runSeen(t, stdin, args...)
		if got != want || code != 0 || errs != "" {
			t.Fatalf("%q: exit code %d, %s\n%d bytes differ at byte %d from %d wanted:\n%.300q\n%.300q",
				args, code, errs, len(got), differAt(got, want), len(want), got, want)
		}
	})
}

// differAt returns where two texts begin to differ.
func differAt(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(string, ...any)
	Context() context.Context
}

// On an input in which equal lines are neighbours, the options of uniq(1) print what it prints.
func TestGroupModesLikeUniq(t *testing.T) {
	program, err := exec.LookPath("uniq")
	if err != nil {
		t.Skip("uniq(1) is not installed")
	}
	var lines []string
	for i := range 300 {
		for n := range i % 4 {
			lines = append(lines, fmt.Sprintf("%d %s %d", n%2, strings.Repeat(string(rune('a'+n%2*('A'-'a'))), 1)+fmt.Sprintf("%03d", i), i%3))
		}
	}
	for _, part := range []string{"", "-i", "-f1", "-f1 -i", "-w3", "-f1 -w5 -i", "-z"} {
		content := strings.Join(lines, "\n") + "\n"
		if part != "-f1 -i" && part != "-f1 -w5 -i" {
			sorted := slices.Clone(lines)
			slices.SortFunc(sorted, func(a, b string) int {
				if strings.HasPrefix(part, "-f1") {
					a, b = a[1:], b[1:]
				}
				if part == "-i" {
					a, b = strings.ToLower(a), strings.ToLower(b)
				}
				return strings.Compare(a, b)
			})
			content = strings.Join(sorted, "\n") + "\n"
		}
		if part == "-z" {
			content = strings.ReplaceAll(content, "\n", "\x00")
		}
		for _, mode := range []string{"-c", "-d", "-D", "-u", ""} {
			args := strings.Fields(mode + " " + part)
			cmd := exec.Command(program, args...)
			cmd.Env = append(os.Environ(), "LC_ALL=C")
			cmd.Stdin = strings.NewReader(content)
			want, err := cmd.Output()
			if err != nil {
				t.Fatalf("uniq %q: %v", args, err)
			}
			got, errs, code := runSeen(t, strings.NewReader(content), append([]string{"uniq", "-m", "4096", "-q"}, args...)...)
			if mode == "" {
				got, errs, code = runSeen(t, strings.NewReader(content), append([]string{"uniq", "-q"}, args...)...)
			}
			if got != string(want) || code != 0 {
				t.Errorf("uniq %q: exit code %d, %s; they differ at byte %d:\n%.200q\n%.200q", args, code, errs, differAt(got, string(want)), got, want)
			}
		}
	}
}
