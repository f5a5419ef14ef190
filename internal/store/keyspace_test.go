package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var small = BloomConfig{ErrorRate: rare, Capacity: 10, Expansion: 2}

func TestExpiry(t *testing.T) {
	mem, clock := vfs.NewCrashableMem(), newClock()
	o := Options{FS: mem, Now: clock.Now}
	s := mustOpen(t, o)
	m := model{}
	for _, name := range []string{"a", "b", "c"} {
		mustDo(t, s, m, create(name, small))
	}
	expire := func(name string, d time.Duration) {
		t.Helper()
		ok, at, err := s.Expire([]byte(name), clock.Now().Add(d))
		if !ok || err != nil || s.Wait(t.Context(), at) != nil {
			t.Fatal(ok, err)
		}
	}
	expire("a", time.Second)
	expire("b", 2*time.Second)
	if ok, _, err := s.Expire([]byte("none"), clock.Now().Add(time.Hour)); ok || err != nil {
		t.Error(ok, err)
	}
	if ok, _, err := s.Persist([]byte("b")); !ok || err != nil {
		t.Error(ok, err)
	}
	if ok, _, err := s.Persist([]byte("b")); ok || err != nil {
		t.Error("a second Persist:", ok, err)
	}
	expire("b", 3*time.Second)
	version := s.Version([]byte("a"))
	clock.advance(time.Second)
	if s.Get([]byte("a")) != nil || s.Version([]byte("a")) == version {
		t.Error("a is there after its time")
	}
	names := func(s *Store) (names []string) {
		for name := range s.Names() {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	if got := names(s); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("names %q", got)
	}
	// The name is free at once.
	mustDo(t, s, m, create("a", small))
	mustDo(t, s, m, add("a", 0, 3))
	expire("a", time.Second)
	clock.advance(time.Second)
	if n := s.Sweep(); n != 1 || s.Len() != 2 || s.Stats().Expired != 1 {
		t.Errorf("swept %d, %d are left, %+v", n, s.Len(), s.Stats())
	}
	// Deadlines are absolute, across crashes.
	again := mustOpen(t, Options{FS: mem.CrashClone(vfs.CrashCloneCfg{}), Now: clock.Now})
	if got, want := again.Get([]byte("b")).Expires(), s.Get([]byte("b")).Expires(); !got.Equal(want) {
		t.Errorf("expires %v after recovery, %v before", got, want)
	}
	clock.advance(time.Second)
	if got := names(again); !slices.Equal(got, []string{"c"}) {
		t.Errorf("names %q", got)
	}
	// A deadline that has passed deletes at once.
	expire("c", -time.Second)
	if s.Get([]byte("c")) != nil {
		t.Error("c is there")
	}
}

func TestVersions(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem(), Fsync: Never})
	m := model{}
	last := s.Version([]byte("a"))
	changes := func(what string, want bool) {
		t.Helper()
		v := s.Version([]byte("a"))
		if (v != last) != want {
			t.Errorf("%s: version %d, before %d", what, v, last)
		}
		last = v
	}
	changes("nothing", false)
	mustDo(t, s, m, create("a", small))
	changes("creation", true)
	mustDo(t, s, m, add("a", 0, 3))
	changes("addition", true)
	mustDo(t, s, m, add("a", 0, 3))
	changes("addition of what is there", false)
	mustDo(t, s, m, create("b", small))
	changes("another name", false)
	mustDo(t, s, m, remove("a"))
	changes("deletion", true)
	changes("nothing", false)
	mustDo(t, s, m, create("a", small))
	mustDo(t, s, m, remove("a"))
	changes("creation and deletion", true)
	mustDo(t, s, m, rename("b", "a"))
	changes("rename", true)
	mustDo(t, s, m, rename("a", "c"))
	changes("rename away", true)
	for i := range 2 * maxTombs { // what is forgotten counts as changed, never as unchanged
		mustDo(t, s, m, create(fmt.Sprint(i), small))
		mustDo(t, s, m, remove(fmt.Sprint(i)))
	}
	changes("many deletions", true)
	mustDo(t, s, m, create("a", small))
	last = s.Version([]byte("a"))
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	changes("flush", true)
}

