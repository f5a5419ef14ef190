//go:build unix

package input

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A named pipe is left without waiting, whether it has a writer or not.
func TestNamedPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	f, err := Open([]string{name}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	file, _ := f.Next()
	if _, err := file.ReadContext(ctx, make([]byte, 10)); !errors.Is(err, context.Canceled) {
		t.Errorf("without a writer: %v", err)
	}
	file.Close()
	// The goroutine waits in open(2) until a writer comes.
	w, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	if f, err = Open([]string{name}, Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	file, _ = f.Next()
	if _, err := file.ReadContext(ctx, make([]byte, 10)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a silent writer: %v", err)
	}
	file.Close()
}
