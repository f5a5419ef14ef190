package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// numbers returns the lines "1" to n.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// uniqReportOf runs uniq with --stats=json and returns its report and its other messages.
func uniqReportOf(t *testing.T, input string, args ...string) (uniqReport, string) {
	t.Helper()
	code, _, said := run(input, append([]string{"uniq", "--stats=json"}, args...)...)
	at, end := strings.Index(said, "{"), strings.LastIndex(said, "}")
	if at < 0 || code != ExitOK && code != ExitLimit {
		t.Fatalf("%q: exit code %d, %s", args, code, said)
	}
	var r uniqReport
	if err := json.Unmarshal([]byte(said[at:end+1]), &r); err != nil {
		t.Fatal(err)
	}
	return r, said[:at] + said[end+1:]
}

// TestMemoryStaysWithin runs uniq far past its memory in all modes that promise to
// stay within it.
func TestMemoryStaysWithin(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	input := numbers(300_000)
	const memory = 256 << 10
	for _, mode := range []string{"stop", "warn", "rotate"} {
		for _, more := range [][]string{nil, {"-p", "1e-6"}, {"-p", "1e-3"}, {"-p", "0.05"}, {"-n", "100000"}, {"-n", "5000"}} {
			r, said := uniqReportOf(t, input, append([]string{"-m", "256KiB", "--on-full", mode}, more...)...)
			if r.FilterBytes > memory || r.FilterBytes < memory/2 && len(more) == 0 {
				t.Errorf("%s %v: %d bytes of %d", mode, more, r.FilterBytes, memory)
			}
			if strings.Contains(said, "without a limit") {
				t.Errorf("%s %v says: %s", mode, more, said)
			}
		}
	}
}

// TestMemoryPastItsLimit compares what the note about growing memory says with what
// is taken then, over more lines than one layer has and fewer than the figure is for.
func TestMemoryPastItsLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	note := regexp.MustCompile(`(?:after|has the) ([0-9,]+) distinct lines.*grows by about (\d+) bytes for each further distinct line, without a limit \(--on-full stop, warn or rotate set one\)\n`)
	input := numbers(300_000)
	for _, args := range [][]string{{"-m", "512KiB", "--on-full", "grow"}, {"-n", "40000"}, {"-n", "40000", "-p", "1e-3"}, {"-p", "1e-4", "-m", "128KiB"}} {
		r, said := uniqReportOf(t, input, args...)
		found := note.FindAllStringSubmatch(said, -1)
		if len(found) != 1 || strings.Count(said, "\n") > 2 {
			t.Errorf("%q says %q", args, said)
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(found[0][1], ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		each, err := strconv.ParseFloat(found[0][2], 64)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := uniqReportOf(t, numbers(n), args...)
		taken := float64(r.FilterBytes-min(first.FilterBytes, r.FilterBytes)) / float64(300_000-n)
		if taken > 1.7*each+0.5 || taken < each/1.7-0.5 {
			t.Errorf("%q: %.2f bytes a line were taken from %d to 300,000 lines, and the note says about %.0f", args, taken, n, each)
		}
		if _, said := uniqReportOf(t, input, append(args, "-q")...); strings.Contains(said, "note") {
			t.Errorf("%q -q says %q", args, said)
		}
	}
}

// TestMemoryOfOldState says of a state that takes more than -m that it does.
func TestMemoryOfOldState(t *testing.T) {
	state := t.TempDir() + "/s.seen"
	input := numbers(100_000)
	uniqReportOf(t, input, "-m", "128KiB", "--state", state)
	if _, said := uniqReportOf(t, "x\n", "-m", "1MiB", "--state", state); strings.Contains(said, "note") {
		t.Errorf("a state within its memory: %s", said)
	}
	if _, said := uniqReportOf(t, "y\n", "-m", "128KiB", "--state", state); !strings.Contains(said, "has more than -m 128KiB after 100,00") {
		t.Errorf("a state past its memory: %s", said)
	}
}
