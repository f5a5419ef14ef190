package bloom_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seen/bloom"
	"seen/internal/filtertest"
)

// clock is a clock for tests that goes when it is told to.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func newClock() *clock { return &clock{time.Date(2024, 5, 17, 12, 0, 0, 123456789, time.UTC)} }

func TestWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	window := func(c bloom.WindowConfig) func(testing.TB) *bloom.Window {
		c.Clock = newClock().now
		return func(testing.TB) *bloom.Window { return must(bloom.NewWindow(c)) }
	}
	// By time, the keys of the suite all fall into one generation, a burst.
	for _, c := range []bloom.WindowConfig{
		{Span: time.Hour, Capacity: 5000, ErrorRate: 0.01},
		{Span: time.Hour, Capacity: 5000, ErrorRate: 0.01, Generations: 2, NoRefresh: true},
		{Span: time.Hour, Capacity: 5000, ErrorRate: 0.01, NoClock: true},
	} {
		unlike := c
		unlike.Span++
		filtertest.Run(t, filtertest.Suite[*bloom.Window]{
			New: window(c), Unlike: window(unlike), Capacity: 5000, ErrorRate: 0.01,
		})
	}
	// By calls, they spread over generations, none of which is forgotten. With
	// refreshing, a wrong answer is recorded too, so Added is exact without only.
	for _, c := range []bloom.WindowConfig{
		{SpanKeys: 40_000, Capacity: 5000, ErrorRate: 0.01, Generations: 40, NoRefresh: true},
		{SpanKeys: 40_000, Capacity: 5000, ErrorRate: 0.01, Generations: 40, NoRefresh: true, CountNew: true},
		{SpanKeys: 40_000, Capacity: 5000, ErrorRate: 1e-4, Generations: 20},
	} {
		filtertest.Run(t, filtertest.Suite[*bloom.Window]{
			New: window(c), Capacity: 5000, ErrorRate: c.ErrorRate, NoUnion: true,
		})
	}
}

// memory is what a window is to remember: when each key was recorded.
type memory struct {
	recorded    map[uint64]int64
	least, most int64 // ages up to which a key is remembered, and may be
}

func newMemory(span int64, generations int) memory {
	step := (span + int64(generations) - 2) / int64(generations-1)
	return memory{map[uint64]int64{}, span, step*int64(generations) - 1}
}

// check checks whether the window may have answered so about h at time now.
func (m memory) check(t interface {
	Helper()
	Fatalf(string, ...any)
}, has bool, h uint64, now int64) {
	t.Helper()
	at, known := m.recorded[h]
	switch old := now - at; {
	case has && !known:
		t.Fatalf("a key is remembered that was never there")
	case !has && known && old <= m.least:
		t.Fatalf("a key of age %d is forgotten, which is to be remembered up to %d", old, m.least)
	case has && old > m.most:
		t.Fatalf("a key of age %d is remembered, which is to be forgotten after %d", old, m.most)
	}
}

// A key is there for a span after it was last added, or first with NoRefresh, and
// gone after G steps of span/(G-1), whatever the clock does.
func TestWindowByTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(1, 1e15).Draw(t, "span")
		generations := rapid.IntRange(2, 9).Draw(t, "generations")
		noRefresh := rapid.Bool().Draw(t, "no refresh")
		model := newMemory(span, generations)
		c := newClock()
		w := must(bloom.NewWindow(bloom.WindowConfig{
			Span: time.Duration(span), Generations: generations, NoRefresh: noRefresh,
			Capacity: 100, ErrorRate: 1e-9, Clock: c.now,
		}))
		latest := int64(math.MinInt64) // that an Add has seen: time never runs backwards
		keys := filtertest.RandomHashes(1, 20)
		for range 100 {
			step := rapid.SampledFrom([]int64{0, 1, span / 50, span / 3, span, 3 * span, -span / 2}).Draw(t, "step")
			c.t = c.t.Add(time.Duration(step))
			now := max(latest, c.t.UnixNano())
			h := keys[rapid.IntRange(0, len(keys)-1).Draw(t, "key")]
			has := w.HasHash(h)
			model.check(t, has, h, now)
			if rapid.Bool().Draw(t, "ask only") {
				continue
			}
			latest = now
			if isNew := w.AddHash(h); isNew == has {
				t.Fatalf("Add says new: %v, but Has has said %v", isNew, has)
			}
			if !has || !noRefresh {
				model.recorded[h] = now
			}
			if !w.HasHash(h) {
				t.Fatal("a key is not there right after it was added")
			}
		}
	})
}

