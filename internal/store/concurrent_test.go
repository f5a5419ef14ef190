package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestEverythingAtOnce adds, asks, grows, deletes, renames, expires and checkpoints by
// many goroutines at once, and then looks whether all that was acknowledged survives
// a crash. Each writer has a range of keys of its own in every filter.
func TestEverythingAtOnce(t *testing.T) {
	const writers, keysEach, filters = 4, 500, 3
	disk := vfs.NewCrashableMem()
	s := mustOpen(t, Options{FS: disk})
	name := func(i int) []byte { return fmt.Appendf(nil, "filter %d", i) }
	for i := range filters {
		layout := []Layout{LayoutSeen, LayoutRedisBloom}[i%2]
		if _, _, err := s.CreateBloom(name(i), BloomConfig{ErrorRate: rare, Capacity: 200, Expansion: 2, Layout: layout}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.CreateCuckoo([]byte("cuckoo"), CuckooConfig{Capacity: 100, Expansion: 2}); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), s.Last()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	var side sync.WaitGroup
	loop := func(do func(rng *rand.Rand)) {
		side.Go(func() {
			rng := rand.New(rand.NewPCG(1, 1))
			for {
				select {
				case <-stop:
					return
				default:
					do(rng)
				}
			}
		})
	}
	loop(func(*rand.Rand) {
		if err := s.Checkpoint(context.Background()); err != nil {
			t.Error(err)
		}
	})
	loop(func(rng *rand.Rand) { // values that come and go
		s.Begin()
		a, b := fmt.Appendf(nil, "x%d", rng.IntN(5)), fmt.Appendf(nil, "x%d", rng.IntN(5))
		f, _, err := s.CreateBloom(a, BloomConfig{ErrorRate: 0.01, Capacity: 50, Expansion: 2})
		if err == nil {
			if _, _, err := f.Add(make([]bool, 3), universe[:3]); err != nil && !errors.Is(err, ErrGone) {
				t.Error(err)
			}
		} else if !errors.Is(err, ErrExists) {
			t.Error(err)
		}
		switch rng.IntN(4) {
		case 0:
			_, err = s.Rename(a, b, false)
		case 1:
			_, _, err = s.Delete(b)
		case 2:
			_, _, err = s.Expire(a, time.Now().Add(time.Millisecond))
		case 3:
			s.Sweep()
		}
		s.End()
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrExists) && !errors.Is(err, ErrGone) {
			t.Error(err)
		}
	})
	loop(func(rng *rand.Rand) { // readers
		s.Begin()
		defer s.End()
		for n, v := range s.Names() {
			if f, ok := v.(Filter); ok {
				f.Has(make([]bool, len(universe)), universe)
				_ = f.Info()
			}
			if s.Get([]byte(n)); v.Bytes() == 0 || v.LSN() == 0 {
				t.Errorf("%q takes %d bytes at %d", n, v.Bytes(), v.LSN())
			}
		}
	})
	loop(func(*rand.Rand) { // transactions
		s.Atomically(func() {
			if _, err := s.Get([]byte("cuckoo")).(*Cuckoo).Add(universe[:1], func(int, error) {}); err != nil {
				t.Error(err)
			}
			if _, _, err := s.Get([]byte("cuckoo")).(*Cuckoo).Remove(universe[0]); err != nil {
				t.Error(err)
			}
		})
	})
	// Double hashing modulo some thousand bits: a pair of these 2,000 keys may have all
	// bits in common, whatever the error rate; which of the two is asked in the layer
	// of the other is a matter of time. No other layout may take a key for another.
	const alike = 2
	var taken atomic.Int64
	var acked [writers]atomic.Int64
	for w := range writers {
		wg.Go(func() {
			for at := 0; at < keysEach; at += 10 {
				var keys [][]byte
				for k := at; k < at+10; k++ {
					keys = append(keys, binary.BigEndian.AppendUint64(nil, uint64(w*keysEach+k)))
				}
				var last LSN
				s.Begin()
				for i := range filters {
					added := make([]bool, len(keys))
					done, lsn, err := s.Get(name(i)).(Filter).Add(added, keys)
					if err != nil || done != len(keys) {
						t.Error(done, err)
					}
					for j, is := range added {
						if !is && (i != 1 || taken.Add(1) > alike) {
							t.Errorf("filter %d: key %d of writer %d was there", i, at+j, w)
						}
					}
					last = max(last, lsn)
				}
				s.End()
				if err := s.Wait(context.Background(), last); err != nil {
					t.Error(err)
				}
				acked[w].Store(int64(at + 10))
			}
		})
	}
	var crashes []crash
	var limits [][writers]int64
	for range 5 {
		time.Sleep(10 * time.Millisecond)
		var limit [writers]int64
		for w := range writers {
			limit[w] = acked[w].Load()
		}
		limits = append(limits, limit)
		crashes = append(crashes, crash{fs: disk.CrashClone(vfs.CrashCloneCfg{})})
	}
	wg.Wait()
	close(stop)
	side.Wait()
	limits = append(limits, [writers]int64{keysEach, keysEach, keysEach, keysEach})
	crashes = append(crashes, crash{fs: disk.CrashClone(vfs.CrashCloneCfg{})})
	for i, c := range crashes {
		r := mustOpen(t, Options{FS: c.fs})
		for f := range filters {
			v, ok := r.Get(name(f)).(Filter)
			if !ok {
				t.Fatalf("crash %d: filter %d is lost; %+v", i, f, r.Stats())
			}
			for w := range writers {
				for k := range limits[i][w] {
					found := []bool{false}
					v.Has(found, [][]byte{binary.BigEndian.AppendUint64(nil, uint64(w*keysEach)+uint64(k))})
					if !found[0] {
						t.Fatalf("crash %d, filter %d: key %d of writer %d is lost", i, f, k, w)
					}
				}
			}
			want := int64(writers * keysEach)
			if f == 1 {
				want -= taken.Load()
			}
			if got := int64(v.Info().Added); i == len(crashes)-1 && got != want {
				t.Errorf("filter %d has %d keys, want %d", f, got, want)
			}
		}
		if n := r.Get([]byte("cuckoo")).(*Cuckoo).Info().Added; n != 0 {
			t.Errorf("crash %d: %d copies in a filter that every transaction leaves empty", i, n)
		}
		r.Close()
	}
}

