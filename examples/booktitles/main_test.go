package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"seen/internal/redistest"
)

var lab redistest.Lab

func TestMain(m *testing.M) { os.Exit(lab.Run(m, os.Stderr)) }

func TestKey(t *testing.T) {
	for _, same := range [][]string{
		{"The Hobbit\tJ.R.R. Tolkien", "Hobbit, The\tTolkien, J. R. R.", "  THE HOBBIT!\tTOLKIEN J R R"},
		{"A\tAndy Warhol", "a\tWarhol, Andy"},
		{"Ästhetik\tG. W. F. Hegel", "ÄSTHETIK\tHegel, G.W.F."},
		{"Dog Bites Man\t", "dog bites man"},
		{"Man Bites Dog\t"},
		{"The Hobbit\tDavid Wenzel"},
		{""},
	} {
		for _, line := range same {
			if key(line) != key(same[0]) {
				t.Errorf("%q is %q, %q is %q", line, key(line), same[0], key(same[0]))
			}
		}
		for _, other := range []string{"Man Bites Dogs\t", "The\tAndy Warhol", "Hobbit\tTolkien"} {
			if key(other) == key(same[0]) {
				t.Errorf("%q and %q are both %q", other, same[0], key(other))
			}
		}
	}
}

// Two branches read catalogues that overlap and contain duplicates. Each book is
// printed once.
func TestBranches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	server := lab.Seen(t)
	catalogue := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "The Book of %d\tDoe, Jane\n", i)
			if i%10 == 0 {
				fmt.Fprintf(&b, "BOOK OF %d, THE.\tJane Doe\n", i)
			}
		}
		return b.String()
	}
	for _, branch := range []struct {
		in      string
		want    string
		printed int
	}{
		{catalogue(0, 3000), "3300 books: 3000 new, 300 probable duplicates", 3000},
		{catalogue(2000, 5000), "3300 books: 2000 new, 1300 probable duplicates", 2000},
		{"", "0 books: 0 new, 0 probable duplicates", 0},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"-server", server.Addr()}, strings.NewReader(branch.in), &stdout, &stderr); code != 0 {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		if n := strings.Count(stdout.String(), "\n"); n != branch.printed || !strings.Contains(stderr.String(), branch.want) {
			t.Errorf("%d lines, want %d; want %q in\n%.300s", n, branch.printed, branch.want, stderr.String()[max(0, stderr.Len()-300):])
		}
	}
}

func TestErrors(t *testing.T) {
	for _, args := range [][]string{{"-server", "127.0.0.1:1"}, {"-nosuch"}, {"x"}} {
		var stderr bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader("a\tb\n"), &bytes.Buffer{}, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, %q", args, code, &stderr)
		}
	}
}
