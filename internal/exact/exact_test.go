package exact

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"seen/internal/spill"
	"seen/internal/vfs/memfs"
)

type hashes struct{ hash, second uint64 }

// run gives keys to a Set some at a time, with joins at the given numbers of keys.
type run struct {
	config Config
	before []uint64
	keys   []hashes
	joins  []int
	jobs   int
	batch  int
}

// outcome is the positions of the keys that were new at once, and of those that were late.
type outcome struct {
	fresh map[int]bool
	late  map[int]bool
	stats Stats
	peak  uint64
}

func batches(hs []uint64) iter.Seq[[]uint64] {
	return func(yield func([]uint64) bool) {
		for c := range slices.Chunk(hs, 100) {
			if !yield(c) {
				return
			}
		}
	}
}

func (r run) do() (*outcome, error) {
	o := &outcome{fresh: map[int]bool{}, late: map[int]bool{}}
	s, err := New(r.config, batches(r.before))
	if err != nil {
		return o, err
	}
	defer s.Close()
	late := func(some []Late) error {
		for _, l := range some {
			if o.late[int(l.Position)] || r.config.Places && l.Place != l.Position*3+1 {
				return errors.New("a late position comes twice or has another place")
			}
			o.late[int(l.Position)] = true
		}
		return nil
	}
	joins := r.joins
	for at := 0; at < len(r.keys); {
		end := min(at+max(r.batch, 1), len(r.keys))
		var hs, seconds []uint64
		for _, k := range r.keys[at:end] {
			hs, seconds = append(hs, k.hash), append(seconds, k.second)
		}
		fresh := make([]bool, end-at)
		doubts, err := s.Add(fresh, hs, seconds)
		if err != nil {
			return o, err
		}
		for _, d := range doubts {
			if fresh[d] {
				return o, errors.New("a new key is a doubt")
			}
			position := uint64(at) + uint64(d)
			if err := s.Doubt(hs[d], seconds[d], position, position*3+1); err != nil {
				return o, err
			}
			// A join between the doubts of one call of Add.
			if len(joins) > 0 && int(position) >= joins[0] {
				joins = joins[1:]
				if err := s.Join(context.Background(), JoinConfig{Jobs: r.jobs, Late: late}); err != nil {
					return o, err
				}
			}
		}
		for i, is := range fresh {
			if is {
				o.fresh[at+i] = true
			}
		}
		at = end
		if len(joins) > 0 && at >= joins[0] {
			joins = joins[1:]
			if err := s.Join(context.Background(), JoinConfig{Jobs: r.jobs, Late: late}); err != nil {
				return o, err
			}
		}
	}
	o.peak = s.Stats().Bytes
	if err := s.Join(context.Background(), JoinConfig{Jobs: r.jobs, Late: late, Last: true}); err != nil {
		return o, err
	}
	o.stats = s.Stats()
	return o, s.Close()
}

// firsts returns the positions of the first occurrence of each key.
func (r run) firsts() map[int]bool {
	before := map[uint64]bool{}
	for _, h := range r.before {
		before[h] = true
	}
	seen := map[hashes]bool{}
	first := map[int]bool{}
	for i, k := range r.keys {
		k.second &= 1<<16 - 1
		if !seen[k] && !before[k.hash] {
			first[i] = true
		}
		seen[k] = true
	}
	return first
}

// compare returns what is wrong with an outcome.
func (r run) compare(o *outcome) string {
	all := maps.Clone(o.fresh)
	for i := range o.late {
		if all[i] {
			return "a key is new and late"
		}
		all[i] = true
	}
	if !maps.Equal(all, r.firsts()) {
		return "the new and the late keys are not the first ones"
	}
	return ""
}

