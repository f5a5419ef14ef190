package input

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestFilesInOrder(t *testing.T) {
	a, b := write(t, "first\n"), write(t, "second")
	f, err := Open([]string{a, "-", b, "-"}, Options{Stdin: strings.NewReader("middle\n")})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := readAll(f, 3)
	if err != nil || string(got) != "first\nmiddle\nsecond" {
		t.Errorf("got %q, %v", got, err)
	}
	if p := f.Progress(); p.Read != 19 || p.Total != -1 || p.Index != 3 || p.Count != 4 || p.Name != StdinName {
		t.Errorf("progress at the end: %+v", p)
	}
}

func TestMissingFileAndDirectoryAreFoundAtOnce(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "no such file")
	for name, want := range map[string]string{
		missing: "" + missing + ": no such file or directory",
		dir:     "" + dir + ": is a directory",
	} {
		_, err := Open([]string{"-", name}, Options{})
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Open([]string{missing}, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v does not say that the file is missing", err)
	}
	std, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer std.Close()
	if _, err := Open(nil, Options{Stdin: std}); err == nil || !strings.Contains(err.Error(), StdinName) {
		t.Errorf("a directory as standard input: %v", err)
	}
}

func TestFileThatVanishes(t *testing.T) {
	name := write(t, "x")
	f, err := Open([]string{name}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readAll(f, 10); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), name) {
		t.Errorf("got %v", err)
	}
}

func TestReadErrorNamesTheFile(t *testing.T) {
	cause := errors.New("the disk is on fire")
	gz := fixture(t, "lines.txt.gz")
	for name, r := range map[string]io.Reader{
		"plain":      io.MultiReader(strings.NewReader("text\n"), iotest.ErrReader(cause)),
		"compressed": io.MultiReader(bytes.NewReader(gz[:100]), iotest.ErrReader(cause)),
		"at once":    iotest.ErrReader(cause),
	} {
		f, err := Open(nil, Options{Stdin: r})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = readAll(f, 100); !errors.Is(err, cause) || !strings.Contains(err.Error(), StdinName) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := Open(nil, Options{Stdin: readerFunc(func([]byte) (int, error) { return 0, nil })})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := readAll(f, 100); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that never delivers: %v", err)
	}
}

func TestProgressOfRegularFiles(t *testing.T) {
	stored := fixture(t, "lines.txt.gz")
	f, err := Open([]string{"testdata/lines.txt.gz", "testdata/lines.txt"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	plain := int64(len(fixture(t, "lines.txt")))
	total := int64(len(stored)) + plain
	if p := f.Progress(); p.Read != 0 || p.Total != total || p.Index != 0 || p.Name != "testdata/lines.txt.gz" {
		t.Errorf("before the start: %+v, want a total of %d", p, total)
	}
	file, _ := f.Next()
	if file.Live() {
		t.Error("a regular file is called live")
	}
	for err = nil; err == nil; {
		_, err = file.ReadContext(t.Context(), make([]byte, 1<<20))
	}
	file.Close()
	if p := f.Progress(); p.Read != int64(len(stored)) {
		t.Errorf("after the compressed file: %+v, want %d bytes read", p, len(stored))
	}
}

func TestStandardInputThatIsAFile(t *testing.T) {
	std, err := os.Open(write(t, "read by the shell\nleft\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer std.Close()
	if _, err := std.Seek(18, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	f, err := Open([]string{"-"}, Options{Stdin: std})
	if err != nil {
		t.Fatal(err)
	}
	if p := f.Progress(); p.Total != 5 {
		t.Errorf("total %d, want the 5 bytes behind the offset", p.Total)
	}
	got, _, err := readAll(f, 100)
	if err != nil || string(got) != "left\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := std.Stat(); err != nil {
		t.Errorf("standard input was closed: %v", err)
	}
}

// A read of a silent pipe ends with the context, and its goroutine with the pipe.
func TestSilentPipeCanBeLeft(t *testing.T) {
	r, w := io.Pipe()
	f, err := Open(nil, Options{Stdin: r})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	file, _ := f.Next()
	if !file.Live() {
		t.Error("a pipe is not called live")
	}
	go io.WriteString(w, "one\n")
	p := make([]byte, 100)
	if n, err := file.ReadContext(ctx, p); err != nil || string(p[:n]) != "one\n" {
		t.Fatalf("got %q, %v", p[:n], err)
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := file.ReadContext(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	file.Close()
	if _, err := file.ReadContext(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	w.Close() // goleak in TestMain sees whether the goroutine ended
}

func TestCloseBeforeTheEnd(t *testing.T) {
	for _, fx := range fixtures {
		for _, jobs := range []int{1, 4} {
			f, err := Open([]string{filepath.Join("testdata", fx.file), "-"}, Options{Jobs: jobs, Stdin: bytes.NewReader(fixture(t, fx.file))})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			for file, ok := f.Next(); ok; file, ok = f.Next() {
				if _, err := file.ReadContext(ctx, make([]byte, 10)); err != nil {
					t.Fatal(err)
				}
				opened := file.os.Load()
				if err := file.Close(); err != nil {
					t.Fatal(err)
				}
				if opened != nil {
					if _, err := opened.Stat(); !errors.Is(err, os.ErrClosed) {
						t.Errorf("%s stayed open: %v", fx.file, err)
					}
				}
			}
			cancel()
		}
	}
}
