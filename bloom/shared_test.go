package bloom_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
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

// sharedWays are what makes a batch of new keys lock all lines, or those of each
// key.
var sharedWays = map[string]func(s *bloom.Shared){
	"as it is": func(*bloom.Shared) {},
	"all":      func(s *bloom.Shared) { s.SetAloneFrom(1) },
	"each":     func(s *bloom.Shared) { s.SetAloneFrom(math.MaxInt) },
}

// Of several goroutines that add one unseen key at once, exactly one is told that
// it is new, whether they add single keys or batches.
func TestSharedTellsOneCaller(t *testing.T) {
	for _, p := range sharedLayouts(1, 2, 3, 1000) {
		for way, set := range sharedWays {
			t.Run(layoutName(p)+"/"+way, func(t *testing.T) {
				rounds := 20
				if p.M > 100_000 {
					rounds = 2
				}
				seeds := rand.New(rand.NewPCG(p.M, uint64(p.K)))
				for range rounds {
					s := must(bloom.NewShared(bloom.Config{Params: p}))
					set(s)
					hs := filtertest.RandomHashes(seeds.Uint64(), min(2000, int(p.M)/p.K))
					told := addByAll(t, s, hs)
					total := uint64(0)
					for i := range hs {
						n := told[i].Load()
						total += uint64(n)
						if n > 1 {
							t.Fatalf("%d callers were told that key %d is new", n, i)
						} else if n == 0 && !covered(p, hs, i) {
							t.Fatalf("no caller was told that key %d is new", i)
						}
					}
					if s.Added() != total {
						t.Fatalf("Added is %d, but %d callers were told new", s.Added(), total)
					}
					alone := must(bloom.New(bloom.Config{Params: p}))
					alone.AddHashes(nil, hs)
					if !s.Filter().Equal(alone) {
						t.Fatal("the bits differ from those that one goroutine sets")
					}
				}
			})
		}
	}
}

// addByAll adds hs from four goroutines, all of them at nearly the same time but
// in another order, two one by one and two in batches. It returns how many were
// told of each that it is new.
func addByAll(t *testing.T, s *bloom.Shared, hs []uint64) []atomic.Int32 {
	told := make([]atomic.Int32, len(hs))
	inParallel(4, func(g int) {
		r := rand.New(rand.NewPCG(uint64(g), 1))
		for at := 0; at < len(hs); at += 16 {
			order := r.Perm(min(16, len(hs)-at))
			batch := make([]uint64, len(order))
			for i := range order {
				batch[i] = hs[at+order[i]]
			}
			isNew := make([]bool, len(order))
			if g%2 == 0 {
				for i, h := range batch {
					isNew[i] = s.AddHash(h)
				}
			} else {
				s.AddHashes(isNew, batch)
			}
			for i, yes := range isNew {
				if yes {
					told[at+order[i]].Add(1)
				}
			}
			if s.HasHashes(nil, batch) != len(batch) || !s.HasHash(batch[0]) {
				t.Errorf("a key is not there right after it was added")
			}
		}
	})
	return told
}

