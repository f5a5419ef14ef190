package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is not known is an error that names what may be meant.
func TestSuggestions(t *testing.T) {
	for line, want := range map[string]string{
		"unqi":                   `"unqi" is not a subcommand; did you mean uniq?`,
		"chek":                   `"chek" is not a subcommand; did you mean check?`,
		"dedupe file":            `"dedupe" is not a subcommand; did you mean uniq?`,
		"ver":                    `"ver" is not a subcommand; did you mean verify?`,
		"help unqi":              `"unqi" is not a subcommand; did you mean uniq?`,
		"help uniq more":         `"uniq more" is not a subcommand`,
		"xyzzy":                  `"xyzzy" is not a subcommand`,
		"suggest.go":             `"suggest.go" is not a subcommand; to remove duplicate lines from the file: seen uniq suggest.go`,
		"uniq --misisng drop":    `unknown option --misisng; did you mean --missing?`,
		"uniq --ignorecase":      `unknown option --ignorecase; did you mean --ignore-case?`,
		"uniq --xyzzy":           `unknown option --xyzzy`,
		"uniq --line":            `unknown option --line; did you mean --line-buffered?`,
		"count --on-full stop":   `unknown option --on-full; "seen uniq" has it`,
		"--checkpoint 1m":        `unknown option --checkpoint; "seen uniq" or "seen serve" has it`,
		"uniq -K 1":              `unknown option -K; did you mean -k (--key)?`,
		"filter -set x":          `unknown option -set; did you mean --set?`,
		"filter -missing drop":   `--memory: "issing" is not a size; write for example 64MiB, 2GB, 512M or 4096; did you mean --missing?`,
		"uniq --key":             `--key needs a value`,
		"uniq -ik":               `-k needs a value`,
		"uniq --=x":              `"--=x" is not an option`,
		"filter --set x -jobs=2": `--jobs: "obs=2" is not a whole number; did you mean --jobs?`,
	} {
		var out, messages bytes.Buffer
		code := Run(context.Background(), Env{Args: strings.Fields(line), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &messages})
		first, _, _ := strings.Cut(messages.String(), "\n")
		_, text, _ := strings.Cut(first, ": ")
		if code != ExitError || text != want || out.Len() > 0 {
			t.Errorf("seen %s: exit code %d, %q, want %q", line, code, text, want)
		}
	}
}

// A slip makes a distance of one, and distances are symmetric.
func TestSlips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching("[a-c]{1,8}")
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := slips(a, b)
		if d != slips(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < max(len(a)-len(b), len(b)-len(a)) {
			t.Fatalf("%q and %q: %d, %d", a, b, d, slips(b, a))
		}
		at := rapid.IntRange(0, len(a)-1).Draw(t, "at")
		for _, slip := range []string{a[:at] + a[at+1:], a[:at] + "x" + a[at:], a[:at] + "x" + a[at+1:]} {
			if d := slips(a, slip); d != 1 {
				t.Fatalf("%q and %q: %d", a, slip, d)
			}
		}
		if at > 0 && a[at-1] != a[at] {
			if swapped := a[:at-1] + a[at:at+1] + a[at-1:at] + a[at+1:]; slips(a, swapped) != 1 {
				t.Fatalf("%q and %q", a, swapped)
			}
		}
	})
}
