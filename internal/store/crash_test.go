package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// crash is a disk as it could look after a power failure.
type crash struct {
	fs            *vfs.MemFS
	at            int // change of the file system before which it happened
	acked, issued int // steps of the scenario that had been acknowledged, and begun
}

// journey runs steps on a store and crashes before every change of the file
// system.
type journey struct {
	s             *Store
	mem           *vfs.MemFS
	states        []model // after each step
	acked, issued atomic.Int64
	mu            sync.Mutex
	crashes       []crash
	percent       int // of unsynced blocks that survive
	rng           *rand.Rand
}

func (j *journey) before() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	acked := int(j.acked.Load())
	c := j.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: j.percent, RNG: j.rng})
	j.crashes = append(j.crashes, crash{c, len(j.crashes), acked, int(j.issued.Load())})
	return nil
}

// step makes a change by one call, in the store and in the model, and waits for it.
// Several calls are several records, and a crash may leave only the first ones.
func (j *journey) step(t *testing.T, change func(s *Store, m model) (LSN, error)) {
	t.Helper()
	m := j.states[len(j.states)-1].clone()
	j.issued.Add(1)
	j.s.Begin()
	at, err := change(j.s, m)
	j.s.End()
	j.finish(t, m, at, err)
}

// exec is step for a transaction.
func (j *journey) exec(t *testing.T, change func(s *Store, m model) (LSN, error)) {
	t.Helper()
	m := j.states[len(j.states)-1].clone()
	j.issued.Add(1)
	var at LSN
	var err error
	j.s.Atomically(func() { at, err = change(j.s, m) })
	j.finish(t, m, at, err)
}

func (j *journey) finish(t *testing.T, m model, at LSN, err error) {
	t.Helper()
	if err == nil {
		err = j.s.Wait(context.Background(), at)
	}
	if err != nil {
		t.Fatal(err)
	}
	j.states = append(j.states, m)
	if j.s.Fsync() == Always {
		j.acked.Add(1)
	}
}

// reopen closes the store and opens it again.
func (j *journey) reopen(t *testing.T) {
	t.Helper()
	o := j.s.opts
	if err := j.s.Close(); err != nil {
		t.Fatal(err)
	}
	j.acked.Store(j.issued.Load())
	s, err := Open("/data", o)
	if err != nil {
		t.Fatal(err)
	}
	j.s = s
}

// save makes a checkpoint, after which all is durable, however the log is synced.
func (j *journey) save(t *testing.T) {
	t.Helper()
	if err := j.s.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
	j.acked.Store(j.issued.Load())
}

// travel runs a scenario and returns the crashes on the way.
func travel(t *testing.T, o Options, percent int, scenario func(*testing.T, *journey)) *journey {
	t.Helper()
	j := &journey{mem: vfs.NewCrashableMem(), states: []model{{}}, percent: percent, rng: rand.New(rand.NewPCG(1, 2))}
	fsys := &fence{FS: j.mem}
	fsys.before = j.before
	o.FS = fsys
	var err error
	if j.s, err = Open("/data", o); err != nil {
		t.Fatal(err)
	}
	scenario(t, j)
	if err := j.s.Close(); err != nil {
		t.Fatal(err)
	}
	j.acked.Store(j.issued.Load())
	j.before()
	return j
}