// TestSeenCoversItsAddition checks the rule on which replies rest: who is told that a
// key is there is told a position that covers the addition which put it there. The
// keys come in batches, of which the first is asked for while the others are added.
func TestSeenCoversItsAddition(t *testing.T) {
	for _, layout := range []Layout{LayoutSeen, LayoutRedisBloom} {
		t.Run(layout.String(), func(t *testing.T) {
			const batches, batch, askers = 60, 2000, 2
			s := mustOpen(t, Options{FS: vfs.NewMem(), Fsync: Never})
			f, _, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: rare, Capacity: 1000, Expansion: 2, Layout: layout})
			if err != nil {
				t.Fatal(err)
			}
			key := func(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }
			// Of the first key of each batch: before its addition, and as its addition
			// and those who ask have been told.
			var before, added [batches]LSN
			var seen [askers][batches]LSN
			var wg sync.WaitGroup
			for a := range askers {
				wg.Go(func() {
					found := []bool{false}
					for i := range batches {
						first := [][]byte{key(i * batch)}
						for found[0] = false; !found[0]; {
							if a > 0 {
								seen[a][i] = f.Has(found, first)
								continue
							}
							// Add, once it will be answered that the key is there.
							if f.Has(found, first); found[0] {
								var err error
								if _, seen[a][i], err = f.Add([]bool{true}, first); err != nil {
									t.Error(err)
								}
							}
						}
					}
				})
			}
			for i := range batches {
				keys := make([][]byte, batch)
				for k := range keys {
					keys[k] = key(i*batch + k)
				}
				var err error
				before[i] = s.Last()
				if _, added[i], err = f.Add(make([]bool, batch), keys); err != nil {
					t.Error(err)
				}
			}
			wg.Wait()
			for i := range batches {
				// The first key is in the first operation of its batch, or in the one
				// after that if the filter has grown for it.
				if added[i] <= before[i] {
					t.Errorf("batch %d: its addition was told position %d, it came after %d", i, added[i], before[i])
				}
				for a := range askers {
					if seen[a][i] <= before[i] {
						t.Errorf("batch %d: asker %d was told position %d, the key came after %d", i, a, seen[a][i], before[i])
					}
				}
			}
		})
	}
}

// TestTogetherIsOneRecord commits after each operation that may stand alone, and looks
// at the records: what a call logs must not be torn apart.
func TestTogetherIsOneRecord(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem(), Fsync: Never})
	s.log.notify = func() { s.commitOnce(nil, false) }
	m := model{}
	payload := []byte(nil)
	for i := range 3 {
		for _, step := range []func(*Store, model) (LSN, error){
			create("a", BloomConfig{ErrorRate: rare, Capacity: 5, Expansion: 2}), create("b", small), rename("b", "a"), add("a", 0, 200),
		} {
			mustDo(t, s, m, step)
		}
		if i == 0 {
			payload, _, _ = s.Dump([]byte("a"))
		}
		if _, err := s.Restore([]byte("a"), payload, time.Time{}, true, 0); err != nil {
			t.Fatal(err)
		}
		s.Atomically(func() { mustDo(t, s, m, remove("a")) })
	}
	records := 0
	err := s.db.Load().each(prefixLog, func(_ uint64, ops []byte) error {
		records++
		var codes []opcode
		for len(ops) > 0 {
			op, rest, err := nextOp(ops)
			if err != nil {
				return err
			}
			codes, ops = append(codes, op.code), rest
		}
		switch first, last := codes[0], codes[len(codes)-1]; {
		case first == opRename, first == opGrow, last == opGrow:
			return fmt.Errorf("a record %v", codes)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if records != 3*6 {
		t.Errorf("%d records for 18 calls", records)
	}
}

// TestOneIsTheFirst adds the same keys by several goroutines: of each, exactly one is
// told that the key was new.
func TestOneIsTheFirst(t *testing.T) {
	for _, layout := range []Layout{LayoutSeen, LayoutRedisBloom} {
		s := mustOpen(t, Options{FS: vfs.NewMem(), Fsync: Never})
		f, _, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: rare, Capacity: 100, Expansion: 2, Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		keys := testKeys("k", 5000)
		var first [5000]atomic.Int32
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(1, uint64(g)))
				for at := 0; at < len(keys); {
					n := min(len(keys)-at, 1+rng.IntN(40))
					added := make([]bool, n)
					if _, _, err := f.Add(added, keys[at:at+n]); err != nil {
						t.Error(err)
						return
					}
					for i, is := range added {
						if is {
							first[at+i].Add(1)
						}
					}
					at += n
				}
			})
		}
		wg.Wait()
		for i := range first {
			if n := first[i].Load(); n != 1 {
				t.Fatalf("%v: key %d was new %d times", layout, i, n)
			}
		}
		if got := f.Info().Added; got != uint64(len(keys)) {
			t.Errorf("%v: %d keys added, want %d", layout, got, len(keys))
		}
		s.Close()
	}
}