// The same, by the number of calls of Add, or of those that record a key.
func TestWindowByKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(1, 60).Draw(t, "span")
		generations := rapid.IntRange(2, 9).Draw(t, "generations")
		noRefresh := rapid.Bool().Draw(t, "no refresh")
		countNew := rapid.Bool().Draw(t, "count new")
		// Without NoRefresh a repetition may count, or not if it is near.
		exact := !countNew || noRefresh
		model := newMemory(span, generations) // a key is of age 1 when the next is added
		w := must(bloom.NewWindow(bloom.WindowConfig{
			SpanKeys: uint64(span), Generations: generations, NoRefresh: noRefresh, CountNew: countNew, ErrorRate: 1e-9,
		}))
		batches := w.Clone()
		keys := filtertest.RandomHashes(1, 100)
		var calls int64
		for range 15 {
			hs := make([]uint64, rapid.IntRange(0, 40).Draw(t, "batch"))
			want := make([]bool, len(hs))
			for i := range hs {
				hs[i] = keys[rapid.IntRange(0, len(keys)-1).Draw(t, "key")]
				has := w.HasHash(hs[i])
				if exact {
					model.check(t, has, hs[i], calls)
				}
				if want[i] = w.AddHash(hs[i]); want[i] == has {
					t.Fatalf("Add says new: %v, but Has has said %v", want[i], has)
				}
				if !has || !noRefresh {
					model.recorded[hs[i]] = calls
				}
				if !has || !countNew {
					calls++
				}
			}
			added := make([]bool, len(hs))
			batches.AddHashes(added, hs)
			if !slices.Equal(added, want) || !w.Equal(batches) {
				t.Fatal("batches and single calls differ")
			}
		}
	})
}

// Without a number of generations a window of up to 63 calls is exact, and a longer
// one remembers up to a seventh more, and 6 calls for rounding.
func TestWindowSpanOfCalls(t *testing.T) {
	spans := []uint64{70, 100, 127, 128, 1000, 1001, 1006, 10_000}
	for span := range uint64(66) {
		spans = append(spans, span+1)
	}
	for _, span := range spans {
		for _, noRefresh := range []bool{false, true} {
			w := must(bloom.NewWindow(bloom.WindowConfig{SpanKeys: span, NoRefresh: noRefresh, ErrorRate: 1e-12}))
			most := span + span/7 + 6
			if span < 64 {
				most = span
			}
			rng := rand.New(rand.NewPCG(span, 1))
			longest := uint64(0)
			for range 10 {
				key := rng.Uint64()
				w.AddHash(key)
				distance := uint64(1) // from the call that added the key to the one that comes
				for w.HasHash(key) {
					if distance > most {
						t.Fatalf("span %d: a key of %d calls ago is there, which is to be gone after %d", span, distance, most)
					}
					w.AddHashes(nil, []uint64{rng.Uint64()})
					distance++
				}
				if distance <= span {
					t.Fatalf("span %d: a key of %d calls ago is gone", span, distance)
				}
				longest = max(longest, distance-1)
				w.AddHash(rng.Uint64()) // another phase
			}
			if span < 64 && longest != span {
				t.Errorf("span %d: the longest that a key was there is %d calls", span, longest)
			}
		}
	}
	// Where only what is recorded counts, each generation has room for several keys, so that
	// two keys that come by turns do not make the window forget the others.
	if g := must(bloom.NewWindow(bloom.WindowConfig{SpanKeys: 10, CountNew: true, ErrorRate: 0.01})).Config().Generations; g != 8 {
		t.Errorf("%d generations with CountNew", g)
	}
}

// With CountNew a window is as full as it may be before it forgets, and never
// holds more, however often keys are repeated.
func TestWindowCountNew(t *testing.T) {
	w := must(bloom.NewWindow(bloom.WindowConfig{SpanKeys: 700, CountNew: true, ErrorRate: 1e-9}))
	hs := filtertest.RandomHashes(1, 5000)
	bytes := uint64(0)
	for i, h := range hs {
		w.AddHash(h)
		for j := range 20 {
			w.AddHash(hs[i-i*j/20])
		}
		st := w.Stats()
		if st.Added > 800 || st.Layers > 8 {
			t.Fatalf("%d keys in %d layers", st.Added, st.Layers)
		}
		bytes = max(bytes, st.Bytes)
	}
	if limit := 8 * must(bloom.New(bloom.Config{Capacity: 100, ErrorRate: 1e-9 / 8 / 2})).Params().Bytes(); bytes > limit {
		t.Errorf("%d bytes for 8 generations of 100 keys, more than %d", bytes, limit)
	}
	// Without refreshing, repetitions do not count at all.
	w = must(bloom.NewWindow(bloom.WindowConfig{SpanKeys: 700, CountNew: true, NoRefresh: true, ErrorRate: 1e-9}))
	for range 100 {
		if w.AddHashes(nil, hs[:150]); w.HasHashes(nil, hs[:150]) != 150 || w.Added() != 150 {
			t.Fatal("repetitions make the window forget")
		}
	}
}