// verify opens every crashed disk and returns what is wrong with them.
func (j *journey) verify(o Options) (problems []string) {
	var mu sync.Mutex
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(j.crashes) {
					return
				}
				c := j.crashes[i]
				if err := j.verifyOne(o, c); err != nil {
					mu.Lock()
					problems = append(problems, fmt.Sprintf("crash before change %d, after steps %d to %d: %v", c.at, c.acked, c.issued, err))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return problems
}

// verifyOne opens a crashed disk twice, the second time after another crash, and
// compares it with the states that it may have.
func (j *journey) verifyOne(o Options, c crash) error {
	o.FS = c.fs
	s, err := Open("/data", o)
	if err != nil {
		return err
	}
	if err := checkFiles(s); err != nil {
		return err
	}
	state := -1
	var first error
	for i := min(c.issued, len(j.states)-1); i >= c.acked; i-- {
		if err := j.states[i].check(s); err == nil {
			state = i
			break
		} else if first == nil {
			first = fmt.Errorf("state %d: %w", i, err)
		}
	}
	again := c.fs.CrashClone(vfs.CrashCloneCfg{})
	if err := s.Close(); err != nil {
		return err
	}
	if state < 0 {
		return first
	}
	o.FS = again
	if s, err = Open("/data", o); err != nil {
		return fmt.Errorf("after a second crash: %w", err)
	}
	defer s.Close()
	if err := j.states[state].check(s); err != nil {
		return fmt.Errorf("after a second crash: state %d: %w", state, err)
	}
	return nil
}

// checkFiles returns an error unless the files of a store are those that it needs.
func checkFiles(s *Store) error {
	want := map[string]bool{}
	s.space.Lock()
	defer s.space.Unlock()
	for _, v := range s.values {
		for _, n := range v.head().stored.numbers() {
			want[s.opts.FS.PathBase(s.files.path(n))] = true
		}
	}
	for _, d := range s.dead {
		for _, n := range d.numbers() {
			want[s.opts.FS.PathBase(s.files.path(n))] = true
		}
	}
	names, err := s.opts.FS.List(s.files.dir)
	for _, name := range names {
		if !want[name] {
			err = errors.Join(err, fmt.Errorf("nothing refers to the file %s", name))
		}
	}
	return err
}

// create returns a step that makes a filter.
func create(name string, c BloomConfig) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		_, at, err := s.CreateBloom([]byte(name), c)
		m[name] = newModelBloom()
		return at, err
	}
}

// add returns a step that adds keys of the universe.
func add(name string, from, to int) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		f, ok := s.Get([]byte(name)).(Filter)
		if !ok {
			return 0, ErrNotFound
		}
		keys := universe[from:to]
		added := make([]bool, len(keys))
		_, at, err := f.Add(added, keys)
		want := m[name].(*modelBloom).add(keys)
		for i := range keys {
			if err == nil && added[i] != want[i] {
				err = fmt.Errorf("%q: key %q added: %v, want %v", name, keys[i], added[i], want[i])
			}
		}
		return at, err
	}
}

func remove(names ...string) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		var all [][]byte
		for _, name := range names {
			all = append(all, []byte(name))
			delete(m, name)
		}
		_, at, err := s.Delete(all...)
		return at, err
	}
}

func rename(from, to string) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		at, err := s.Rename([]byte(from), []byte(to), false)
		m[to] = m[from]
		delete(m, from)
		return at, err
	}
}

func clearAll(name string) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		at, err := s.Get([]byte(name)).(Filter).Clear()
		expires := m[name].(*modelBloom).expires
		m[name] = newModelBloom()
		m[name].(*modelBloom).expires = expires
		return at, err
	}
}

// merge returns a step that unites filters.
func merge(dest string, sources ...string) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		var names [][]byte
		union := newModelBloom()
		if to := m[dest]; to != nil {
			union = to.clone().(*modelBloom)
		}
		for _, name := range sources {
			names = append(names, []byte(name))
			for k := range m[name].(*modelBloom).keys {
				union.keys[k] = true
			}
		}
		union.united = true
		m[dest] = union
		return s.MergeBloom(nil, []byte(dest), names...)
	}
}

// load returns a step that takes a dump of a filter under another name.
func load(from, to string) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (last LSN, err error) {
		for it := int64(0); ; {
			next, data, _, err := s.Get([]byte(from)).(Filter).Dump(it)
			if err != nil || next == 0 {
				m[to] = m[from].clone()
				return last, err
			}
			at, err := s.LoadBloom([]byte(to), next, data)
			if err != nil {
				return 0, err
			}
			last = max(last, at)
			it = next
		}
	}
}

// together returns a step of several.
func together(steps ...func(*Store, model) (LSN, error)) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (last LSN, err error) {
		for _, step := range steps {
			at, err := step(s, m)
			if err != nil {
				return 0, err
			}
			last = max(last, at)
		}
		return last, nil
	}
}

