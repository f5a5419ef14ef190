package bloom_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/sizing"
)

func TestShared(t *testing.T) {
	// One rate for each number of lines.
	for _, p := range []float64{0.01, 1e-4, 1e-5} {
		filtertest.Run(t, filtertest.Suite[*bloom.Shared]{
			New: func(testing.TB) *bloom.Shared {
				return must(bloom.NewShared(bloom.Config{Capacity: 5000, ErrorRate: p}))
			},
			Unlike: func(testing.TB) *bloom.Shared {
				return must(bloom.NewShared(bloom.Config{Capacity: 9000, ErrorRate: p}))
			},
			Capacity: 5000, ErrorRate: p,
		})
	}
}

// sharedLayouts are explicit layouts for tests of concurrency: all numbers of
// lines, few and all lanes, and arrays from one line in each region on, where all
// keys want the same locks.
func sharedLayouts(regionLines ...uint64) []sizing.Params {
	var all []sizing.Params
	for _, r := range regionLines {
		for lines := 1; lines <= 3; lines++ {
			for _, lanes := range []int{2, 8} {
				all = append(all, sizing.Params{M: r * uint64(lines) * 512, Lines: lines, Lanes: lanes, K: lines * lanes})
			}
		}
	}
	return all
}

func layoutName(p sizing.Params) string {
	return fmt.Sprintf("m=%d,lines=%d,lanes=%d", p.M, p.Lines, p.Lanes)
}

// Of several goroutines that add one unseen key at once, exactly one is told that
// it is new.
func TestSharedTellsOneCaller(t *testing.T) {
	for _, p := range sharedLayouts(1, 2, 3, 1000) {
		t.Run(layoutName(p), func(t *testing.T) {
			const goroutines = 4
			rounds := 60
			if p.M > 100_000 {
				rounds = 3
			}
			seeds := rand.New(rand.NewPCG(p.M, uint64(p.K)))
			for range rounds {
				s := must(bloom.NewShared(bloom.Config{Params: p}))
				hs := filtertest.RandomHashes(seeds.Uint64(), min(2000, int(p.M)/p.K))
				told := make([]atomic.Int32, len(hs))
				total := atomic.Int64{}
				inParallel(goroutines, func(g int) {
					r := rand.New(rand.NewPCG(uint64(g), 1))
					// Everybody adds the same keys at nearly the same time, in
					// another order.
					for at := 0; at < len(hs); at += 8 {
						order := r.Perm(min(8, len(hs)-at))
						for _, i := range order {
							if s.AddHash(hs[at+i]) {
								told[at+i].Add(1)
								total.Add(1)
							}
							if !s.HasHash(hs[at+i]) {
								t.Errorf("a key is not there right after it was added")
							}
						}
					}
				})
				for i := range hs {
					if n := told[i].Load(); n > 1 {
						t.Fatalf("%d callers were told that key %d is new", n, i)
					} else if n == 0 && !covered(p, hs, i) {
						t.Fatalf("no caller was told that key %d is new", i)
					}
				}
				if s.Added() != uint64(total.Load()) {
					t.Fatalf("Added is %d, but %d callers were told new", s.Added(), total.Load())
				}
				alone := must(bloom.NewBlocked(bloom.Config{Params: p}))
				alone.AddHashes(nil, hs)
				if !s.Blocked().Equal(alone) {
					t.Fatal("the bits differ from those that one goroutine sets")
				}
			}
		})
	}
}

// covered reports whether the other keys have all bits of key i, so that it may be
// taken for seen.
func covered(p sizing.Params, hs []uint64, i int) bool {
	f := must(bloom.NewBlocked(bloom.Config{Params: p}))
	f.AddHashes(nil, hs[:i])
	f.AddHashes(nil, hs[i+1:])
	return f.HasHash(hs[i])
}

func inParallel(n int, do func(g int)) {
	var wg sync.WaitGroup
	start := make(chan bool)
	for g := range n {
		wg.Go(func() {
			<-start
			do(g)
		})
	}
	close(start)
	wg.Wait()
}