func folder(t testing.TB) *spill.Folder {
	f, err := spill.Open(spill.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAgainstMap compares Sets whose filters are so small that many keys are doubts with a
// map.
func TestAgainstMap(t *testing.T) {
	f := folder(t)
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(0, 40_000).Draw(t, "keys")
		distinct := rapid.IntRange(1, 40_000).Draw(t, "distinct")
		r := run{
			config: Config{Memory: uint64(rapid.SampledFrom([]int{LeastMemory, 10_000, 64 << 10, 1 << 20}).Draw(t, "memory")), Folder: f, Places: rapid.Bool().Draw(t, "places")},
			jobs:   rapid.IntRange(0, 3).Draw(t, "jobs"),
			batch:  rapid.SampledFrom([]int{1, 7, 32, 1000}).Draw(t, "batch"),
			joins:  rapid.SliceOfN(rapid.IntRange(0, n), 0, 3).Draw(t, "joins"),
		}
		known := make([]hashes, distinct)
		for i := range known {
			known[i] = hashes{rng.Uint64(), rng.Uint64()}
			if rng.IntN(50) == 0 { // the same first hash
				known[i].hash = known[rng.IntN(i+1)].hash
			}
		}
		if rapid.Bool().Draw(t, "zero") {
			known[0].hash = 0
		}
		for _, k := range known[:rapid.IntRange(0, distinct).Draw(t, "before")/2] {
			r.before = append(r.before, k.hash)
		}
		slices.Sort(r.before)
		r.before = slices.Compact(r.before)
		for range n {
			r.keys = append(r.keys, known[min(rng.IntN(distinct), rng.IntN(distinct))])
		}
		slices.Sort(r.joins)
		o, err := r.do()
		if err != nil {
			t.Fatal(err)
		}
		if wrong := r.compare(o); wrong != "" {
			t.Fatalf("%s: %+v", wrong, o.stats)
		}
		if uint64(len(o.late)) != o.stats.Late || uint64(len(o.fresh)) != o.stats.Printed || o.stats.Open != 0 {
			t.Fatalf("%d late, %d new: %+v", len(o.late), len(o.fresh), o.stats)
		}
	})
	if f.Used() != 0 {
		t.Errorf("%d bytes are left on disk", f.Used())
	}
}

// many is a run in which a tenth of the lines and more are doubts.
func many(c Config) run {
	rng := rand.New(rand.NewPCG(5, 6))
	r := run{config: c, jobs: 2, batch: 1000}
	for range 200_000 {
		k := hashes{rng.Uint64(), rng.Uint64()}
		if rng.IntN(4) == 0 && len(r.keys) > 0 {
			k = r.keys[rng.IntN(len(r.keys))]
		}
		r.keys = append(r.keys, k)
	}
	return r
}

func TestManyDoubts(t *testing.T) {
	f := folder(t)
	r := many(Config{Memory: 64 << 10, Folder: f})
	o, err := r.do()
	if err != nil {
		t.Fatal(err)
	}
	if wrong := r.compare(o); wrong != "" {
		t.Error(wrong)
	}
	if o.stats.Doubts < 40_000 || len(o.late) < 10_000 {
		t.Errorf("the test is too easy: %+v", o.stats)
	}
	if o.peak > 64<<10 {
		t.Errorf("%d bytes of memory", o.peak)
	}
	if most := printedSize*o.stats.Printed + doubtSize*o.stats.Doubts; f.Peak() > most {
		t.Errorf("%d bytes of disk for %+v, more than %d", f.Peak(), o.stats, most)
	}
}

