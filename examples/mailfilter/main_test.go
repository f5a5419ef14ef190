package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// With an error rate of a third many addresses need the second look, and the answers
// are still exact.
func TestFilter(t *testing.T) {
	list := filepath.Join(t.TempDir(), "forbidden")
	var forbidden, in, want strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&forbidden, "user%d@example.com\n", i)
	}
	fmt.Fprintln(&forbidden, "J.Doe@googlemail.com")
	for i := range 6000 {
		line := fmt.Sprintf("User %d <USER%d@Example.COM.>", i, i)
		fmt.Fprintln(&in, line)
		if i >= 3000 {
			fmt.Fprintln(&want, line)
		}
	}
	fmt.Fprint(&in, "\njdoe+shop@gmail.com\njdoe@example.com")
	fmt.Fprintln(&want, "jdoe@example.com")
	if err := os.WriteFile(list, []byte(forbidden.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-forbidden", list, "-p", "0.3"}, strings.NewReader(in.String()), &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	if stdout.String() != want.String() {
		t.Errorf("%d bytes of output, want %d", stdout.Len(), want.Len())
	}
	var c counts
	var wrong int
	if _, err := fmt.Sscanf(stderr.String(), "%d addresses: %d passed, %d forbidden; %d looked for in the list, of which %d", &c.addresses, &c.passed, &c.forbidden, &c.looked, &wrong); err != nil {
		t.Fatalf("%v in %q", err, &stderr)
	}
	if c.addresses != 6002 || c.passed != 3001 || c.forbidden != 3001 || wrong == 0 || wrong > 1200 || c.looked != 3001+wrong {
		t.Errorf("%s", &stderr)
	}
}

func TestErrors(t *testing.T) {
	for _, args := range [][]string{{}, {"-forbidden", filepath.Join(t.TempDir(), "nosuch")}, {"-nosuch"}, {"-forbidden", "x", "y"}} {
		var stderr bytes.Buffer
		if code := run(args, strings.NewReader("a@b\n"), &bytes.Buffer{}, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, %q", args, code, &stderr)
		}
	}
}
