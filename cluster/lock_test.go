package cluster

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// A call that has to wait for another one of the same client, which may have no
// deadline, still ends by its own.
func TestWaitingEndsByTheDeadline(t *testing.T) {
	client := engines[0].dial(t)
	f := open(t, client, Config{Capacity: 100, ErrorRate: 0.01})
	w := openAt(t, client, name(t), WindowConfig{Config: Config{Capacity: 100, ErrorRate: 0.01}, Span: time.Hour, Generations: 4}, new(atomic.Int64))
	for _, l := range []*lock{&f.changing, &w.clock.asking} {
		if err := l.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer l.release()
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"Clear": f.Clear,
		"Stats": func(ctx context.Context) error { _, err := f.Stats(ctx); return err },
		"Add":   func(ctx context.Context) error { _, err := w.Add(ctx, keys(0, 3)...); return err },
		"Has":   func(ctx context.Context) error { _, err := w.Has(ctx, keys(0, 3)...); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}
