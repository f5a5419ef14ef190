package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sortedLike returns what is wrong with an output whose late lines may be at its end. first is
// the output of a run with enough memory.
func sortedLike(first, got string) error {
	want, have := strings.SplitAfter(first, "\n"), strings.SplitAfter(got, "\n")
	if len(want) != len(have) {
		return fmt.Errorf("%d lines, want %d", len(have)-1, len(want)-1)
	}
	place := map[string]int{}
	for i, line := range want {
		place[line] = i
	}
	last, falls := -1, 0
	for _, line := range have {
		i, ok := place[line]
		if !ok {
			return fmt.Errorf("the line %q should not be there, or comes twice", line)
		}
		delete(place, line)
		if i < last {
			falls++
		}
		last = i
	}
	if falls > 2 { // late lines begin, and the empty end of the text
		return fmt.Errorf("the order breaks %d times", falls)
	}
	return nil
}

// TestSpillAgainstMemory compares runs that have far too little memory with runs that have
// enough: the lines are the same, those that come late are at the end, and with -o all are in
// their places.
func TestSpillAgainstMemory(t *testing.T) {
	dir := t.TempDir()
	names := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	out := filepath.Join(dir, "out")
	t.Setenv("TMPDIR", dir)
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		n := rapid.IntRange(0, 30_000).Draw(t, "lines")
		distinct := rapid.IntRange(1, 25_000).Draw(t, "distinct")
		args := rapid.SampledFrom([][]string{
			nil, {"-z"}, {"-k", "2"}, {"-k", "2", "--missing", "keep"}, {"-k", "2", "--missing", "drop"}, {"-k", "csv:name"}, {"-i"}, {"--crlf"},
		}).Draw(t, "args")
		csv := len(args) > 1 && args[1] == "csv:name"
		end := "\n"
		if len(args) == 1 && args[0] == "-z" {
			end = "\x00"
		}
		text := func() string {
			var b strings.Builder
			if csv {
				b.WriteString("id,name\n")
			}
			for i := range n / 2 {
				k := rng.IntN(distinct)
				switch {
				case csv:
					fmt.Fprintf(&b, "%d,\"key\n%d\"\n", i, k)
				case len(args) > 2 && rng.IntN(20) == 0:
					fmt.Fprintf(&b, "alone%d%s", rng.Uint64(), end)
				case rng.IntN(5000) == 0:
					fmt.Fprintf(&b, "%s k%d%s", strings.Repeat("x", 300_000), k, end)
				default:
					fmt.Fprintf(&b, "line k%d%s", k, end)
				}
			}
			return b.String()
		}
		var contents []string
		for _, name := range names {
			contents = append(contents, text())
			if err := os.WriteFile(name, []byte(contents[len(contents)-1]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		inputs := names
		stdin := ""
		switch rapid.IntRange(0, 3).Draw(t, "input") {
		case 0:
			inputs, stdin = []string{"-", names[1]}, contents[0]
		case 1:
			inputs, stdin = nil, contents[0]
		}
		with := func(more ...string) string {
			code, got, said := run(stdin, append(append(append([]string{"uniq", "-q"}, args...), more...), inputs...)...)
			if code != ExitOK {
				t.Fatalf("%q: exit code %d: %s", more, code, said)
			}
			return got
		}
		want := with("--exact")
		memory := rapid.SampledFrom([]string{"4096", "10000", "64KiB"}).Draw(t, "memory")
		jobs := rapid.SampledFrom([]string{"1", "2"}).Draw(t, "jobs")
		small := []string{"-m", memory, "-j", jobs}
		if rapid.Bool().Draw(t, "max") {
			small = append(small, "--spill-max", "1MiB")
		}
		got := with(small...)
		split := func(s string) string { return s }
		if end == "\x00" || csv {
			split = func(s string) string {
				s = strings.ReplaceAll(s, "\n", "#")
				if csv {
					return strings.ReplaceAll(s, "\"#", "\"\n")
				}
				return strings.ReplaceAll(s, "\x00", "\n")
			}
		}
		if err := sortedLike(split(want), split(got)); err != nil {
			t.Fatal(err)
		}
		with(append(small, "-o", out)...)
		if whole, err := os.ReadFile(out); err != nil || string(whole) != want {
			t.Fatalf("-o has %d bytes, want %d; %v", len(whole), len(want), err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
			t.Fatalf("left: %v, %v", left, err)
		}
	})
}

// TestSpillMemoryAndReport looks at what a run past its memory says.
func TestSpillMemoryAndReport(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintln(&b, i)
		if i%3 == 0 {
			fmt.Fprintln(&b, i/2)
		}
	}
	r, said := uniqReportOf(t, b.String(), "-m", "64KiB")
	if !r.Exact || r.Kept != 100_000 || r.Lines != r.Kept+r.Dropped || r.Added != 100_000 || r.Late == 0 || r.Doubts < r.Late+10_000 ||
		r.FilterBytes > 64<<10 || r.SpilledBytes == 0 || r.DiskBytes > r.SpilledBytes || r.ExpectedWrong > 1e-9 {
		t.Errorf("%+v", r)
	}
	// Small Selections and Spools are not counted: their bytes are few.
	if most := 24*r.Kept + 24*r.Doubts; r.DiskBytes > most {
		t.Errorf("%d bytes of disk, more than %d", r.DiskBytes, most)
	}
	for _, want := range []string{"is used up after", "the run stays exact with temporary files in", "lines come late"} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q does not say %q once", said, want)
		}
	}
	if _, said := uniqReportOf(t, b.String(), "-m", "64KiB", "-q"); strings.TrimSpace(said) != "" {
		t.Errorf("-q says %q", said)
	}
	if _, said := uniqReportOf(t, b.String(), "-m", "16KiB"); strings.Count(said, "is so little for") != 1 {
		t.Errorf("far too little memory says %q", said)
	}
}
