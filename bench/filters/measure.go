package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// start is the zero of the elapsed time.
var start = time.Now()

// result is a line of a table. Its times are nanoseconds per key, medians of the turns.
type result struct {
	row                   row
	bitsPerKey, errorRate float64
	add                   float64
	present, absent       float64
	mixed, pair           float64
	lost                  int // keys that were added and not found
	failed                error
}

// question is one kind of look-up, and the field for its times.
type question struct {
	name  string
	keys  keySet
	pair  bool
	times func(*result) *float64
}

// table measures all rows with n keys of a kind.
func table(o options, k keyKind, n int, progress io.Writer) []result {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	asked := min(n, o.queries)
	present := reserve(k, asked).fill(k, asked, func(i int) uint64 { return uint64(i) * uint64(n/asked) })
	missing := reserve(k, asked).fill(k, asked, func(i int) uint64 { return absent + uint64(i) })
	mixed := reserve(k, asked).fill(k, asked, func(i int) uint64 {
		if mix(uint64(i))%2 == 0 {
			return absent + uint64(i)
		}
		return uint64(i) * uint64(n/asked)
	})
	random := rand.New(rand.NewPCG(1, 1))
	for _, s := range []keySet{present, mixed} {
		random.Shuffle(asked, func(i, j int) {
			s.keys[i], s.keys[j] = s.keys[j], s.keys[i]
			s.hashes[i], s.hashes[j] = s.hashes[j], s.hashes[i]
		})
		layOut(s, k)
	}

	var results []result
	var filters []filter
	piece := reserve(k, min(n, 1<<20))
	for _, r := range rows(o.only) {
		fmt.Fprintf(progress, "%d keys, %s: %s, built\n", n, k.name, r.name)
		f, res := fillRow(o, r, k, n, piece)
		if res.failed == nil && f.has != nil {
			res.lost = asked - f.has(present)
			res.errorRate = float64(f.has(missing)) / float64(asked)
		}
		results, filters = append(results, res), append(filters, f)
		runtime.GC()
	}

	questions := []question{
		{"Has+", present, false, func(r *result) *float64 { return &r.present }},
		{"Has-", missing, false, func(r *result) *float64 { return &r.absent }},
		{"mixed", mixed, false, func(r *result) *float64 { return &r.mixed }},
	}
	if o.pairs {
		questions = append(questions, question{"mixed, 2 goroutines", mixed, true, func(r *result) *float64 { return &r.pair }})
	}
	for _, q := range questions {
		times := make([][]float64, len(results))
		for turn := range o.turns {
			fmt.Fprintf(progress, "%d keys, %s: %s, turn %d of %d\n", n, k.name, q.name, turn+1, o.turns)
			for i, f := range filters {
				if results[i].failed == nil && f.has != nil {
					times[i] = append(times[i], ask(f, q)/float64(asked))
				}
			}
			runtime.GC()
		}
		for i := range results {
			*q.times(&results[i]) = median(times[i])
		}
	}
	for _, f := range filters {
		if f.free != nil {
			f.free()
		}
	}
	return results
}

// layOut moves shuffled keys so that their order in memory is the order of the list, as
// in a buffer that was read.
func layOut(s keySet, k keyKind) {
	flat := make([]byte, 0, len(s.keys)*k.length)
	for i, key := range s.keys {
		flat = append(flat, key...)
		s.keys[i] = flat[i*k.length : len(flat) : len(flat)]
	}
}

// fillRow builds a row's filter and adds n keys. It builds small filters several times
// and takes the median.
func fillRow(o options, r row, k keyKind, n int, piece *keySet) (f filter, res result) {
	res.row = r
	builds := 1
	if n <= 1<<20 {
		builds = o.turns
	}
	var times []float64
	for range builds {
		if f, res.failed = r.build(n, o.rate); res.failed != nil {
			return f, res
		}
		spent := time.Duration(0)
		for first := 0; first < n; first += len(piece.keys) {
			keys := piece.fill(k, min(len(piece.keys), n-first), func(i int) uint64 { return uint64(first + i) })
			before := threadTime()
			f.add(keys)
			spent += threadTime() - before
		}
		if f.done != nil {
			before := threadTime()
			res.failed = f.done()
			spent += threadTime() - before
			if res.failed != nil {
				return f, res
			}
		}
		times = append(times, float64(spent.Nanoseconds())/float64(n))
	}
	res.add = median(times)
	res.bitsPerKey = float64(f.bits()) / float64(n)
	return f, res
}

// ask makes the look-ups of one turn and returns their nanoseconds.
func ask(f filter, q question) float64 {
	if !q.pair {
		before := threadTime()
		f.has(q.keys)
		return float64((threadTime() - before).Nanoseconds())
	}
	half := len(q.keys.keys) / 2
	before := time.Now()
	var wait sync.WaitGroup
	for _, s := range []keySet{
		{q.keys.keys[:half], q.keys.hashes[:half]},
		{q.keys.keys[half:], q.keys.hashes[half:]},
	} {
		wait.Go(func() { f.has(s) })
	}
	wait.Wait()
	return float64(time.Since(before).Nanoseconds())
}

func median(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(times))
	return (s[len(s)/2] + s[(len(s)-1)/2]) / 2
}
