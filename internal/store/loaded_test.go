package store

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// reopened closes a store and opens it again.
func reopened(t *testing.T, s *Store) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return mustOpen(t, Options{FS: s.opts.FS})
}

// mustHave fails unless the filter of a name has all keys.
func mustHave(t *testing.T, s *Store, name string, keys [][]byte) {
	t.Helper()
	f, ok := s.Get([]byte(name)).(Filter)
	if !ok {
		t.Fatalf("%q is not a filter", name)
	}
	found := make([]bool, len(keys))
	f.Has(found, keys)
	for i, is := range found {
		if !is {
			t.Fatalf("%q does not have key %d", name, i)
		}
	}
}

// Filters of one size, but of capacities that differ a little, make a union that can
// be read again.
func TestMergeOfUnequalCapacities(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	for name, capacity := range map[string]uint64{"a": 100_000, "b": 100_001} {
		f, _, err := s.CreateBloom([]byte(name), BloomConfig{ErrorRate: 0.01, Capacity: capacity, Expansion: 2})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.Add(make([]bool, 100), testKeys(name, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := s.Get([]byte("a")).(*Bloom).view.Load(), s.Get([]byte("b")).(*Bloom).view.Load(); a.layers[0].params != b.layers[0].params {
		t.Fatal("the sizes differ, which is not what is tested")
	}
	for _, dest := range []string{"a", "new"} {
		if _, err := s.MergeBloom(nil, []byte(dest), []byte("a"), []byte("b")); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		s = reopened(t, s)
		for _, dest := range []string{"a", "new"} {
			mustHave(t, s, dest, append(testKeys("a", 100), testKeys("b", 100)...))
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A dump that was begun when the filter was empty has bits of keys that no call has
// counted. They last, and are part of unions.
func TestLoadedBitsLast(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	f, _, err := s.CreateBloom([]byte("from"), BloomConfig{ErrorRate: 0.01, Capacity: 1000, Expansion: 2})
	if err != nil {
		t.Fatal(err)
	}
	keys := testKeys("key", 500)
	for at := int64(0); ; {
		next, data, _, err := f.Dump(at)
		if err != nil {
			t.Fatal(err)
		}
		if next == 0 {
			break
		}
		if at == 0 {
			if _, _, err := f.Add(make([]bool, len(keys)), keys); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.LoadBloom([]byte("to"), next, data); err != nil {
			t.Fatal(err)
		}
		at = next
	}
	mustHave(t, s, "to", keys)
	if _, err := s.MergeBloom(nil, []byte("union"), []byte("to")); err != nil {
		t.Fatal(err)
	}
	mustHave(t, s, "union", keys)
	for range 2 {
		s = reopened(t, s)
		mustHave(t, s, "to", keys)
		mustHave(t, s, "union", keys)
	}
	payload, _, err := s.Dump([]byte("to"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore([]byte("restored"), payload, time.Time{}, false, 0); err != nil {
		t.Fatal(err)
	}
	s = reopened(t, s)
	mustHave(t, s, "restored", keys)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Headers and payloads that only an attacker makes are refused: what they
// describe would end the process, or keep the directory from being opened again.
func TestPoisonIsRefused(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	header := func(next uint64, layers ...layerConfig) []byte {
		b := newBloom(BloomConfig{ErrorRate: 0.01, Capacity: 100, Expansion: 2, Layout: LayoutSeen})
		v := &view{current: noTime}
		for _, c := range layers {
			v.layers = append(v.layers, &layer{layerConfig: c})
		}
		h := binary.LittleEndian.AppendUint64([]byte(dumpMagic), s.hash.KeyID())
		return b.appendMeta(h, v, next)
	}
	c, err := BloomConfig{ErrorRate: 0.01, Capacity: 100, Expansion: 2}.nextLayer(0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := c
	last.serial = math.MaxUint64 - 1
	for what, h := range map[string][]byte{
		"no layers":             header(1),
		"the end of the serial": header(math.MaxUint64, last),
	} {
		if _, err := s.LoadBloom([]byte("poison"), 1, h); !errors.Is(err, ErrData) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.LoadBloom([]byte("good"), 1, header(1, c)); err != nil {
		t.Error(err)
	}
	// A top-k sketch of a size that no machine has.
	meta := binary.AppendUvarint(nil, 1<<40)
	meta = binary.AppendUvarint(meta, 1<<40)
	meta = binary.AppendUvarint(meta, 1<<20)
	meta = binary.LittleEndian.AppendUint64(meta, math.Float64bits(0.9))
	meta = binary.LittleEndian.AppendUint64(meta, 1)
	im := image{kind: kindTopK, meta: meta, parts: []part{{state: partInline, inline: []byte("x")}}}
	payload := im.append(binary.LittleEndian.AppendUint64([]byte(payloadMagic), s.hash.KeyID()))
	payload = binary.LittleEndian.AppendUint32(payload, crc32.ChecksumIEEE(payload))
	if _, err := s.Restore([]byte("poison"), payload, time.Time{}, false, 0); err == nil {
		t.Error("an absurd top-k sketch was restored")
	}
	s = reopened(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// What was written without a sync is durable soon after every change has to be, also
// if no other change follows.
func TestFsyncBecomesAlways(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem(), Fsync: Never})
	_, at, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: 0.01, Capacity: 100})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.flush(context.Background(), at); err != nil {
		t.Fatal(err)
	}
	s.SetFsync(Always)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Wait(ctx, at); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// The keys that a top-k sketch keeps count as memory before they are kept.
func TestTopKKeysAreLimited(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem(), MaxMemory: 1 << 20})
	k, _, err := s.CreateTopK([]byte("top"), TopKConfig{K: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		key := make([]byte, 100<<10)
		key[0] = byte(i)
		if _, err = k.Add([][]byte{key}, nil, func(int, []byte, bool) {}); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrMemory) || s.Memory() > s.MaxMemory() {
		t.Errorf("%d bytes where %d are allowed: %v", s.Memory(), s.MaxMemory(), err)
	}
	if _, err := k.Add([][]byte{[]byte("small")}, nil, func(int, []byte, bool) {}); err != nil {
		t.Errorf("a small key: %v", err)
	}
}

// An answer that a key is absent because another value came under the name waits for
// the change of names, and one that there is no value for the deadline that it had.
func TestAnswersAfterChangesOfNames(t *testing.T) {
	clock := newClock()
	s := mustOpen(t, Options{FS: vfs.NewMem(), Now: clock.Now})
	for _, name := range []string{"a", "b"} {
		if _, _, err := s.CreateBloom([]byte(name), BloomConfig{ErrorRate: 0.01, Capacity: 100}); err != nil {
			t.Fatal(err)
		}
	}
	at, err := s.Rename([]byte("a"), []byte("b"), false)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Get([]byte("b")).(Filter).Has(make([]bool, 1), [][]byte{[]byte("key")}); got < at {
		t.Errorf("absent at %d after a change of names at %d", got, at)
	}
	_, at, err = s.Expire([]byte("b"), clock.Now().Add(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	clock.advance(time.Second)
	if s.Get([]byte("b")) != nil || s.Absent() < at {
		t.Errorf("no value at %d, deadline set at %d", s.Absent(), at)
	}
}

// Sketches of one id under two names, as somebody finds them who looks while the name
// changes, are not waited for twice.
func TestMergeDuringRename(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	former, _, err := s.CreateCountMin([]byte("a"), CountMinConfig{Width: 10, Depth: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rename([]byte("a"), []byte("b"), false); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.MergeCountMin(nil, s.Get([]byte("b")).(*CountMin), []*CountMin{former}, nil)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ErrGone) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for itself")
	}
}

// A merge that finds one of its sketches deleted gives the others back, and once.
func TestMergeOfDeleted(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	var all []*CountMin
	for _, name := range []string{"a", "b", "c"} {
		c, _, err := s.CreateCountMin([]byte(name), CountMinConfig{Width: 10, Depth: 2})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if _, _, err := s.Delete([]byte("c")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.MergeCountMin(nil, all[0], all[1:], nil); !errors.Is(err, ErrGone) {
		t.Errorf("with a deleted one: %v", err)
	}
	if _, err := s.MergeCountMin(nil, all[0], all[1:2], nil); err != nil {
		t.Errorf("with the others: %v", err)
	}
}

// Names count as memory.
func TestNamesAreAccounted(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem(), MaxMemory: 1 << 20})
	c := BloomConfig{ErrorRate: 0.01, Capacity: 10}
	long := make([]byte, 400<<10)
	for i := range 2 {
		long[0] = byte(i)
		if _, _, err := s.CreateBloom(long, c); err != nil {
			t.Fatal(err)
		}
	}
	long[0] = 2
	if _, _, err := s.CreateBloom(long, c); !errors.Is(err, ErrMemory) {
		t.Errorf("a third name of 400 KiB within 1 MiB: %v", err)
	}
	if _, _, err := s.CreateBloom([]byte("short"), c); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rename([]byte("short"), long, false); !errors.Is(err, ErrMemory) {
		t.Errorf("a change to it: %v", err)
	}
	long[0] = 1
	if _, err := s.Rename(long, []byte("other"), false); err != nil {
		t.Fatal(err)
	}
	was := s.Memory()
	s = reopened(t, s)
	if was < 400<<10 || was > 500<<10 || s.Memory() != was {
		t.Errorf("%d bytes for one long name, %d after a restart", was, s.Memory())
	}
	if _, err := s.Flush(); err != nil || s.Memory() != 0 {
		t.Errorf("%d bytes of nothing: %v", s.Memory(), err)
	}
}

// The union of filters without keys is a filter like any other.
func TestMergeOfEmptyFilters(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	if _, _, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: 0.01, Capacity: 100, Expansion: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.MergeBloom(nil, []byte("b"), []byte("a")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a, b := s.Get([]byte("a")).(*Bloom), s.Get([]byte("b")).(*Bloom)
		if i := b.Info(); i.Capacity != 100 || len(i.Layers) != 1 || b.Bytes() != a.Bytes() {
			t.Errorf("%+v, %d bytes, and %d of its like", i, b.Bytes(), a.Bytes())
		}
		if _, err := b.Clear(); err != nil {
			t.Fatal(err)
		}
		if s.Memory() != a.Bytes()+b.Bytes() {
			t.Errorf("%d bytes where values have %d and %d", s.Memory(), a.Bytes(), b.Bytes())
		}
		s = reopened(t, s)
	}
}
