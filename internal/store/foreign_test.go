package store

import (
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"seen/interop"
)

// TestForeign asks a filter of another system, refuses to change it, and finds it again
// after a restart, renamed, dumped and restored.
func TestForeign(t *testing.T) {
	mem := vfs.NewMem()
	s := mustOpen(t, Options{FS: mem})
	if _, err := s.Restore([]byte("f"), foreignPayload(1000), time.Time{}, false, 0); err != nil {
		t.Fatal(err)
	}
	check := func(s *Store, name string) {
		t.Helper()
		f, ok := s.Get([]byte(name)).(*Foreign)
		if !ok {
			t.Fatalf("%s is a %T", name, s.Get([]byte(name)))
		}
		found := make([]bool, len(universe))
		f.Has(found, universe)
		wrong := 0
		for i, is := range found {
			if i%2 == 0 && !is {
				t.Fatalf("key %d is not there", i)
			}
			if i%2 == 1 && is {
				wrong++
			}
		}
		if wrong > len(universe)/20 {
			t.Errorf("%d of %d absent keys are found", wrong, len(universe)/2)
		}
		if i := f.Info(); i.Layout != LayoutForeign || i.Capacity != 1000 || i.Added == 0 || i.Bytes < i.Layers[0].Bytes || f.Type() != "MBbloom--" || f.Format() != "redisbloom" {
			t.Errorf("%+v, a %s of format %s", i, f.Type(), f.Format())
		}
		if done, _, err := f.Add(make([]bool, 1), universe[1:2]); done != 0 || !errors.Is(err, ErrReadOnly) {
			t.Errorf("%d keys were added, %v", done, err)
		}
		if _, err := f.Clear(); !errors.Is(err, ErrReadOnly) {
			t.Error(err)
		}
		if _, _, _, err := f.Dump(0); !errors.Is(err, ErrReadOnly) {
			t.Error(err)
		}
		if _, err := s.LoadBloom([]byte(name), 2, []byte{1}); !errors.Is(err, ErrReadOnly) {
			t.Error(err)
		}
	}
	check(s, "f")
	if _, err := s.Rename([]byte("f"), []byte("g"), false); err != nil {
		t.Fatal(err)
	}
	check(s, "g")
	payload, _, err := s.Dump([]byte("g"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, Options{FS: mem})
	check(s, "g")
	// It has no secret of a server.
	other := mustOpen(t, Options{FS: vfs.NewMem()})
	if _, err := other.Restore([]byte("h"), payload, time.Time{}, false, 0); err != nil {
		t.Fatal(err)
	}
	check(other, "h")
	if _, err := s.MergeBloom(nil, []byte("m"), []byte("g")); !errors.Is(err, ErrUnlike) {
		t.Error(err)
	}
}

func TestForeignRefuses(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem(), MaxMemory: 1 << 20})
	before := s.Memory()
	for _, c := range []struct {
		payload []byte
		want    error
	}{
		{AppendForeign(nil, interop.Spec{Name: "redisbloom"}, []byte("nothing")), ErrData},
		{AppendForeign(nil, interop.Spec{Name: "none"}, nil), ErrData},
		{AppendForeign(nil, interop.Spec{Name: "rdb"}, nil), ErrData},
		{foreignPayload(1e6), ErrMemory},
		// Two short strings that stand for 16 GiB.
		{AppendForeign(nil, interop.Spec{Name: "redis-recipe", Params: map[string]string{"type": "md5", "bits": "29", "blocks": "256", "rdb": "x"}},
			[]byte("REDIS0009\x00\x02x0\x01a\x00\x04x255\x01b\xff\x00\x00\x00\x00\x00\x00\x00\x00")), ErrData},
	} {
		if _, err := s.Restore([]byte("f"), c.payload, time.Time{}, false, 0); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
		if s.Get([]byte("f")) != nil || s.Memory() != before {
			t.Errorf("something is left: %d bytes, before %d", s.Memory(), before)
		}
	}
}