// Every error of the disk is one of the run, and what was said before it is right.
func TestDiskErrors(t *testing.T) {
	for _, op := range []string{"write", "read", "temp"} {
		for n := 0; ; n = n + 1 + n/3 {
			m := memfs.New()
			f, err := spill.Open(spill.Config{Dir: "/tmp", FS: m})
			if err != nil {
				t.Fatal(err)
			}
			next, failed := memfs.FailNth(n, syscall.ENOSPC), false
			m.SetFault(func(is, name string) error {
				if is != op {
					return nil
				}
				err := next(is, name)
				failed = failed || err != nil
				return err
			})
			r := many(Config{Memory: 16 << 10, Folder: f})
			r.keys = r.keys[:20_000]
			r.joins = []int{10_000}
			r.before = []uint64{1, 2, 3}
			o, err := r.do()
			if !failed {
				if err != nil {
					t.Errorf("%v without a fault", err)
				}
				break
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("%s %d fails, and the run says %v", op, n, err)
			}
			firsts := r.firsts()
			for i := range o.fresh {
				if !firsts[i] {
					t.Fatalf("%s %d fails: key %d is new and is not", op, n, i)
				}
			}
			for i := range o.late {
				if !firsts[i] || o.fresh[i] {
					t.Fatalf("%s %d fails: key %d is late and is not", op, n, i)
				}
			}
			if left := m.Names(); len(left) > 0 || f.Used() != 0 {
				t.Fatalf("%s %d fails: left %v, %d bytes", op, n, left, f.Used())
			}
		}
	}
}

// A join that is cancelled decides nothing, and says so.
func TestJoinCancelled(t *testing.T) {
	s, err := New(Config{Memory: LeastMemory, Folder: folder(t)}, batches(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Doubt(1, 2, 3, 4); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = s.Join(ctx, JoinConfig{Jobs: 2, Late: func([]Late) error { return nil }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled join: %v", err)
	}
	if err := s.Doubt(1, 2, MaxPosition+1, 4); err == nil {
		t.Error("a position that has no room is taken")
	}
	if _, err := New(Config{Memory: LeastMemory - 1, Folder: folder(t)}, batches(nil)); err == nil {
		t.Error("a Set without memory")
	}
}

// A join whose table does not fit into memory is done in passes, and finds the same.
func TestPasses(t *testing.T) {
	var tab table
	const doubts = 100_000
	all := tab.bytesFor(doubts)
	for _, memory := range []uint64{all, all - 1, all / 3, all / 100, 1} {
		k := tab.bitsFor(doubts, memory)
		if memory >= all && k != 0 || memory < all && k == 0 {
			t.Errorf("%d passes for %d bytes of %d", 1<<k, memory, all)
		}
		if k >= 12 {
			continue
		}
		found := map[uint64]bool{}
		rec := make([]byte, doubtSize)
		for pass := range uint64(1) << k {
			if err := tab.reset(share(doubts, k), 16, k, pass); err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(8, 9))
			for i := range 2000 {
				binary.LittleEndian.PutUint64(rec, rng.Uint64()>>4) // partition 0 of 16
				binary.LittleEndian.PutUint64(rec[8:], uint64(i))
				if err := tab.fill(rec); err != nil {
					t.Fatal(err)
				}
			}
			for l := range tab.left() {
				if found[l.position] {
					t.Fatal("a key is in two passes")
				}
				found[l.position] = true
			}
		}
		if len(found) != 2000 {
			t.Errorf("%d passes find %d of 2000", 1<<k, len(found))
		}
	}
}

// Keys whose hashes someone has chosen may take more memory, but are decided.
func TestChosenHashes(t *testing.T) {
	r := run{config: Config{Memory: 64 << 10, Folder: folder(t)}, batch: 100}
	rng := rand.New(rand.NewPCG(3, 1))
	for range 60_000 {
		r.keys = append(r.keys, hashes{rng.Uint64() >> 40 << 8, rng.Uint64()})
	}
	r.keys = append(r.keys, r.keys...)
	o, err := r.do()
	if err != nil {
		t.Fatal(err)
	}
	if wrong := r.compare(o); wrong != "" {
		t.Errorf("%s: %+v", wrong, o.stats)
	}
}

// Collisions counts what 64 bits and 80 bits leave.
func TestCollisions(t *testing.T) {
	s := &Set{keysBefore: 1 << 25, keysPrinted: 1 << 28, keysLate: 0}
	if got, want := s.Collisions(), 1.0/(1<<15)+1.0/(1<<11)+1.0/(1<<25); got != want {
		t.Errorf("%g, want %g", got, want)
	}
	if s.Keys() != 1<<25+1<<28 {
		t.Error(s.Keys())
	}
}
