package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
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
