package cluster

import (
	"math"
	"sync"
	"testing"
)

// However many keys are under way at once while layers fill, no more are wrongly seen
// than the error rate says: a layer is not filled far beyond its capacity.
func TestErrorRateUnderLoad(t *testing.T) {
	const calls, perCall, p = 16, 2048, 0.01
	client := engines[0].dial(t)
	f := open(t, client, Config{Capacity: 5000, ErrorRate: p})
	n := underRace(49_152)
	var mu sync.Mutex
	var wg sync.WaitGroup
	next, seen := 0, 0
	for range calls {
		wg.Go(func() {
			for {
				mu.Lock()
				from := next
				next += perCall
				mu.Unlock()
				if from >= n {
					return
				}
				got, err := f.Add(t.Context(), keys(from, perCall)...)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen += perCall - trues(got)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	want := p * float64(next-calls*perCall)
	if most := want + 3*math.Sqrt(want); float64(seen) > most {
		t.Errorf("%d of %d new keys were taken for seen; %.0f expected, at most %.0f", seen, next-calls*perCall, want, most)
	}
	counts, err := f.counts(t.Context(), f.current.Load().layers[0])
	if err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for _, c := range counts {
		sum += c
	}
	if sum > 5000+5000/32 {
		t.Errorf("the first layer, for 5000 keys, has %d", sum)
	}
}
