package cli

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// forgedFor returns a line of 16 bytes with the XXH3 hash that victim has with seed 0:
// the factor that its first half makes is 0, so that the rest is a subtraction. It
// reports false where the line would contain a newline.
func forgedFor(victim string) (string, bool) {
	const first, second = 0x6782737bea4239b9, 0xaf56bc3b0996523a
	le := binary.LittleEndian
	low, high := le.Uint64([]byte(victim))^first, le.Uint64([]byte(victim[8:]))^second
	h, l := bits.Mul64(low, high)
	sum := bits.ReverseBytes64(low) + high + (h ^ l)
	line := string(le.AppendUint64(le.AppendUint64(nil, first), sum^second))
	return line, !strings.Contains(line, "\n")
}

// TestForgedLines gives commands a line that was made to have the public hash of
// another one. None may take the other for seen; with the public hash, which --seed 0
// asks for, all do.
func TestForgedLines(t *testing.T) {
	dir := t.TempDir()
	var forged, victims []string
	for i := 0; len(victims) < 20; i++ {
		victim := fmt.Sprintf("victim%010d", i)
		if line, ok := forgedFor(victim); ok {
			forged, victims = append(forged, line), append(victims, victim)
		}
	}
	all := strings.Join(append(forged, victims...), "\n") + "\n"
	half := strings.Join(forged, "\n") + "\n"
	set := filepath.Join(dir, "set.txt")
	if err := os.WriteFile(set, []byte(half), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name        string
		args        []string
		input       string
		want, shows string // what is printed, and what with the public hash
	}{
		{"uniq", []string{"uniq", "-q"}, all, all, half},
		{"exact", []string{"uniq", "-q", "--exact"}, all, all, half},
		{"filter", []string{"uniq", "-q", "-n", "1000"}, all, all, half},
		{"window", []string{"uniq", "-q", "--window", "1000"}, all, all, half},
		{"rotate", []string{"uniq", "-q", "--on-full", "rotate", "-n", "1000"}, all, all, half},
		{"state", []string{"uniq", "-q", "--state", fresh("state.seen")}, all, all, half},
		{"output", []string{"uniq", "-q", "-k", "1,1", "--nth", "1"}, all, all, half},
		{"repeated", []string{"uniq", "-q", "--after-first", "-n", "1000"}, all, "", strings.TrimPrefix(all, half)},
		{"count", []string{"count", "-q"}, all, "40\n", "20\n"},
		{"text set", []string{"filter", "-q", "-v", "--format", "lines", "--set", set}, all, strings.TrimPrefix(all, half), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, got, said := run(c.input, c.args...)
			if got != c.want || code != ExitOK {
				t.Errorf("%q: exit code %d, %d lines instead of %d; %s", c.args, code, strings.Count(got, "\n"), strings.Count(c.want, "\n"), said)
			}
			args := append([]string{c.args[0], "--seed", "0"}, c.args[1:]...)
			for i, arg := range args {
				if arg == fresh("state.seen") {
					args[i] = fresh("public.seen")
				}
			}
			if _, got, said := run(c.input, args...); got != c.shows {
				t.Errorf("%q: %d lines, want %d: the lines do not collide, and the test shows nothing; %s", args, strings.Count(got, "\n"), strings.Count(c.shows, "\n"), said)
			}
		})
	}
}

// TestStateKeepsItsKey continues a state whose key was drawn by the run before.
func TestStateKeepsItsKey(t *testing.T) {
	state := filepath.Join(t.TempDir(), "s.seen")
	for i, want := range []string{"a\nb\n", "c\n", ""} {
		input := []string{"a\nb\na\n", "b\nc\na\n", "c\nb\na\n"}[i]
		if code, got, _ := run(input, "uniq", "-q", "--state", state); got != want || code != ExitOK {
			t.Errorf("run %d prints %q with exit code %d, want %q", i, got, code, want)
		}
	}
	for _, args := range [][]string{{"--seed", "0"}, {"--seed", "7"}, {"--secret", filepath.Join(t.TempDir(), "new")}} {
		if code, got, said := run("d\n", append([]string{"uniq", "-q", "--state", state}, args...)...); code != ExitError || !strings.Contains(said, "was made with hash nh") && !strings.Contains(said, "no such file") {
			t.Errorf("%q with a state that has a random key: exit code %d, %q, %s", args, code, got, said)
		}
	}
}

// TestOldStateKeepsItsHash goes on with a state from before there were random keys.
func TestOldStateKeepsItsHash(t *testing.T) {
	old, err := os.ReadFile("../../bloomfile/testdata/v1/adaptive-exact.seen")
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "old.seen")
	if err := os.WriteFile(state, old, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-q"}, {"-q", "--seed", "0"}} {
		code, got, said := run("golden 0\ngolden 499\nnew"+args[len(args)-1]+"\n", append([]string{"uniq", "--state", state}, args...)...)
		if want := "new" + args[len(args)-1] + "\n"; got != want || code != ExitOK {
			t.Errorf("%q: %q with exit code %d, want %q; %s", args, got, code, want, said)
		}
	}
	if _, got, _ := run("", "info", "--json", state); !strings.Contains(got, `"algorithm": "xxh3"`) {
		t.Errorf("the state has another hash now: %s", got)
	}
}
