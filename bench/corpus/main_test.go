package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/internal/corpus"
)

func TestRunWritesTheCorpus(t *testing.T) {
	r, err := corpus.NewReader(corpus.Config{Kind: corpus.Short, Lines: 300, Distinct: 20, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"-kind", "short", "-lines", "3000", "-distinct", "200", "-seed", "4", "-scale", "0.1"}
	var stdout bytes.Buffer
	if err := run(flags, &stdout); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "short.txt")
	if err := run(append(flags, "-o", file), io.Discard); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stdout.Bytes(), want) || !bytes.Equal(written, want) {
		t.Error("standard output and the file do not both hold the corpus that the flags describe")
	}
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-kind words", "unknown kind"},
		{"-lines 5 -distinct 6", "6 distinct of 5 lines"},
		{"-scale 0", "not a positive number"},
		{"urls", "argument \"urls\""},
		{"-lines 1 -distinct 1 -o /nonexistent/file", "no such file"},
	} {
		err := run(strings.Fields(c.args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("corpus %s: error %v, want one with %q", c.args, err, c.want)
		}
	}
}
