package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"seen/internal/rdb"
	"seen/internal/redisbloom"
)

// hostile is a store that has little memory.
func hostile(f *testing.F) *Store {
	s, err := Open("/data", Options{FS: vfs.NewMem(), Fsync: Never, MaxMemory: 4 << 20})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	return s
}

// seeds makes values of all kinds and passes their names.
func seeds(f *testing.F, s *Store, each func(name []byte)) {
	var err error
	_, _, err1 := s.CreateBloom([]byte("bloom"), BloomConfig{ErrorRate: 0.01, Capacity: 10, Expansion: 2})
	_, _, err2 := s.CreateBloom([]byte("window"), BloomConfig{ErrorRate: 0.01, Capacity: 10, Span: time.Hour})
	_, _, err3 := s.CreateBloom([]byte("redis"), BloomConfig{ErrorRate: 0.01, Capacity: 10, Expansion: 2, Layout: LayoutRedisBloom})
	_, _, err4 := s.CreateCuckoo([]byte("cuckoo"), CuckooConfig{Capacity: 10})
	_, _, err5 := s.CreateCountMin([]byte("count"), CountMinConfig{Width: 3, Depth: 2})
	_, _, err6 := s.CreateTopK([]byte("top"), TopKConfig{K: 3})
	if err = errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		f.Fatal(err)
	}
	for _, v := range s.Names() {
		if b, ok := v.(Filter); ok {
			if _, _, err := b.Add(make([]bool, 30), universe[:30]); err != nil {
				f.Fatal(err)
			}
		}
	}
	for _, name := range []string{"bloom", "window", "redis", "cuckoo", "count", "top"} {
		each([]byte(name))
	}
}

// use does with a value what may be done with any, and forgets it.
func use(t *testing.T, s *Store, name []byte) {
	v := s.Get(name)
	if v == nil {
		t.Fatal("there is no value")
	}
	if f, ok := v.(Filter); ok {
		f.Has(make([]bool, 5), universe[:5])
		_ = f.Info()
		if _, _, err := f.Add(make([]bool, 5), universe[:5]); err != nil && !errors.Is(err, ErrFull) && !errors.Is(err, ErrMemory) {
			t.Logf("add: %v", err)
		}
		if _, err := f.Clear(); err != nil && !errors.Is(err, ErrMemory) {
			t.Fatal(err)
		}
		for it := int64(0); ; {
			next, _, _, err := f.Dump(it)
			if err != nil {
				t.Fatal(err)
			}
			if next == 0 {
				break
			}
			it = next
		}
	}
	if _, _, err := s.Dump(name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Delete(name); err != nil {
		t.Fatal(err)
	}
}

// FuzzRestore restores payloads with right checksums and wrong contents.
func FuzzRestore(f *testing.F) {
	s := hostile(f)
	seeds(f, s, func(name []byte) {
		payload, _, err := s.Dump(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload[:len(payload)-4])
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		payload := append([]byte(nil), b...)
		if start := len(payloadMagic); len(b) >= start+8 && string(b[:start]) == payloadMagic {
			binary.LittleEndian.PutUint64(payload[start:], s.hash.KeyID())
		}
		payload = binary.LittleEndian.AppendUint32(payload, crc32.ChecksumIEEE(payload))
		before := s.Memory()
		if _, err := s.Restore([]byte("x"), payload, time.Time{}, false, 0); err == nil {
			use(t, s, []byte("x"))
		}
		if s.Memory() != before {
			t.Fatalf("%d bytes more than before", s.Memory()-before)
		}
	})
}

// FuzzRestoreRedis restores payloads of Redis with right checksums and wrong contents.
func FuzzRestoreRedis(f *testing.F) {
	s := hostile(f)
	cuckoo, _, err := s.CreateCuckoo([]byte("cuckoo"), CuckooConfig{Capacity: 4, Expansion: 2, Layout: LayoutRedisBloom})
	if err != nil {
		f.Fatal(err)
	}
	if _, err := cuckoo.Add(universe[:20], func(int, error) {}); err != nil {
		f.Fatal(err)
	}
	if _, _, err := s.CreateCountMin([]byte("count"), CountMinConfig{Width: 5, Depth: 2, Layout: LayoutRedisBloom}); err != nil {
		f.Fatal(err)
	}
	if _, _, err := s.CreateTopK([]byte("top"), TopKConfig{K: 3, Layout: LayoutRedisBloom}); err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"cuckoo", "count", "top"} {
		payload, _, err := s.Dump([]byte(name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload[1 : len(payload)-rdb.TailSize])
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		before := s.Memory()
		_, err := s.Restore([]byte("x"), redisbloom.Seal(value), time.Time{}, false, 4)
		if err == nil {
			if _, _, err := s.Dump([]byte("x")); err != nil {
				t.Fatal(err)
			}
			use(t, s, []byte("x"))
		} else if !errors.Is(err, ErrData) && !errors.Is(err, ErrMemory) {
			t.Fatal(err)
		}
		if s.Memory() != before {
			t.Fatalf("%d bytes more than before", s.Memory()-before)
		}
	})
}

// FuzzLoad makes filters of headers of dumps, and loads a chunk.
func FuzzLoad(f *testing.F) {
	s := hostile(f)
	seeds(f, s, func(name []byte) {
		var header []byte
		switch v := s.Get(name).(type) {
		case Filter:
			_, header, _, _ = v.Dump(0)
		case *Cuckoo:
			if _, err := v.Add(universe[:3], func(int, error) {}); err != nil {
				f.Fatal(err)
			}
			_, header, _, _ = v.Dump(0)
		default:
			return
		}
		f.Add(header, int64(17), []byte("sixteen bytes ok"))
	})
	f.Fuzz(func(t *testing.T, b []byte, iterator int64, chunk []byte) {
		header := append([]byte(nil), b...)
		if n := len(dumpMagic); len(b) >= n+8 && (string(b[:n]) == dumpMagic || string(b[:n]) == cuckooMagic) {
			binary.LittleEndian.PutUint64(header[n:], s.hash.KeyID())
		}
		before := s.Memory()
		if _, err := s.LoadBloom([]byte("x"), 1, header); err == nil {
			_, _ = s.LoadBloom([]byte("x"), iterator, chunk) // may be refused
			use(t, s, []byte("x"))
		}
		if _, err := s.LoadCuckoo([]byte("x"), 1, header, 32); err == nil {
			_, _ = s.LoadCuckoo([]byte("x"), iterator, chunk, 32) // may be refused
			use(t, s, []byte("x"))
		}
		if s.Memory() != before {
			t.Fatalf("%d bytes more than before", s.Memory()-before)
		}
	})
}

// FuzzOperation takes what an operation of the log or an image of the catalogue could
// be apart: a value or an error, and no more memory than the bytes.
func FuzzOperation(f *testing.F) {
	f.Add(endOp(append(beginOp(nil, opAdd, 5), 1, 2, 3), 0))
	f.Add((&image{kind: kindBloom, name: "x", meta: []byte{1}, parts: []part{{state: partInline, inline: []byte{2}}, {state: partFile, file: fileRef{number: 3}}, {state: partFile, file: fileRef{4, 5, true}}}}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, rest, err := nextOp(b); err == nil && len(rest) >= len(b) {
			t.Error("nothing was taken off")
		}
		if im, err := parseCatalogued(1, b); err == nil {
			again, err := parseCatalogued(1, im.encode())
			if err != nil || len(again.parts) != len(im.parts) || again.name != im.name {
				t.Errorf("written again it differs: %v", err)
			}
			_, _ = parseBloomMeta(im.meta) // must not panic
		}
	})
}
