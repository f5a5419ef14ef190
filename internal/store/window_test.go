package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// modelWindow remembers when each key was last added.
type modelWindow struct {
	clock *clock
	last  map[string]int64 // generation
}

const windowSpan, windowGens = 7 * time.Second, 8

func (m *modelWindow) generation() int64 {
	return floorDiv(m.clock.Now().UnixNano(), int64(windowSpan)/(windowGens-1))
}

func (m *modelWindow) has(key []byte) bool {
	g, ok := m.last[string(key)]
	return ok && m.generation()-g < windowGens
}

func (m *modelWindow) clone() modelValue { return m }

func (m *modelWindow) check(v Value) error {
	found := make([]bool, len(universe))
	v.(Filter).Has(found, universe)
	for i, k := range universe {
		if found[i] != m.has(k) {
			return fmt.Errorf("key %q: %v, want %v", k, found[i], m.has(k))
		}
	}
	return nil
}

// TestWindow adds keys as time goes by, with crashes and checkpoints in between.
func TestWindow(t *testing.T) {
	mem, clock := vfs.NewCrashableMem(), newClock()
	s := mustOpen(t, Options{FS: mem, Now: clock.Now})
	m := model{}
	mustDo(t, s, m, func(s *Store, m model) (LSN, error) {
		_, at, err := s.CreateBloom([]byte("w"), BloomConfig{ErrorRate: rare, Capacity: 40, Span: windowSpan})
		m["w"] = &modelWindow{clock, map[string]int64{}}
		return at, err
	})
	most := uint64(0)
	for step := range 300 {
		from := step * 7 % 280
		mustDo(t, s, m, func(s *Store, m model) (LSN, error) {
			w := m["w"].(*modelWindow)
			keys := universe[from : from+1+step%20]
			added := make([]bool, len(keys))
			_, at, err := s.Get([]byte("w")).(Filter).Add(added, keys)
			for i, k := range keys {
				if added[i] == w.has(k) && err == nil {
					err = fmt.Errorf("step %d, key %q: added %v", step, k, added[i])
				}
				w.last[string(k)] = w.generation()
			}
			return at, err
		})
		mustMatch(t, s, m)
		switch step % 20 {
		case 5:
			clock.advance(3 * time.Second)
		case 11:
			clock.advance(windowSpan * 2) // all is forgotten
		default:
			clock.advance(time.Duration(step%5) * 170 * time.Millisecond)
		}
		switch step % 50 {
		case 20:
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 40:
			mem = mem.CrashClone(vfs.CrashCloneCfg{})
			s.Close()
			s = mustOpen(t, Options{FS: mem, Now: clock.Now})
		}
		mustMatch(t, s, m)
		most = max(most, s.Memory())
	}
	if most > 200<<10 {
		t.Errorf("the window took %d bytes", most)
	}
	// A clock that goes back does not make a key come back or go.
	before := m["w"].(*modelWindow).generation()
	mustDo(t, s, m, func(s *Store, m model) (LSN, error) {
		_, at, err := s.Get([]byte("w")).(Filter).Add(make([]bool, 1), universe[:1])
		m["w"].(*modelWindow).last[string(universe[0])] = before
		return at, err
	})
	want := make([]bool, len(universe))
	s.Get([]byte("w")).(Filter).Has(want, universe)
	clock.advance(-time.Hour)
	got := make([]bool, len(universe))
	s.Get([]byte("w")).(Filter).Has(got, universe)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Error("the answers change when the clock goes back")
	}
}
