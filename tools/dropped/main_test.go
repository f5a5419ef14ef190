package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// dropped finds each way to drop an error, unless a comment gives a reason.
func TestDropped(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example\n\ngo 1.24\n",
		"a.go": `package example

import (
	"bufio"
	"fmt"
	"os"
)

func drop(f *os.File, w *bufio.Writer, stderr *os.File) (n int) {
	f.Close()
	_ = f.Close()
	n, _ = f.Write(nil)
	defer f.Close()
	go f.Sync()
	if f.Chmod(0) != nil {
		return 1
	}
	fmt.Fprintln(f, "x")

	w.WriteString("Flush returns it")
	fmt.Fprintln(stderr, "the last resort")
	_ = f.Close() // it was only read
	// It was only read.
	f.Close()
	if err := f.Sync(); err != nil {
		panic(err)
	}
	if f.Sync() == nil {
		n++
	}
	return n
}
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := dropped(folder, "./...")
	want := []string{"a.go:10:9", "a.go:11:2", "a.go:12:5", "a.go:13:15", "a.go:14:11", "a.go:15:5", "a.go:18:14"}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("found %q, %v; want %q", found, err, want)
	}
	if _, err := dropped(folder, "./nothing"); err == nil {
		t.Error("a package that is not there is no error")
	}
}