// bloomLife is a scenario with everything that happens to Bloom filters. The large
// one has a file of its own, the small ones are in the catalogue.
func bloomLife(t *testing.T, j *journey) {
	small := BloomConfig{ErrorRate: rare, Capacity: 10, Expansion: 2}
	large := BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}
	j.step(t, create("a", small))
	j.step(t, add("a", 0, 5))
	j.step(t, create("large", large))
	j.step(t, add("large", 0, 100))
	j.step(t, add("a", 3, 40)) // grows
	j.save(t)
	j.step(t, add("large", 50, 150))
	j.exec(t, together(create("b", small), add("b", 0, 3), add("a", 40, 45), add("large", 150, 160)))
	j.step(t, rename("a", "c"))
	j.step(t, create("a", small))
	j.save(t)
	j.step(t, rename("b", "c")) // over another
	j.reopen(t)
	j.step(t, add("c", 10, 12))
	j.step(t, clearAll("large"))
	j.step(t, add("large", 0, 7))
	j.exec(t, together(remove("a"), add("c", 12, 14), create("d", small), add("d", 0, 1)))
	j.save(t)
	j.step(t, remove("large", "c"))
	j.step(t, create("c", large))
	j.step(t, add("c", 0, 10))
	j.save(t)
	j.save(t)
	j.step(t, func(s *Store, m model) (LSN, error) { clear(m); return s.Flush() })
	j.step(t, create("e", small))
	j.step(t, add("e", 0, 20))
	j.step(t, create("f", large))
	j.step(t, add("f", 10, 30))
	j.step(t, create("g", large))
	j.step(t, add("g", 20, 50))
	j.step(t, merge("f", "g"))
	j.step(t, merge("h", "f", "g"))
	j.step(t, add("h", 40, 60))
	j.save(t)
	j.step(t, add("f", 60, 70))
	j.step(t, merge("g", "f"))
	j.save(t)
	j.exec(t, load("f", "i"))
	j.exec(t, load("e", "j"))
	j.step(t, create("r", BloomConfig{ErrorRate: rare, Capacity: 20, Expansion: 2, Layout: LayoutRedisBloom}))
	j.step(t, add("r", 0, 30))
	j.save(t)
	j.step(t, add("r", 20, 50))
	j.exec(t, load("r", "s"))
	j.step(t, add("s", 50, 60))
	j.save(t)
	j.step(t, remove("i", "r"))
	j.step(t, clearAll("s"))
}

func TestCrashAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	for name, scenario := range map[string]func(*testing.T, *journey){"bloom": bloomLife, "cuckoo": cuckooLife, "sketches": sketchLife} {
		for _, way := range []struct {
			fsync   Fsync
			percent int
			round   int // 1: each image goes into the catalogue by itself
		}{{Always, 0, 0}, {Always, 0, 1}, {Always, 50, 1}, {Never, 0, 0}, {Never, 0, 1}} {
			t.Run(fmt.Sprintf("%s/%v/%d/%d", name, way.fsync, way.percent, way.round), func(t *testing.T) {
				j := travel(t, Options{Fsync: way.fsync, hooks: hooks{roundBytes: way.round}}, way.percent, scenario)
				t.Logf("%d crashes", len(j.crashes))
				for i, p := range j.verify(Options{}) {
					if t.Error(p); i == 9 {
						break
					}
				}
			})
		}
	}
}

// TestCrashTestCanFail leaves out one step of the way to the disk at a time.
func TestCrashTestCanFail(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	for name, c := range map[string]struct {
		hooks hooks
		fsync Fsync
	}{
		"log":       {hooks{noLogSync: true}, Always},
		"file":      {hooks{noFileSync: true}, Always},
		"folder":    {hooks{noFolderSync: true}, Always},
		"catalogue": {hooks{noCatalogueSync: true}, Never},
	} {
		t.Run(name, func(t *testing.T) {
			j := travel(t, Options{Fsync: c.fsync, hooks: c.hooks}, 0, bloomLife)
			problems := j.verify(Options{})
			if len(problems) == 0 {
				t.Errorf("without the sync of the %s nothing is lost in %d crashes", name, len(j.crashes))
				return
			}
			t.Logf("%d problems in %d crashes, such as %s", len(problems), len(j.crashes), problems[0])
		})
	}
}