// Times that come from the data may come late: each key is then of its own time.
func TestWindowAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(10, 1000).Draw(t, "span")
		generations := rapid.IntRange(2, 5).Draw(t, "generations")
		noRefresh := rapid.Bool().Draw(t, "no refresh")
		model := newMemory(span, generations)
		w := must(bloom.NewWindow(bloom.WindowConfig{
			Span: time.Duration(span), Generations: generations, NoRefresh: noRefresh, NoClock: true,
			Capacity: 100, ErrorRate: 1e-9,
			Clock: func() time.Time { panic("the clock is asked") },
		}))
		batches := w.Clone()
		keys := filtertest.RandomHashes(1, 30)
		now := rapid.Int64Range(-1e6, 1e6).Draw(t, "start")
		latest := now
		w.AddHashAt(time.Unix(0, now), 1)
		batches.AddHashesAt(nil, []int64{now}, []uint64{1})
		for range 10 {
			n := rapid.IntRange(0, 30).Draw(t, "batch")
			hs, ts, want := make([]uint64, n), make([]int64, n), make([]bool, n)
			for i := range hs {
				now += rapid.Int64Range(0, span/4).Draw(t, "step")
				hs[i] = keys[rapid.IntRange(0, len(keys)-1).Draw(t, "key")]
				ts[i] = now - rapid.SampledFrom([]int64{0, 0, span / 3, 2 * span}).Draw(t, "late")
				latest = max(latest, ts[i])
				want[i] = w.AddHashAt(time.Unix(0, ts[i]), hs[i])
				model.check(t, !want[i], hs[i], latest)
				if at, known := model.recorded[hs[i]]; want[i] || !noRefresh {
					if known {
						model.recorded[hs[i]] = max(at, ts[i])
					} else {
						model.recorded[hs[i]] = ts[i]
					}
				}
			}
			added := make([]bool, n)
			count := batches.AddHashesAt(added, ts, hs)
			for _, isNew := range want {
				if isNew {
					count--
				}
			}
			if count != 0 || !slices.Equal(added, want) || !w.Equal(batches) {
				t.Fatal("batches and single calls differ")
			}
			found := make([]bool, len(keys))
			w.HasHashes(found, keys)
			for i, h := range keys {
				model.check(t, found[i], h, latest)
			}
		}
	})
}

