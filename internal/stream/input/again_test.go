package input

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// again reads the files twice, with change in between, and returns the second reading.
func again(t *testing.T, names []string, stdin *os.File, change func()) ([]byte, *Files, error) {
	t.Helper()
	o := Options{Again: true}
	if stdin != nil {
		o.Stdin = stdin
	}
	f, err := Open(names, o)
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := readAll(f, 3000)
	if err != nil {
		t.Fatal(err)
	}
	change()
	second, err := f.Again()
	if err != nil {
		t.Fatal(err)
	}
	if second.Progress().Total < 0 {
		t.Error("the size of a second reading is not known")
	}
	content, _, err := readAll(second, 700)
	if err == nil && !bytes.Equal(content, first) {
		t.Fatalf("the second reading has other bytes, and no error: %q after %q", content, first)
	}
	return content, second, err
}

// copyOf copies a fixture into a folder of its own.
func copyOf(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, fixture(t, name), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAgain(t *testing.T) {
	for _, fx := range fixtures {
		path := copyOf(t, fx.file)
		_, files, err := again(t, []string{path, path}, nil, func() {})
		if err != nil || !files.Unchanged() {
			t.Errorf("%s: %v, unchanged: %v", fx.file, err, files.Unchanged())
		}
	}
}

// A standard input that is a file is read again from where it was, not from its start.
func TestAgainStandardInput(t *testing.T) {
	path := copyOf(t, "lines.txt")
	stdin, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if _, err := stdin.Seek(100, 0); err != nil {
		t.Fatal(err)
	}
	content, files, err := again(t, []string{"-", path, "-"}, stdin, func() {})
	whole := fixture(t, "lines.txt")
	if want := append(bytes.Clone(whole[100:]), whole...); err != nil || !bytes.Equal(content, want) || !files.Unchanged() {
		t.Errorf("%d bytes, %v; want %d bytes", len(content), err, len(want))
	}
}

func appendTo(t *testing.T, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// What was appended is left out: logs grow while they are read.
func TestAgainOfFileThatGrows(t *testing.T) {
	for _, fx := range fixtures {
		path := copyOf(t, fx.file)
		if _, files, err := again(t, []string{path}, nil, func() { appendTo(t, path, fixture(t, fx.file)) }); err != nil || files.Unchanged() {
			t.Errorf("%s: %v, unchanged: %v", fx.file, err, files.Unchanged())
		}
	}
}

func TestAgainOfChangedFile(t *testing.T) {
	for _, fx := range fixtures {
		path := copyOf(t, fx.file)
		stored := fixture(t, fx.file)
		changed := bytes.Clone(stored)
		changed[len(changed)/2] ^= 1
		for what, change := range map[string]func(){
			"changed in place": func() {
				if err := os.WriteFile(path, changed, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			"shorter": func() {
				if err := os.Truncate(path, int64(len(stored)/2)); err != nil {
					t.Fatal(err)
				}
			},
			"replaced": func() {
				if err := os.Rename(copyOf(t, fx.file), path); err != nil {
					t.Fatal(err)
				}
			},
		} {
			if err := os.WriteFile(path, stored, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
			_, files, err := again(t, []string{path}, nil, change)
			var is *ChangedError
			if !errors.As(err, &is) || files.Unchanged() {
				t.Errorf("%s, %s: error %v, unchanged: %v", fx.file, what, err, files.Unchanged())
			}
		}
	}
}

func TestAgainNeedsFilesThatWereRead(t *testing.T) {
	path := copyOf(t, "lines.txt")
	unread, err := Open([]string{path}, Options{Again: true})
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := Open(nil, Options{Again: true, Stdin: bytes.NewReader(nil)})
	if err != nil {
		t.Fatal(err)
	}
	unasked, err := Open([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := readAll(unasked, 100); err != nil {
		t.Fatal(err)
	}
	for what, files := range map[string]*Files{"not read": unread, "a pipe": pipe, "not asked for": unasked} {
		if _, err := files.Again(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for _, name := range []string{one, two} {
		if err := os.WriteFile(name, []byte("x\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(two)
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := os.Open(two)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	for _, c := range []struct {
		names []string
		stdin io.Reader
		want  string
	}{
		{[]string{one}, strings.NewReader("x"), ""},
		{[]string{one, two}, strings.NewReader("x"), two},
		{[]string{one, "-"}, strings.NewReader("x"), ""},
		{[]string{one, "-"}, stdin, StdinName},
	} {
		in, err := Open(c.names, Options{Stdin: c.stdin})
		if err != nil {
			t.Fatal(err)
		}
		if name, is := in.Find(info); name != c.want || is != (c.want != "") {
			t.Errorf("Find(%v) = %q, %t; want %q", c.names, name, is, c.want)
		}
	}
}
