package bloomfile

import (
	"errors"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"seen/bloom"
)

// TestDamageIsNeverAWrongNo damages one byte and asks for every key: each answer
// is that of the sound file, or an error that names the damaged chunk.
func TestDamageIsNeverAWrongNo(t *testing.T) {
	s := filled(t, bloom.Hash{})
	hs := append(hashes(1, 300_000), hashes(2, 100_000)...)
	want := make([]bool, len(hs))
	s.HasHashes(want, hs)
	for _, at := range []int64{4096 + 2*65536, 4096 + 3*65536 - 1} {
		path := written(t, s)
		flip(t, path, at)
		f := mustOpen(t, path, Options{})
		failed := 0
		for i, h := range hs {
			got, err := f.HasHash(h)
			var damage *CorruptError
			if errors.As(err, &damage) && damage.Offset == 4096+2*65536 && !got {
				failed++
			} else if err != nil || got != want[i] {
				t.Fatalf("hash %d: %v, %v, want %v", i, got, err, want[i])
			}
		}
		// The share of keys whose one or two lines meet one chunk of six.
		if chunks := int(f.layout.Chunks); failed < len(hs)/chunks/2 || failed > len(hs)*3/chunks {
			t.Errorf("%d of %d questions met damage in one of %d chunks", failed, len(hs), chunks)
		}
		if _, err := f.HasHashes(nil, hs); err == nil {
			t.Error("a batch over the damage gave answers")
		}
		if _, err := f.Stats(); err == nil {
			t.Error("statistics over the damage")
		}
		var found []error
		for err := range f.Check() {
			found = append(found, err)
		}
		if len(found) != 1 || !strings.Contains(found[0].Error(), path+": damaged at byte 135168: bytes 135168 to 200703 do not match their checksum") {
			t.Errorf("Check: %v", found)
		}
		if _, err := Read(path, bloom.LoadOptions{}); err == nil {
			t.Error("Read accepts the damage")
		}
		// The disk may have second thoughts; who was told "unknown" stays told so.
		flip(t, path, at)
		if _, err := f.HasHashes(nil, hs); err == nil {
			t.Error("the damage was forgotten")
		}
	}
}

// TestCheckFindsWhatWasSoundBefore: a disk may lose what was verified.
func TestCheckFindsWhatWasSoundBefore(t *testing.T) {
	s := filled(t, bloom.Hash{})
	path := written(t, s)
	f := mustOpen(t, path, Options{})
	hs := hashes(1, 10_000)
	for range 2 {
		for err := range f.Check() {
			t.Fatal(err)
		}
		if n, err := f.HasHashes(nil, hs); n != len(hs) || err != nil {
			t.Fatal(n, err)
		}
		if f.plain.Load() == nil {
			t.Error("everything is verified, and yet every question asks for it")
		}
	}
	flip(t, path, 4096+2*65536)
	n := 0
	for range f.Check() {
		n++
	}
	if _, err := f.HasHashes(nil, hs); n != 1 || err == nil {
		t.Errorf("%d complaints; the next question: %v", n, err)
	}
	failed := 0
	for _, h := range hs {
		found, err := f.HasHash(h)
		if err != nil {
			failed++
		} else if !found {
			t.Fatal("a wrong no")
		}
	}
	if failed == 0 || failed == len(hs) {
		t.Errorf("%d of %d questions failed", failed, len(hs))
	}
}

func TestCheckFindsDamageOfEveryRegion(t *testing.T) {
	s := filled(t, bloom.Hash{})
	b, _ := s.AppendBinary(nil)
	tableAt := int64(len(b)) - 4 - int64(len(b)-4096)/65536*4
	padding, err := bloom.NewClassic(bloom.Config{Capacity: 100, ErrorRate: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s      io.WriterTo
		at     int64
		opens  bool
		offset int64
	}{
		{s, 100, false, 0},
		{s, 300, false, 256},
		{s, 4096, true, 4096},
		{s, int64(len(b)) - 1, true, -1},
		{s, tableAt + 1, true, -1},
		{padding, 8191, true, 4096},
	} {
		path := written(t, c.s)
		flip(t, path, c.at)
		f, err := Open(path, Options{})
		if !c.opens {
			var damage *CorruptError
			if !errors.As(err, &damage) || damage.Offset != c.offset {
				t.Errorf("byte %d: Open: %v, want damage at %d", c.at, err, c.offset)
			}
			continue
		}
		if err != nil {
			t.Errorf("byte %d: %v", c.at, err)
			continue
		}
		var offsets []int64
		for err := range f.Check() {
			var damage *CorruptError
			if !errors.As(err, &damage) {
				t.Errorf("byte %d: %v", c.at, err)
				continue
			}
			offsets = append(offsets, damage.Offset)
		}
		if c.offset < 0 {
			c.offset = int64(f.layout.BodyEnd)
		}
		if len(offsets) == 0 || offsets[0] != c.offset {
			t.Errorf("byte %d: damage at %v, want %d", c.at, offsets, c.offset)
		}
		for range f.Check() {
			break // stopping early is allowed
		}
		f.Close()
	}
}

func TestTruncationWhileOpenIsAnError(t *testing.T) {
	path := written(t, filled(t, bloom.Hash{}))
	f := mustOpen(t, path, Options{})
	hs := hashes(1, 1000)
	if _, err := f.HasHashes(nil, hs[:500]); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	for _, h := range hs {
		if found, err := f.HasHash(h); err == nil || found || !strings.Contains(err.Error(), "truncated while it was open") {
			t.Fatalf("%v, %v", found, err)
		}
	}
	n := 0
	for err := range f.Check() {
		if err == nil || n > 100 {
			t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		t.Error("Check finds nothing")
	}
	if debug.SetPanicOnFault(false) {
		t.Error("faults elsewhere in this goroutine have become panics too")
	}
}

func TestManyGoroutinesAsk(t *testing.T) {
	s := filled(t, bloom.Hash{})
	hs := hashes(1, 20_000)
	path := written(t, s)
	flip(t, path, 4096+65536)
	f := mustOpen(t, path, Options{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for _, h := range hs[i*100:] {
				found, err := f.HasHash(h)
				if !found && err == nil {
					t.Error("a key is missing")
					return
				}
			}
		})
	}
	wg.Wait()
}