// Every history of calls must be one that could have happened one call after
// another, each at a moment between its beginning and its end, on a set that errs
// as the bits of the filter have it.
func TestSharedIsLinearizable(t *testing.T) {
	const goroutines, calls, keys = 3, 5, 4
	for _, p := range sharedLayouts(1, 2) {
		t.Run(layoutName(p), func(t *testing.T) {
			r := rand.New(rand.NewPCG(p.M, uint64(p.K)))
			for range 300 {
				hs := filtertest.RandomHashes(r.Uint64(), keys)
				s := must(bloom.NewShared(bloom.Config{Params: p}))
				var now atomic.Int64
				h := history{has: sequential(p, hs)}
				plans := make([][]event, goroutines)
				for g := range plans {
					for range calls {
						plans[g] = append(plans[g], event{key: r.IntN(keys), add: r.IntN(3) > 0})
					}
				}
				inParallel(goroutines, func(g int) {
					for i := range plans[g] {
						e := &plans[g][i]
						e.start = now.Add(1)
						if e.add {
							e.answer = !s.AddHash(hs[e.key])
						} else {
							e.answer = s.HasHash(hs[e.key])
						}
						e.end = now.Add(1)
					}
				})
				h.events = slices.Concat(plans...)
				h.done = make([]bool, len(h.events))
				if !h.linearizable(0) {
					t.Fatalf("no order of these calls explains their answers: %+v", h.events)
				}
			}
		})
	}
}

// event is a call in a history, with logical times of its beginning and end. The
// answer is whether the key was there.
type event struct {
	start, end int64
	key        int
	add        bool
	answer     bool
}

type history struct {
	events []event
	done   []bool
	has    [][]bool // whether a filter with a set of keys has a key
}

// sequential tabulates, for every subset of the keys that was added, which keys a
// filter has.
func sequential(p sizing.Params, hs []uint64) (has [][]bool) {
	for set := range 1 << len(hs) {
		f := must(bloom.NewBlocked(bloom.Config{Params: p}))
		for i, h := range hs {
			if set>>i&1 != 0 {
				f.AddHash(h)
			}
		}
		found := make([]bool, len(hs))
		f.HasHashes(found, hs)
		has = append(has, found)
	}
	return has
}

// possible reports whether e can have its answer when the keys in set were added:
// yes for one of them, or because of keys whose addition has begun; and no unless
// keys whose addition has ended have all of the bits.
func (h *history) possible(e event, set int) bool {
	began, ended := 0, 0
	for _, o := range h.events {
		if o.add && o.start < e.end && o != e {
			began |= 1 << o.key
		}
		if o.add && o.end < e.start {
			ended |= 1 << o.key
		}
	}
	isMember := set>>e.key&1 != 0
	if e.answer {
		return isMember || h.has[began][e.key]
	}
	return !isMember && !h.has[ended][e.key]
}

// linearizable reports whether the calls that are not done can be put in an order
// that explains their answers, when the keys in set were added.
func (h *history) linearizable(set int) bool {
	const never = int64(1) << 62
	first := never // the earliest end: what begins later cannot come first
	for i, e := range h.events {
		if !h.done[i] {
			first = min(first, e.end)
		}
	}
	if first == never {
		return true
	}
	for i, e := range h.events {
		if h.done[i] || e.start > first || !h.possible(e, set) {
			continue
		}
		next := set
		if e.add {
			next |= 1 << e.key
		}
		h.done[i] = true
		if h.linearizable(next) {
			return true
		}
		h.done[i] = false
	}
	return false
}

