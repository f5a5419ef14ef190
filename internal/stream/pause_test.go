package stream

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seen/internal/stream/input"
)

// In a pause of a live input, Pause is called between calls of consume, and not without one.
// With more jobs, workers wait for a mutex, and the clock of the test would stand still.
func TestPause(t *testing.T) {
	for _, jobs := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			var mutex sync.Mutex
			var events []string
			note := func(what string) error {
				mutex.Lock()
				defer mutex.Unlock()
				events = append(events, what)
				return nil
			}
			expect := func(want ...string) {
				t.Helper()
				synctest.Wait()
				mutex.Lock()
				defer mutex.Unlock()
				if !slices.Equal(events, want) {
					t.Errorf("%d jobs: %q, want %q", jobs, events, want)
				}
				events = nil
			}
			in, err := input.Open(nil, input.Options{Stdin: r})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() {
				c := Config{Jobs: jobs, Pause: func() error { return note("pause") }}
				ended <- Run(t.Context(), in, c, func(b *Block) error { return note(string(b.Data)) })
			}()
			io.WriteString(w, "a\n")
			expect("a\n")
			time.Sleep(PauseTime / 2)
			io.WriteString(w, "b\n")
			time.Sleep(PauseTime / 2)
			io.WriteString(w, "c\nd")
			expect("b\n", "c\n")
			time.Sleep(2 * PauseTime)
			expect("pause")
			time.Sleep(time.Hour)
			expect() // once in each
			io.WriteString(w, "\n")
			time.Sleep(2 * PauseTime)
			expect("d\n", "pause")
			w.Close()
			if err := <-ended; err != nil {
				t.Errorf("%d jobs: %v", jobs, err)
			}
			expect()
		})
	}
}

// An error of Pause ends the run, also where the context cannot end.
func TestPauseFails(t *testing.T) {
	broken := errors.New("broken")
	for _, ctx := range []context.Context{t.Context(), context.Background()} {
		for _, jobs := range jobsTested {
			r, w := io.Pipe()
			go io.WriteString(w, "a\nb")
			in, err := input.Open(nil, input.Options{Stdin: r})
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			err = Run(ctx, in, Config{Jobs: jobs, Pause: func() error { return broken }}, func(b *Block) error {
				seen += b.Len()
				return nil
			})
			w.Close()
			if err != broken || seen != 1 {
				t.Errorf("%d jobs: %v after %d records", jobs, err, seen)
			}
		}
	}
}

// Regular files make no pauses, however slow the consumer is.
func TestNoPauseInFiles(t *testing.T) {
	names := files(t, t.TempDir(), "a\nb\nc\n", "d\n")
	for _, jobs := range jobsTested {
		var pauses atomic.Int32
		c := Config{Jobs: jobs, BlockSize: 2, Pause: func() error { pauses.Add(1); return nil }}
		err := Run(t.Context(), open(t, names, nil), c, func(*Block) error {
			time.Sleep(PauseTime + PauseTime/2)
			return nil
		})
		if err != nil || pauses.Load() > 0 {
			t.Errorf("%d jobs: %v, %d pauses", jobs, err, pauses.Load())
		}
	}
}
