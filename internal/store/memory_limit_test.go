package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"seen/bloom"
	"seen/sizing"
)

// Where the limit of memory leaves no room for copies, a checkpoint writes values from
// where they are; it is complete, and the account of memory is right after it.
func TestCheckpointWithoutRoomForCopies(t *testing.T) {
	for _, room := range []uint64{0, 1 << 30} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			fsys := vfs.NewMem()
			s, err := Open("/d", Options{FS: fsys, Fsync: Never})
			if err != nil {
				t.Fatal(err)
			}
			keys := append(testKeys("k", 3000), universe...)
			add := func(s *Store) {
				t.Helper()
				if _, err := s.Get([]byte("cuckoo")).(*Cuckoo).Add(keys, func(_ int, err error) {
					if err != nil {
						t.Fatal(err)
					}
				}); err != nil {
					t.Fatal(err)
				}
				by := make([]uint64, len(keys))
				for i := range by {
					by[i] = uint64(i)
				}
				if _, err := s.Get([]byte("countmin")).(*CountMin).Increment(make([]uint32, len(keys)), keys, by); err != nil {
					t.Fatal(err)
				}
				if _, _, err := s.Get([]byte("redisbloom")).(Filter).Add(make([]bool, len(keys)), keys); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := s.CreateCuckoo([]byte("cuckoo"), CuckooConfig{Capacity: 200_000}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.CreateCountMin([]byte("countmin"), CountMinConfig{Width: 20_000, Depth: 5}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.CreateBloom([]byte("redisbloom"), BloomConfig{ErrorRate: 0.01, Capacity: 100_000, Layout: LayoutRedisBloom}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.CreateTopK([]byte("topk"), TopKConfig{K: 5, Width: 3000, Depth: 5}); err != nil {
				t.Fatal(err)
			}
			add(s)
			if _, err := s.Get([]byte("topk")).(*TopK).Add(keys, nil, func(int, []byte, bool) {}); err != nil {
				t.Fatal(err)
			}
			before := s.Memory()
			s.SetMaxMemory(before + room)
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			if m := s.Memory(); m != before {
				t.Errorf("%d bytes are charged after the checkpoint, %d before", m, before)
			}
			// And again, in the place of the former files.
			add(s)
			want := map[string]string{}
			for name, v := range s.Names() {
				want[name] = fmt.Sprint(observe(v))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = Open("/d", Options{FS: fsys}); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for name, v := range s.Names() {
				if got := fmt.Sprint(observe(v)); got != want[name] {
					t.Errorf("%s is another after a start", name)
				}
			}
			if s.Len() != len(want) || s.Memory() != before {
				t.Errorf("%d values of %d bytes, want %d of %d", s.Len(), s.Memory(), len(want), before)
			}
		})
	}
}

// payloadOf returns the payload of an image that Dump would give.
func payloadOf(s *Store, im *image) []byte {
	b := im.append(binary.LittleEndian.AppendUint64([]byte(payloadMagic), s.hash.KeyID()))
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// Headers can ask for any amount of memory. What they ask for is compared with the
// limit, and with what there is, before any of it is allocated.
func TestHeadersThatAskForTooMuch(t *testing.T) {
	for _, limit := range []uint64{0, 1 << 20} {
		s, err := Open("/d", Options{FS: vfs.NewMem(), Fsync: Never, MaxMemory: limit})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		name := []byte("k")
		refused := func(what string, err error) {
			t.Helper()
			if err == nil {
				t.Errorf("limit %d: %s is taken", limit, what)
			}
			if s.Len() != 0 || s.Memory() != 0 {
				t.Fatalf("limit %d: %s: %d values of %d bytes are there", limit, what, s.Len(), s.Memory())
			}
		}
		for _, bits := range []uint64{1 << 45, 1 << 50, 1 << 56, 1 << 60, 1<<63 - 1, 1 << 63} {
			for _, layers := range []int{1, 2, 9, 1000} {
				m := &view{}
				for i := range layers {
					p := sizing.Params{Shape: sizing.Blocked, M: bits / 512 * 512, K: 8, Lines: 1, Lanes: 8}
					m.layers = append(m.layers, &layer{layerConfig: layerConfig{serial: uint64(i), shape: &shape{capacity: 100, rate: 0.01, params: p}}})
				}
				b := newBloom(BloomConfig{ErrorRate: 0.01, Capacity: 100, Layout: LayoutSeen})
				meta := b.appendMeta(nil, m, uint64(layers))
				header := append(binary.LittleEndian.AppendUint64([]byte(dumpMagic), s.hash.KeyID()), meta...)
				_, err := s.LoadBloom(name, 1, header)
				refused(fmt.Sprintf("%d layers of %d bits", layers, bits), err)
				im := &image{kind: kindBloom, meta: meta, parts: make([]part, layers)}
				for i := range im.parts {
					im.parts[i] = part{state: partInline}
				}
				_, err = s.Restore(name, payloadOf(s, im), time.Time{}, false, 0)
				refused(fmt.Sprintf("a payload of %d layers of %d bits", layers, bits), err)
			}
		}
		for _, buckets := range []uint64{1 << 43, 1 << 50, 1 << 55, 1 << 62} {
			for _, filters := range []uint64{1, 2, 3, 4096} {
				h := binary.LittleEndian.AppendUint64(nil, 0)
				h = binary.LittleEndian.AppendUint64(h, buckets)
				h = binary.LittleEndian.AppendUint64(h, 0)
				h = binary.LittleEndian.AppendUint64(h, filters)
				for _, n := range []uint16{255, 20, 2} {
					h = binary.LittleEndian.AppendUint16(h, n)
				}
				_, err := s.LoadCuckoo(name, 1, h, 0)
				refused(fmt.Sprintf("%d cuckoo filters of %d buckets", filters, buckets), err)
			}
		}
		for _, n := range []uint64{1 << 42, 1 << 58, 1 << 62, math.MaxUint64} {
			_, _, err := s.CreateCountMin(name, CountMinConfig{Width: n, Depth: 5})
			refused("a count-min sketch", err)
			_, _, err = s.CreateTopK(name, TopKConfig{K: 10, Width: int(n >> 1), Depth: 5})
			refused("a top-k sketch", err)
			_, _, err = s.CreateCuckoo(name, CuckooConfig{Capacity: n})
			refused("a cuckoo filter", err)
			for _, layout := range []Layout{LayoutSeen, LayoutRedisBloom} {
				_, _, err = s.CreateBloom(name, BloomConfig{ErrorRate: 1e-4, Capacity: n, Layout: layout})
				refused("a Bloom filter", err)
			}
		}
		if limit == 0 {
			continue
		}
		// What the machine has and the limit does not allow is ErrMemory.
		f, err := bloom.NewCuckoo(bloom.CuckooConfig{Capacity: 8 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.LoadCuckoo(name, 1, served(f).AppendHeader(nil), 0); !errors.Is(err, ErrMemory) {
			t.Errorf("a cuckoo filter beyond the limit: %v", err)
		}
		refused("a cuckoo filter beyond the limit", err)
	}
}
