package once

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"seen/bloom"
)

// filters makes one filter of each kind that Local treats in its own way.
func filters(t *testing.T) map[string]Filter {
	t.Helper()
	shared, err := bloom.NewShared(bloom.Config{Capacity: 10_000, ErrorRate: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	scalable, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 100, ErrorRate: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	classic, err := bloom.NewClassic(bloom.Config{Capacity: 10_000, ErrorRate: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Filter{"shared": shared, "scalable": scalable, "classic": classic}
}

func TestLocal(t *testing.T) {
	for name, f := range filters(t) {
		t.Run(name, func(t *testing.T) {
			m := Local(f)
			for i, c := range []struct {
				ask  func(context.Context, ...[]byte) ([]bool, error)
				keys []string
				want []bool
			}{
				{m.Has, []string{"a", "b"}, []bool{false, false}},
				{m.Add, []string{"a", "b", "a"}, []bool{true, true, false}},
				{m.Add, []string{"c", "b"}, []bool{true, false}},
				{m.Has, []string{"a", "d", "c"}, []bool{true, false, true}},
				{m.Add, nil, []bool{}},
			} {
				var keys [][]byte
				for _, k := range c.keys {
					keys = append(keys, []byte(k))
				}
				got, err := c.ask(t.Context(), keys...)
				if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("%d: %v: %v, %v; want %v", i, c.keys, got, err, c.want)
				}
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if got, err := m.Add(ended, []byte("e")); got != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("with an ended context: %v, %v", got, err)
			}
			if got, err := m.Has(t.Context(), []byte("e")); err != nil || got[0] {
				t.Errorf("a key was added although the context had ended: %v, %v", got, err)
			}
		})
	}
}

// Of all goroutines that add a key one is told that it is new.
func TestLocalConcurrent(t *testing.T) {
	const workers, keys = 8, 5000
	for name, f := range filters(t) {
		t.Run(name, func(t *testing.T) {
			m := Local(f)
			var added atomic.Int64
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					for i := range keys {
						key := fmt.Appendf(nil, "key %d", (i+w*keys/workers)%keys)
						isNew, err := m.Add(t.Context(), key)
						if err != nil {
							t.Error(err)
							return
						}
						if isNew[0] {
							added.Add(1)
						}
					}
				})
			}
			wg.Wait()
			// The keys, the hash and so the errors are the same in each run: none.
			if added.Load() != keys {
				t.Errorf("%d keys were new %d times", keys, added.Load())
			}
		})
	}
}

// A filter without room is an error, not a key that stays new for ever.
func TestLocalFull(t *testing.T) {
	f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 100, ErrorRate: 1e-6, MaxBytes: 2048})
	if err != nil {
		t.Fatal(err)
	}
	m := Local(f)
	var keys [][]byte
	for i := range 10_000 {
		keys = append(keys, fmt.Appendf(nil, "%d", i))
	}
	answers, err := m.Add(t.Context(), keys...)
	if !errors.Is(err, bloom.ErrFull) || len(answers) < 100 || len(answers) == len(keys) {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	if has, err := m.Has(t.Context(), keys[:len(answers)]...); err != nil || fmt.Sprint(has) != fmt.Sprint(answers) {
		t.Errorf("%v, %v; want what was added: %v", has, err, answers)
	}
	if _, err := m.Add(t.Context(), keys[0]); err != nil {
		t.Errorf("a key that is there: %v", err)
	}
}