// The error rate holds over all generations together, also when each of them is
// full, and after a burst of ten times the capacity.
func TestWindowErrorRate(t *testing.T) {
	const capacity, p, trials = 7000, 0.01, 100_000
	c := newClock()
	w := must(bloom.NewWindow(bloom.WindowConfig{Span: 7 * time.Hour, Capacity: capacity, ErrorRate: p, Clock: c.now}))
	check := func(what string, seed uint64) {
		t.Helper()
		wrong := w.HasHashes(nil, filtertest.RandomHashes(seed, trials))
		if _, most := filtertest.Limits(trials, p, 1e-3, 4); wrong > most {
			t.Errorf("%s: %d errors of %d, more than %d", what, wrong, trials, most)
		}
		lo, hi := filtertest.Limits(trials, w.Stats().ErrorRate, 1e-3, 4)
		if wrong < lo || wrong > hi {
			t.Errorf("%s: %d errors of %d, by Stats it should be %d to %d", what, wrong, trials, lo, hi)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		for range capacity / 7 {
			w.AddHash(r.Uint64())
		}
		c.t = c.t.Add(time.Hour)
	}
	c.t = c.t.Add(-time.Hour)
	check("steady", 2)
	if gens := generations(w); len(gens) != 8 || w.Stats().Layers != 8 {
		t.Errorf("%d generations with %d layers hold the capacity, want 8 and 8", len(gens), w.Stats().Layers)
	}
	for range 10 * capacity {
		w.AddHash(r.Uint64())
	}
	check("after a burst", 3)
	if w.Err() != nil {
		t.Error(w.Err())
	}
}

func TestWindowClock(t *testing.T) {
	c := newClock()
	w := must(bloom.NewWindow(bloom.WindowConfig{Span: time.Hour, Capacity: 100, ErrorRate: 1e-6, Clock: c.now}))
	start := c.t
	w.AddHash(1)
	c.t = start.Add(-1000 * time.Hour)
	if !w.HasHash(1) || w.AddHash(1) || !w.AddHash(2) {
		t.Error("after the clock has jumped back the window does not go on")
	}
	c.t = start.Add(59 * time.Minute)
	if !w.HasHash(1) || !w.HasHash(2) {
		t.Error("what was added while the clock was back is forgotten too soon")
	}
	c.t = start.AddDate(300, 0, 0) // beyond what nanoseconds can say
	if w.HasHash(1) || w.Stats().Added != 0 || len(generations(w)) != 0 {
		t.Error("after a long idle time keys are left")
	}
	c.t = start
	if !w.HasHash(1) {
		t.Error("asking has changed the window")
	}
	c.t = start.AddDate(300, 0, 0)
	if !w.AddHash(1) {
		t.Error("after a long idle time keys are left")
	}
	c.t = start
	if w.HasHash(2) || !w.HasHash(1) {
		t.Error("time runs backwards")
	}
	w.Clear()
	if !w.AddHash(1) || !w.HasHash(1) {
		t.Error("Clear does not reset the time")
	}
	if g := generations(w); len(g) != 1 || g[0].From > start.UnixNano() || g[0].To <= start.UnixNano() {
		t.Errorf("generations after Clear: %+v", g)
	}
	c.t = time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC)
	w.Clear()
	if !w.AddHash(1) || !w.HasHash(1) {
		t.Error("a clock before all times is not understood")
	}
}

// Has must be safe for concurrent use also when the present generation ends.
func TestWindowReadersDoNotWrite(t *testing.T) {
	c := newClock()
	w := must(bloom.NewWindow(bloom.WindowConfig{Span: time.Hour, Capacity: 100, ErrorRate: 1e-6, Clock: c.now}))
	w.AddHash(1)
	before := w.Clone()
	c.t = c.t.Add(30 * time.Minute)
	done := make(chan bool)
	for range 4 {
		go func() {
			ok := true
			for range 1000 {
				ok = ok && w.HasHash(1) && w.HasHashes(nil, []uint64{1, 1}) == 2 && w.Stats().Added == 1
			}
			done <- ok
		}()
	}
	for range 4 {
		if !<-done {
			t.Error("a reader misses the key")
		}
	}
	if !w.Equal(before) {
		t.Error("asking has changed the window")
	}
}

// Windows filled on several machines merge generation by generation.
func TestWindowUnion(t *testing.T) {
	config := bloom.WindowConfig{Span: 7 * time.Hour, Capacity: 1000, ErrorRate: 1e-6}
	clocks := []*clock{newClock(), newClock()}
	var windows []*bloom.Window
	for i, c := range clocks {
		config.Clock = c.now
		config.Capacity += uint64(i)
		windows = append(windows, must(bloom.NewWindow(config)))
	}
	model := newMemory(int64(7*time.Hour), 8)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 4000 {
		c := clocks[i%2]
		c.t = c.t.Add(time.Duration(r.Int64N(int64(time.Minute))))
		if i == 2000 {
			clocks[1].t = clocks[1].t.Add(5 * time.Hour) // one machine is ahead of the other
		}
		h := r.Uint64()
		windows[i%2].AddHash(h)
		model.recorded[h] = c.t.UnixNano()
	}
	for i, into := range []*bloom.Window{windows[0].Clone(), windows[1].Clone()} {
		other := windows[1-i]
		before := other.Clone()
		if err := into.Union(other); err != nil {
			t.Fatal(err)
		}
		if !other.Equal(before) {
			t.Error("Union changed its argument")
		}
		now := clocks[1].t // the later one
		for range 12 {
			clocks[0].t, clocks[1].t = now, now
			for h := range model.recorded {
				model.check(t, into.HasHash(h), h, now.UnixNano())
			}
			now = now.Add(time.Hour)
		}
		again := must(bloom.NewWindow(bloom.WindowConfig{Span: 1, Capacity: 1, ErrorRate: 0.5}))
		if err := again.UnmarshalBinary(must(into.MarshalBinary())); err != nil || !again.Equal(into) {
			t.Errorf("a union is not written and read as it is: %v", err)
		}
	}
}