// All calls that may run at the same time do, without a deadlock, a race that the
// detector would see, or a lost key.
func TestSharedAllAtOnce(t *testing.T) {
	for _, p := range sharedLayouts(2, 200) {
		t.Run(layoutName(p), func(t *testing.T) {
			s, other := must(bloom.NewShared(bloom.Config{Params: p})), must(bloom.NewShared(bloom.Config{Params: p}))
			hs := filtertest.RandomHashes(7, 800)
			inParallel(8, func(g int) {
				mine := hs[g*100 : (g+1)*100]
				for round := range 10 {
					switch g {
					case 0:
						s.Stats()
						s.Clone()
					case 1:
						var w bytes.Buffer
						if n, err := s.WriteTo(&w); err != nil || n != int64(w.Len()) {
							t.Error(n, err)
						}
						if _, err := bloom.Decode(w.Bytes(), bloom.LoadOptions{}); err != nil {
							t.Error(err)
						}
					case 2:
						if err := s.Union(other); err != nil {
							t.Error(err)
						}
					case 3:
						if err := other.Union(s); err != nil {
							t.Error(err)
						}
					case 4:
						s.Equal(other)
						other.Equal(s)
						s.Added()
					}
					part := mine[round*10 : round*10+10]
					if g%2 == 0 {
						s.AddHashes(make([]bool, len(part)), part)
					} else {
						other.AddHashes(nil, part)
					}
					if n := s.HasHashes(nil, mine[:round*10+10]); g%2 == 0 && n != round*10+10 {
						t.Errorf("%d of %d keys are there", n, round*10+10)
					}
				}
			})
			if err := s.Union(other); err != nil || s.HasHashes(nil, hs) != len(hs) {
				t.Errorf("keys are missing in the end; error %v", err)
			}
			inParallel(4, func(g int) {
				for i := range 50 {
					if g == 0 {
						s.Clear()
					} else {
						s.AddHash(hs[g*100+i])
					}
				}
			})
			s.Clear()
			if s.Added() != 0 || s.Stats().Ones != 0 {
				t.Error("after Clear something is left")
			}
		})
	}
}

func TestSharedFromBlocked(t *testing.T) {
	f := must(bloom.NewBlocked(bloom.Config{Capacity: 1000, ErrorRate: 1e-4, Hash: bloom.Hash{Seed: 5}}))
	hs := filtertest.RandomHashes(1, 600)
	f.AddHashes(nil, hs[:300])
	was := f.Clone()
	s := bloom.NewSharedFrom(f)
	if s.Hash() != was.Hash() || s.Params() != was.Params() || s.Added() != was.Added() || !s.Blocked().Equal(was) {
		t.Error("a Shared made of a Blocked is another filter")
	}
	s.AddHashes(nil, hs)
	was.AddHashes(nil, hs)
	if b := s.Blocked(); !b.Equal(was) || b.Added() != was.Added() {
		t.Error("a Shared and a Blocked with the same keys differ")
	} else if b.Clear(); s.HasHashes(nil, hs) != len(hs) {
		t.Error("Blocked shares memory with its Shared")
	}
	if a, b := must(s.MarshalBinary()), must(was.MarshalBinary()); !bytes.Equal(a, b) {
		t.Error("a Shared is not written as a Blocked")
	}
	if err := s.UnmarshalBinary(must(must(bloom.New(bloom.Config{Capacity: 1, ErrorRate: 0.1})).MarshalBinary())); err == nil {
		t.Error("a Shared takes a classic filter")
	}
	if err := s.Union(must(bloom.NewShared(bloom.Config{Capacity: 1000, ErrorRate: 1e-4}))); !errors.Is(err, bloom.ErrIncompatible) {
		t.Errorf("Union of filters with different seeds: %v", err)
	}
	if _, err := bloom.NewShared(bloom.Config{}); err == nil {
		t.Error("NewShared accepts a capacity of 0")
	}
}

func BenchmarkSharedAdd(b *testing.B) {
	for _, n := range []int{100_000, 10_000_000} {
		hs := filtertest.RandomHashes(1, n)
		for _, goroutines := range []int{1, 2} {
			b.Run(fmt.Sprintf("keys=%d/goroutines=%d", n, goroutines), func(b *testing.B) {
				s := must(bloom.NewShared(bloom.Config{Capacity: uint64(n), ErrorRate: 0.01}))
				for b.Loop() {
					s.Clear()
					inParallel(goroutines, func(g int) {
						mine := hs[g*n/goroutines : (g+1)*n/goroutines]
						for at := 0; at < len(mine); at += 256 {
							s.AddHashes(nil, mine[at:min(at+256, len(mine))])
						}
					})
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
			})
		}
	}
}