// covered reports whether the other keys have all bits of key i, so that it may be
// taken for seen.
func covered(p sizing.Params, hs []uint64, i int) bool {
	f := must(bloom.New(bloom.Config{Params: p}))
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
		for way, set := range sharedWays {
			t.Run(layoutName(p)+"/"+way, func(t *testing.T) {
				r := rand.New(rand.NewPCG(p.M, uint64(p.K)))
				for range 150 {
					hs := filtertest.RandomHashes(r.Uint64(), keys)
					s := must(bloom.NewShared(bloom.Config{Params: p}))
					set(s)
					var now atomic.Int64
					h := history{has: sequential(p, hs)}
					plans := make([][]event, goroutines)
					for g := range plans {
						for range calls {
							plans[g] = append(plans[g], event{key: r.IntN(keys), add: r.IntN(3) > 0})
						}
					}
					inParallel(goroutines, func(g int) {
						for rest := plans[g]; len(rest) > 0; {
							n := 1
							if g > 0 { // as many of the same kind as come together
								for n < len(rest) && rest[n].add == rest[0].add {
									n++
								}
							}
							call(s, hs, rest[:n], &now)
							rest = rest[n:]
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
}

// call makes one call for events of one kind.
func call(s *bloom.Shared, hs []uint64, events []event, now *atomic.Int64) {
	start := now.Add(1)
	answers := make([]bool, len(events))
	batch := make([]uint64, len(events))
	for i, e := range events {
		batch[i] = hs[e.key]
	}
	switch add := events[0].add; {
	case len(events) > 1 && add:
		s.AddHashes(answers, batch)
	case len(events) > 1:
		s.HasHashes(answers, batch)
	case add:
		answers[0] = s.AddHash(batch[0])
	default:
		answers[0] = s.HasHash(batch[0])
	}
	end := now.Add(1)
	for i := range events {
		e := &events[i]
		e.start, e.end, e.answer = start, end, answers[i] != e.add
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
		f := must(bloom.New(bloom.Config{Params: p}))
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
		for way, set := range sharedWays {
			t.Run(layoutName(p)+"/"+way, func(t *testing.T) {
				s, other := must(bloom.NewShared(bloom.Config{Params: p})), must(bloom.NewShared(bloom.Config{Params: p}))
				set(s)
				set(other)
				hs := filtertest.RandomHashes(7, 800)
				inParallel(8, func(g int) {
					mine := hs[g*100 : (g+1)*100]
					for round := range 10 {
						askAll(t, s, other, g)
						part := mine[round*10 : round*10+10]
						switch {
						case g%4 == 0:
							for _, h := range part {
								s.AddHash(h)
							}
						case g%2 == 0:
							s.AddHashes(make([]bool, len(part)), part)
						default:
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
				s.Clear() // after a union Added is an estimate
				inParallel(4, func(g int) {
					for i := range 50 {
						switch {
						case g == 0:
							s.Clear()
						case g == 1:
							s.AddHashes(nil, hs[i*10:i*10+10])
						default:
							s.AddHash(hs[g*100+i])
						}
						if n := s.Added(); n > 800 {
							t.Errorf("Added is %d", n)
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
}

// askAll makes those calls about whole filters that belong to goroutine g.
func askAll(t *testing.T, s, other *bloom.Shared, g int) {
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
	case 5:
		var w bytes.Buffer
		if n, err := s.WriteSnapshot(&w); err != nil || n != int64(w.Len()) {
			t.Error(n, err)
		}
	}
}

// Added only rises while keys are added, and is never ahead of them.
func TestSharedAddedRises(t *testing.T) {
	const goroutines, each = 3, 20_000
	s := must(bloom.NewShared(bloom.Config{Capacity: goroutines * each, ErrorRate: 1e-9}))
	var begun, done atomic.Int64
	inParallel(goroutines+1, func(g int) {
		if g == goroutines {
			for last := uint64(0); last < goroutines*each; {
				least := done.Load()
				n := s.Added()
				if most := begun.Load(); n < last || n < uint64(least) || n > uint64(most) {
					t.Errorf("Added is %d, after %d, with %d keys that are added and %d that are being", n, last, least, most)
					return
				}
				last = n
			}
			return
		}
		for at, hs := 0, filtertest.RandomHashes(uint64(g), each); at < each; {
			n := 1 + at%100*(g%2)
			n = min(n, each-at)
			begun.Add(int64(n))
			if added := s.AddHashes(nil, hs[at:at+n]); added != n {
				t.Errorf("%d of %d keys are new", added, n)
			}
			done.Add(int64(n))
			at += n
		}
	})
}

// A snapshot has every key that was added before it was begun, and the count of a
// moment since, while others go on adding; and it is a sound frame.
func TestSharedWriteSnapshot(t *testing.T) {
	for _, rate := range []float64{0.01, 1e-4, 1e-5} {
		const n = 200_000
		s := must(bloom.NewShared(bloom.Config{Capacity: n, ErrorRate: rate, Hash: bloom.Hash{Seed: 3}}))
		s.SetTag(77)
		hs := filtertest.RandomHashes(1, n)
		s.AddHashes(nil, hs[:n/4])
		var sure, begun atomic.Int64 // keys, from the start of hs on
		sure.Store(n / 4)
		begun.Store(n / 4)
		inParallel(2, func(g int) {
			if g == 0 {
				for at := n / 4; at < n; at += 50 {
					begun.Store(int64(at + 50))
					s.AddHashes(nil, hs[at:at+50])
					sure.Store(int64(at + 50))
				}
				return
			}
			for sure.Load() < n {
				before, least := sure.Load(), s.Added()
				w := &slowWriter{}
				written, err := s.WriteSnapshot(w)
				most, last := s.Added(), begun.Load()
				if err != nil || written != int64(w.Len()) {
					t.Fatalf("%d bytes of %d, %v", written, w.Len(), err)
				}
				v, err := bloom.Decode(w.Bytes(), bloom.LoadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				f := v.(*bloom.Filter)
				if f.HasHashes(nil, hs[:before]) != int(before) {
					t.Errorf("keys that were added before the snapshot are not in it")
				}
				if f.Added() < least || f.Added() > most {
					t.Errorf("%d keys were added, between %d and %d", f.Added(), least, most)
				}
				if wrong := f.HasHashes(nil, hs[last:]); wrong > n/10 {
					t.Errorf("%d keys of %d that come later are in the snapshot", wrong, n-last)
				}
				if f.Params() != s.Params() || f.Hash() != s.Hash() || f.Tag() != 77 {
					t.Errorf("the snapshot is another filter")
				}
			}
		})
		var a, b bytes.Buffer
		must(s.WriteSnapshot(&a))
		must(s.WriteTo(&b))
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Error("a snapshot of a filter at rest is not what WriteTo writes")
		}
		if _, err := s.WriteSnapshot(noRoom{}); !errors.Is(err, errFull) {
			t.Errorf("a writer that fails: %v", err)
		}
	}
}

// slowWriter lets others run before each write.
type slowWriter struct{ bytes.Buffer }

func (w *slowWriter) Write(p []byte) (int, error) {
	runtime.Gosched()
	return w.Buffer.Write(p)
}

// noRoom is a writer without room.
type noRoom struct{}

var errFull = errors.New("no room")

func (noRoom) Write([]byte) (int, error) { return 0, errFull }

// Adding must not wait for the writer of a snapshot.
func TestSharedWriteSnapshotHoldsNobody(t *testing.T) {
	s := must(bloom.NewShared(bloom.Config{Capacity: 100_000, ErrorRate: 0.01}))
	hs := filtertest.RandomHashes(1, 1000)
	writes := 0
	_, err := s.WriteSnapshot(writerFunc(func(p []byte) (int, error) {
		at := writes * 100
		writes++
		if s.AddHashes(nil, hs[at:at+50]) != 50 || !s.AddHash(hs[at+50]) || s.Added() != uint64(writes)*51 || s.Stats().Added != s.Added() {
			t.Errorf("during write %d nothing can be added", writes)
		}
		return len(p), nil
	}))
	if err != nil || writes < 3 {
		t.Errorf("%d writes, %v", writes, err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestSharedFromBlocked(t *testing.T) {
	f := must(bloom.New(bloom.Config{Capacity: 1000, ErrorRate: 1e-4, Hash: bloom.Hash{Seed: 5}}))
	hs := filtertest.RandomHashes(1, 600)
	f.AddHashes(nil, hs[:300])
	was := f.Clone()
	s := f.Share()
	if s.Hash() != was.Hash() || s.Params() != was.Params() || s.Added() != was.Added() || !s.Filter().Equal(was) {
		t.Error("a Shared made of a Filter is another filter")
	}
	s.AddHashes(nil, hs)
	was.AddHashes(nil, hs)
	if b := s.Filter(); !b.Equal(was) || b.Added() != was.Added() {
		t.Error("a Shared and a Filter with the same keys differ")
	} else if b.Clear(); s.HasHashes(nil, hs) != len(hs) {
		t.Error("Filter shares memory with its Shared")
	}
	if a, b := must(s.MarshalBinary()), must(was.MarshalBinary()); !bytes.Equal(a, b) {
		t.Error("a Shared is not written as a Filter")
	}
	if err := s.UnmarshalBinary(must(must(bloom.NewClassic(bloom.Config{Capacity: 1, ErrorRate: 0.1})).MarshalBinary())); err == nil {
		t.Error("a Shared takes a classic filter")
	}
	if err := s.Union(must(bloom.NewShared(bloom.Config{Capacity: 1000, ErrorRate: 1e-4}))); !errors.Is(err, bloom.ErrIncompatible) {
		t.Errorf("Union of filters with different seeds: %v", err)
	}
	if _, err := bloom.NewShared(bloom.Config{}); err == nil {
		t.Error("NewShared accepts a capacity of 0")
	}
}

func TestSharedDesignDoesNotWait(t *testing.T) {
	small := must(bloom.NewShared(bloom.Config{Capacity: 1000, ErrorRate: 0.01}))
	large := must(bloom.NewShared(bloom.Config{Capacity: 2000, ErrorRate: 0.01, Params: small.Params()}))
	if err := small.Union(large); err != nil {
		t.Fatal(err)
	}
	want := bloom.Design{Type: "blocked", Capacity: 2000, ErrorRate: 0.01}
	// WriteTo locks all lines.
	if _, err := small.WriteTo(writerFunc(func(p []byte) (int, error) {
		if d := small.Design(); d != want {
			t.Errorf("the design is %+v, want %+v", d, want)
		}
		return len(p), nil
	})); err != nil {
		t.Fatal(err)
	}
}

func TestUnionOfFilterAndShared(t *testing.T) {
	c := bloom.Config{Capacity: 1000, ErrorRate: 0.01}
	filter, shared := must(bloom.New(c)), must(bloom.NewShared(c))
	for _, pair := range [][2]bloom.View{{filter, shared}, {shared, filter}} {
		err := bloom.Union(pair[0], pair[1])
		unlike, ok := errors.AsType[*bloom.IncompatibleError](err)
		if !ok || unlike.What != "types" || unlike.Want == unlike.Have {
			t.Errorf("Union(%T, %T): %v", pair[0], pair[1], err)
		}
	}
}