func TestGone(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	m := model{}
	mustDo(t, s, m, create("a", small))
	mustDo(t, s, m, create("b", small))
	mustDo(t, s, m, add("a", 0, 3))
	a, b := s.Get([]byte("a")).(Filter), s.Get([]byte("b")).(Filter)
	mustDo(t, s, m, rename("a", "b"))
	for what, f := range map[string]Filter{"renamed": a, "overwritten": b} {
		if done, _, err := f.Add(make([]bool, 1), universe[10:11]); done != 0 || !errors.Is(err, ErrGone) {
			t.Errorf("%s: %d, %v", what, done, err)
		}
		if _, err := f.Clear(); !errors.Is(err, ErrGone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	mustMatch(t, s, m)
	if _, err := s.Rename([]byte("none"), []byte("x"), false); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	mustDo(t, s, m, create("c", small))
	if _, err := s.Rename([]byte("c"), []byte("b"), true); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	mustMatch(t, s, m)
}

// TestScan changes the names while they are scanned: those that are there all the
// time must come.
func TestScan(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem(), Fsync: Never})
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 200 {
		if _, _, err := s.CreateBloom(fmt.Appendf(nil, "stays %d", i), small); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]bool{}
	next := 0
	for cursor := uint64(0); ; {
		cursor = s.Scan(cursor, 10, func(name string, v Value) {
			found[name] = true
			if v == nil {
				t.Error("no value")
			}
		})
		if cursor == 0 {
			break
		}
		for range rng.IntN(40) { // the table grows several times
			if _, _, err := s.CreateBloom(fmt.Appendf(nil, "comes %d", next), small); err != nil {
				t.Fatal(err)
			}
			next++
		}
		if next > 10 {
			s.Delete(fmt.Appendf(nil, "comes %d", rng.IntN(next)))
		}
	}
	for i := range 200 {
		if !found[fmt.Sprintf("stays %d", i)] {
			t.Errorf("%d was not found", i)
		}
	}
	if next < 100 {
		t.Errorf("only %d names came", next)
	}
}

// TestNamesWhileTheyChange looks names up while others come and go in the same
// chains: one that is there must never be missed.
func TestNamesWhileTheyChange(t *testing.T) {
	var n names
	n.init()
	named := func(name string) value {
		v := newBloom(small)
		v.name = name
		return v
	}
	v := named("there")
	n.put(v)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if n.get([]byte("there")) != v {
						t.Error("missed")
						return
					}
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	model := map[string]bool{}
	for range 30000 {
		name := fmt.Sprint(rng.IntN(3000))
		if rng.IntN(2) == 0 {
			n.put(named(name))
			model[name] = true
		} else {
			n.remove(name)
			delete(model, name)
		}
		n.put(v) // replaced by itself
	}
	close(stop)
	wg.Wait()
	for i := range 3000 {
		if name := fmt.Sprint(i); (n.get([]byte(name)) != nil) != model[name] {
			t.Errorf("%s: %v", name, !model[name])
		}
	}
	if got := n.table.Load().count; got != len(model)+1 {
		t.Errorf("%d names counted, want %d", got, len(model)+1)
	}
}

// TestReplacedIsNeverAbsent looks a name up whose value is replaced all the time by
// that of another: there is always one.
func TestReplacedIsNeverAbsent(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem(), Fsync: Never})
	a, b := []byte("a"), []byte("b")
	if _, _, err := s.CreateBloom(a, small); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if s.Get(a) == nil {
						t.Error("absent while it is replaced")
						return
					}
				}
			}
		})
	}
	for range 2000 {
		if _, _, err := s.CreateBloom(b, small); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Rename(b, a, false); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
}
