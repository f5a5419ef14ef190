package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/rueidis"
)

// What a client did with one key, and what it was told.
type asked struct {
	key string
	add bool
}

type answered struct{ yes, undecided bool }

// oneKey is what a filter says of a key: it is there, or not. What is undecided may
// have been done or not.
var oneKey = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.(asked).key
			by[key] = append(by[key], o)
		}
		var all [][]porcupine.Operation
		for _, h := range by {
			all = append(all, h)
		}
		return all
	},
	Init: func() []any { return []any{false} },
	Step: func(state, input, output any) []any {
		there, in, out := state.(bool), input.(asked), output.(answered)
		switch {
		case in.add && out.undecided:
			return []any{there, true}
		case in.add && out.yes != there:
			return []any{true}
		case !in.add && (out.undecided || out.yes == there):
			return []any{there}
		}
		return nil
	},
}

// Histories of several clients that add and ask for the same keys, over several
// growths, are those of a set: each answer is one that the set had to give at some
// time between question and answer. So they are where clients write before they ask,
// which goes on until the filter has a second layer.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		capacity   uint64
		writeFirst bool
		layers     int // at least
	}{
		{"ask first", 60, false, 3},
		{"write first", 250, true, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEngines(t, func(t *testing.T, client rueidis.Client) {
				// So few that a false positive, which no set gives, is not to be expected.
				c := Config{Capacity: test.capacity, ErrorRate: 1e-6, SliceBytes: MinSliceBytes}
				linearizable(t, client, c, test.writeFirst, test.layers)
			})
		})
	}
}

func linearizable(t *testing.T, client rueidis.Client, c Config, writeFirst bool, layers int) {
	const callers, perCaller, hot = 6, 150, 40
	n := name(t)
	began := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	var writtenFirst atomic.Int64
	var group sync.WaitGroup
	var f *Filter
	for id := range callers {
		if id%2 == 0 { // two share one client
			var err error
			if f, err = Open(t.Context(), client, n, c); err != nil {
				t.Fatal(err)
			}
		}
		f := f
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(id), 17))
			for i := range perCaller {
				// Old keys and new ones, which come up for all at about the same time.
				var ks [][]byte
				for range 1 + r.IntN(4) {
					ks = append(ks, fmt.Appendf(nil, "k%d", max(0, i*4+r.IntN(hot)-hot/2)))
				}
				ks = distinct(ks)
				add := r.IntN(2) == 0
				ask := f.Has
				if add {
					ask = f.Add
				}
				if add && writeFirst && f.sure().writesFirst(f.current.Load()) {
					writtenFirst.Add(1)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				call := time.Since(began).Nanoseconds()
				answers, err := ask(ctx, ks...)
				end := time.Since(began).Nanoseconds()
				cancel()
				undecided := undecidedOf(t, err, len(ks))
				mu.Lock()
				for k, key := range ks {
					history = append(history, porcupine.Operation{
						ClientId: id, Input: asked{string(key), add}, Output: answered{answers[k], undecided[k]}, Call: call, Return: end,
					})
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	f, err := Open(t.Context(), client, n, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.current.Load().layers); n < layers {
		t.Errorf("the filter has %d layers; it should have grown", n)
	}
	if n := writtenFirst.Load(); writeFirst && n < callers*perCaller/10 {
		t.Errorf("only %d calls have written before they asked", n)
	}
	if !porcupine.CheckOperations(oneKey.ToModel(), history) {
		t.Errorf("the history of %d operations is not linearizable", len(history))
	}
}

// distinct leaves out what comes again.
func distinct(ks [][]byte) [][]byte {
	had := map[string]bool{}
	var all [][]byte
	for _, k := range ks {
		if !had[string(k)] {
			had[string(k)] = true
			all = append(all, k)
		}
	}
	return all
}
