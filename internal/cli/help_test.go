package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// "seen help X" prints the help of --help, or an error if X is not a subcommand.
func TestHelpTopics(t *testing.T) {
	if a, b := output(t, "help", "uniq"), output(t, "uniq", "--help"); a != b {
		t.Errorf("seen help uniq:\n%s\nseen uniq --help:\n%s", a, b)
	}
	if a, b := output(t, "help"), output(t, "--help"); a != b {
		t.Errorf("seen help:\n%s\nseen --help:\n%s", a, b)
	}
	if text := output(t, "help"); !strings.Contains(text, "Usage:\n  seen COMMAND ") || strings.Contains(text, "[flags]") {
		t.Errorf("seen help does not say how seen is called:\n%s", text)
	}
	for _, args := range [][]string{{"help", "nosuch"}, {"help", "uniq", "more"}} {
		var out, messages bytes.Buffer
		code := Run(context.Background(), Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &messages})
		if code != ExitError || out.Len() > 0 || !strings.Contains(messages.String(), "is not a subcommand") {
			t.Errorf("seen %v: exit code %d, output %q, message %q", args, code, &out, &messages)
		}
	}
}

// Help that cannot be written is an error.
func TestHelpOnAFullDisk(t *testing.T) {
	full := errors.New("no space left on device")
	for _, args := range [][]string{{"--help"}, {"uniq", "--help"}, {"--version"}, {"completion", "bash"}} {
		var messages bytes.Buffer
		code := Run(context.Background(), Env{Args: args, Stdin: strings.NewReader(""), Stdout: brokenWriter{full}, Stderr: &messages})
		if code != ExitError || !strings.Contains(messages.String(), full.Error()) {
			t.Errorf("seen %v: exit code %d, message %q", args, code, &messages)
		}
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// The help of every command, whole and short, fits into 80 columns. The short one is
// shorter, and its options exist.
func TestHelpWidth(t *testing.T) {
	root := (&app{ctx: context.Background()}).command()
	describeDefaults(root)
	for _, cmd := range append(root.Commands(), root) {
		path := strings.Fields(cmd.CommandPath())[1:]
		var lines [2]int
		for i, option := range []string{"--help", "-h"} {
			for line := range strings.Lines(output(t, append(path, option)...)) {
				if n := utf8.RuneCountInString(line) - 1; n > helpWidth {
					t.Errorf("seen %s %s has a line of %d columns: %s", strings.Join(path, " "), option, n, line)
				}
				lines[i]++
			}
		}
		if lines[1] > lines[0]+2 || lines[1] > 60 {
			t.Errorf("seen %s: the short help has %d lines, the whole one %d", strings.Join(path, " "), lines[1], lines[0])
		}
		for name := range strings.FieldsSeq(cmd.Annotations[commonFlags]) {
			if cmd.Flags().Lookup(name) == nil {
				t.Errorf("seen %s has no option --%s", strings.Join(path, " "), name)
			}
		}
		if cmd.Name() != "help" && cmd.Name() != "completion" && cmd.GroupID == "" && cmd != root {
			t.Errorf("seen %s is in no group of the help", cmd.Name())
		}
	}
}

// -h and --help go together with other options.
func TestShortHelp(t *testing.T) {
	short := output(t, "uniq", "-h")
	if both := output(t, "uniq", "-dh"); both != short {
		t.Errorf("seen uniq -dh:\n%s\nseen uniq -h:\n%s", both, short)
	}
	if !strings.HasPrefix(short, "Print each line the first time it occurs.\n") || strings.Contains(short, "--checkpoint") ||
		!strings.Contains(short, "See \"seen uniq --help\" for all options") {
		t.Errorf("seen uniq -h:\n%s", short)
	}
	if whole := output(t, "uniq", "--help"); !strings.Contains(whole, "--checkpoint") {
		t.Errorf("seen uniq --help:\n%s", whole)
	}
}