func TestWindowUnionErrors(t *testing.T) {
	config := bloom.WindowConfig{Span: time.Hour, Capacity: 10, ErrorRate: 0.1}
	w := must(bloom.NewWindow(config))
	for _, c := range []struct {
		change func(c *bloom.WindowConfig)
		want   string
	}{
		{func(c *bloom.WindowConfig) { c.Span = 2 * time.Hour }, "different spans: 1h0m0s and 2h0m0s"},
		{func(c *bloom.WindowConfig) { c.Generations = 4 }, "different numbers of generations: 8 and 4"},
		{func(c *bloom.WindowConfig) { c.ErrorRate = 0.2 }, "different error rates: 0.1 and 0.2"},
		{func(c *bloom.WindowConfig) { c.Hash.Seed = 1 }, "different key hashes"},
		{func(c *bloom.WindowConfig) { c.Span, c.SpanKeys = 0, 10 }, "windows that count keys have no time in common"},
	} {
		other := config
		c.change(&other)
		if err := w.Union(must(bloom.NewWindow(other))); !errors.Is(err, bloom.ErrIncompatible) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Union: error %v, want one about %q", err, c.want)
		}
	}
}

func TestNewWindowErrors(t *testing.T) {
	for _, c := range []struct {
		config bloom.WindowConfig
		want   string
	}{
		{bloom.WindowConfig{Capacity: 1, ErrorRate: 0.1}, "a window needs a span; give Span or SpanKeys"},
		{bloom.WindowConfig{Span: 1, SpanKeys: 1, Capacity: 1, ErrorRate: 0.1}, "give one of the two"},
		{bloom.WindowConfig{Span: -1, Capacity: 1, ErrorRate: 0.1}, "a window of -1ns; the span must be above 0"},
		{bloom.WindowConfig{SpanKeys: 1 << 63, Capacity: 1, ErrorRate: 0.1}, "at most 9223372036854775807"},
		{bloom.WindowConfig{Span: 1, Capacity: 1, ErrorRate: 0.1, Generations: 1}, "a window of 1 generations; give 2 to 64"},
		{bloom.WindowConfig{Span: 1, Capacity: 1, ErrorRate: 0.1, Generations: 65}, "65 generations"},
		{bloom.WindowConfig{Span: 1, ErrorRate: 0.1}, "capacity is 0"},
		{bloom.WindowConfig{Span: 1, Capacity: 1}, "error rate is 0"},
		{bloom.WindowConfig{Span: 1, Capacity: 1, ErrorRate: 1.5}, "error rate is 1.5"},
		{bloom.WindowConfig{Span: 1, Capacity: 1, ErrorRate: 0.1, Hash: bloom.Hash{Algorithm: 9}}, "unknown hash algorithm 9"},
	} {
		if w, err := bloom.NewWindow(c.config); err == nil || w != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewWindow(%+v): error %v, want one about %q", c.config, err, c.want)
		}
	}
}

// generations returns the arrays of a window that it asks, the oldest first.
func generations(w *bloom.Window) []bloom.Array {
	return slices.DeleteFunc(bloom.Describe(w).Arrays, func(a bloom.Array) bool { return !a.Live })
}

func TestWindowGenerations(t *testing.T) {
	w := must(bloom.NewWindow(bloom.WindowConfig{SpanKeys: 30, Generations: 4, ErrorRate: 1e-6}))
	w.AddHashes(nil, filtertest.RandomHashes(1, 25))
	var got [][3]int64
	for _, g := range generations(w) {
		got = append(got, [3]int64{g.From, g.To, int64(g.Added)})
	}
	if want := [][3]int64{{0, 10, 10}, {10, 20, 10}, {20, 30, 5}}; !slices.Equal(got, want) {
		t.Errorf("generations (from, to, added): %v, want %v", got, want)
	}
}

// Where a generation can grow no more, keys are recorded all the same.
func TestWindowEndsWithTheHash(t *testing.T) {
	w := must(bloom.NewWindow(bloom.WindowConfig{Span: time.Hour, Capacity: 70, ErrorRate: 8e-13}))
	hs := filtertest.RandomHashes(1, 10_000)
	w.AddHashes(nil, hs)
	if !errors.Is(w.Err(), bloom.ErrFull) || w.HasHashes(nil, hs) != len(hs) {
		t.Errorf("Err %v, %d of %d keys are there", w.Err(), w.HasHashes(nil, hs), len(hs))
	}
	if st := w.Stats(); st.ErrorRate < 8e-13 {
		t.Errorf("Stats hides the rate: %+v", st)
	}
}
