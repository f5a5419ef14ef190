package bloomfile

import (
	"encoding/binary"
	"errors"
	"testing"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/vfs/memfs"
)

// FuzzOpen makes frames that package frame finds in order but that no writer of a
// filter makes, with any state area, journal and damage, and opens them in every
// way: each call ends with a value or an error.
func FuzzOpen(f *testing.F) {
	for mark := range byte(3) {
		journal := []byte{1}[:mark%2]
		none := uint32(1 << 31)
		f.Add(uint16(1), uint16(1), byte(0), byte(0), byte(0), uint32(8), uint64(512), uint64(0), false, mark, journal, make([]byte, 64), none)
		f.Add(uint16(2), uint16(2), byte(1), byte(8), byte(0), uint32(8), uint64(512), uint64(0), false, mark, journal, make([]byte, 64), none)
		f.Add(uint16(3), uint16(3), byte(0), byte(0), byte(0), uint32(8), uint64(512), uint64(0), false, mark, journal, make([]byte, 64), uint32(4100))
	}
	f.Add(uint16(4), uint16(4), byte(0), byte(0), byte(4), uint32(3), uint64(128), uint64(0), false, byte(0), []byte{}, make([]byte, 64), uint32(5000))
	f.Add(uint16(5), uint16(2), byte(1), byte(8), byte(0), uint32(8), uint64(512), uint64(0), false, byte(0), []byte{}, make([]byte, 64), uint32(1<<31))
	f.Add(uint16(9), uint16(5), byte(0), byte(0), byte(8), uint32(3), uint64(12), uint64(4), false, byte(0), []byte{}, make([]byte, 12), uint32(1<<31))
	f.Add(uint16(8), uint16(6), byte(0), byte(0), byte(0), uint32(0), uint64(8), uint64(0), true, byte(0), []byte{}, make([]byte, 64), uint32(1<<31))
	f.Fuzz(func(t *testing.T, typ, kind uint16, lines, lanes, width byte, k uint32, m, field uint64, secret bool, mark byte, journal, body []byte, flip uint32) {
		h := &frame.Header{Type: frame.Type(typ), Capacity: m, ErrorRate: 0.01, Fields: [16]uint64{field, field, field & 1}, Parts: []frame.Part{{
			Kind: frame.Kind(kind), Lines: lines, Lanes: lanes, CounterBits: width, K: k, M: m, Added: m, Capacity: m,
			Fields: [4]uint64{field, field, field & 1}, Length: uint64(len(body)),
		}}}
		if secret {
			h.HashAlgorithm, h.HashKeyID = 1, 7
		}
		b, err := frame.Append(nil, h, [][]byte{body})
		if err != nil {
			return
		}
		fsys := memfs.New()
		id, err := fsys.BootID()
		if err != nil {
			t.Fatal(err)
		}
		copy(b[frame.StateOffset:], frame.AppendState(nil, frame.State{Mark: frame.Mark(mark % 3), BootID: id, Added: field}))
		b = append(b, journal...)
		if int(flip) < len(b) {
			b[flip] ^= 1
		}
		fsys.WriteFile(memPath, b, 0o644)
		if v, err := read(fsys, memPath, bloom.LoadOptions{Inspect: true}, repair); (v == nil) == (err == nil) {
			t.Fatalf("Read: %v, %v", v, err)
		}
		for _, o := range []Options{{}, {Writable: true}, {}} {
			file, err := open(fsys, memPath, o)
			if (file == nil) == (err == nil) {
				t.Fatalf("Open: %v, %v", file, err)
			}
			if err != nil {
				continue
			}
			sound := true
			for err := range file.Check() {
				sound = false
				var damage *CorruptError
				if !errors.As(err, &damage) {
					t.Fatalf("Check: %v", err)
				}
			}
			for i := range uint64(20) {
				hash := i*0x9e3779b97f4a7c15 + binary.LittleEndian.Uint64(append(body, make([]byte, 8)...))
				file.HasHash(hash)
				if _, err := file.AddHash(hash); err == nil && file.view != nil {
					if found, err := file.HasHash(hash); !found || err != nil {
						t.Fatalf("added, but Has says %v, %v", found, err)
					}
				}
			}
			file.Stats()
			file.Info()
			if err := file.Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
			if again, err := open(fsys, memPath, Options{}); err != nil {
				t.Fatalf("opened again: %v", err)
			} else {
				for err := range again.Check() {
					if sound {
						t.Fatalf("sound before, and now %v", err)
					}
				}
				again.Close()
			}
		}
	})
}
