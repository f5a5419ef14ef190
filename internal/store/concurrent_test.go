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
						if !is {
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
			if got := v.Info().Added; i == len(crashes)-1 && got != writers*keysEach {
				t.Errorf("filter %d has %d keys, want %d", f, got, writers*keysEach)
			}
		}
		if n := r.Get([]byte("cuckoo")).(*Cuckoo).Info().Added; n != 0 {
			t.Errorf("crash %d: %d copies in a filter that every transaction leaves empty", i, n)
		}
		r.Close()
	}
}

// TestSeenCoversItsAddition checks the rule on which replies rest: who is told that a
// key is there is told a position that covers the addition which put it there.
func TestSeenCoversItsAddition(t *testing.T) {
	const keys, askers = 3000, 3
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	f, _, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: rare, Capacity: 100, Expansion: 2})
	if err != nil {
		t.Fatal(err)
	}
	key := func(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }
	var seenAt, addedAt [keys]atomic.Uint64 // first position at which each was seen
	var wg sync.WaitGroup
	for a := range askers {
		wg.Go(func() {
			for i := range keys {
				for one := [1]bool{}; ; {
					at := LSN(0)
					if a == 0 { // adds it as well, and may be told that it is there
						var err error
						if _, at, err = f.Add(one[:], [][]byte{key(i)}); err != nil {
							t.Error(err)
							return
						}
						if one[0] {
							addedAt[i].Store(uint64(at))
							break
						}
						one[0] = true
					} else {
						at = f.Has(one[:], [][]byte{key(i)})
					}
					if one[0] {
						for {
							was := seenAt[i].Load()
							if was != 0 && was <= uint64(at) || seenAt[i].CompareAndSwap(was, uint64(at)) {
								break
							}
						}
						break
					}
				}
			}
		})
	}
	wg.Go(func() {
		for i := range keys {
			one := [1]bool{}
			_, at, err := f.Add(one[:], [][]byte{key(i)})
			if err != nil {
				t.Error(err)
			}
			if one[0] {
				addedAt[i].Store(uint64(at))
			}
		}
	})
	wg.Wait()
	// The operations, in order, tell where each key was really added.
	if err := s.flush(t.Context(), s.Last()); err != nil {
		t.Fatal(err)
	}
	where := map[uint64]LSN{}
	err = s.db.Load().each(prefixLog, func(first uint64, ops []byte) error {
		for at := LSN(first); len(ops) > 0; at++ {
			op, rest, err := nextOp(ops)
			if err != nil {
				return err
			}
			if op.code == opAdd {
				r := reader{b: op.body}
				r.uvarint()
				for len(r.b) > 0 {
					where[r.uint64()] = at
				}
			}
			ops = rest
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	hash := s.Hash()
	for i := range keys {
		at, ok := where[hash.Sum(key(i))]
		if !ok {
			t.Fatalf("key %d is not in the log", i)
		}
		if got := LSN(addedAt[i].Load()); got < at {
			t.Errorf("key %d: its addition was told position %d, it is at %d", i, got, at)
		}
		if got := LSN(seenAt[i].Load()); got != 0 && got < at {
			t.Errorf("key %d: an answer that shows it was told position %d, it was added at %d", i, got, at)
		}
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
