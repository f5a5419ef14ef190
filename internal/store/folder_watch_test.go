package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A data directory that is not where it was, or not what it was, takes no changes from
// that moment on, and the change under way is not acknowledged. Questions go on. What
// was moved away and comes back is right again.
func TestGround(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	move := func(from, to string) func(dir string) error {
		return func(dir string) error { return os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)) }
	}
	replace := func(name string) func(dir string) error {
		return func(dir string) error {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			temp := filepath.Join(dir, "replacement")
			return errors.Join(os.WriteFile(temp, b, 0o600), os.Rename(temp, filepath.Join(dir, name)))
		}
	}
	for name, c := range map[string]struct {
		do, undo func(dir string) error
	}{
		"moved away": {move("data", "elsewhere"), move("elsewhere", "data")},
		"lock moved": {move("data/LOCK", "LOCK"), move("LOCK", "data/LOCK")},
		"database":   {move("data/db", "db"), move("db", "data/db")},
		"values":     {move("data/values", "values"), move("values", "data/values")},
		"removed":    {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "data")) }, nil},
		"lock":       {replace("data/LOCK"), nil},
		"secret":     {replace("data/secret"), nil},
		"secret over": {func(dir string) error {
			name := filepath.Join(dir, "data/secret")
			b, err := os.ReadFile(name)
			return errors.Join(err, os.WriteFile(name, append(b, 0), 0o600))
		}, nil},
		"logs": {func(dir string) error {
			names, err := filepath.Glob(filepath.Join(dir, "data/db/*.log"))
			for _, name := range names {
				err = errors.Join(err, os.Remove(name))
			}
			return err
		}, nil},
		"another folder": {func(dir string) error {
			return errors.Join(move("data", "elsewhere")(dir), os.CopyFS(filepath.Join(dir, "data"), os.DirFS(filepath.Join(dir, "elsewhere"))))
		}, func(dir string) error { return errors.Join(move("data", "copy")(dir), move("elsewhere", "data")(dir)) }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := Open(filepath.Join(dir, "data"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			m := model{}
			do(t, s, m, true, create("a", small), add("a", 0, 20), create("large", BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}), add("large", 0, 50), nil, add("a", 20, 30))
			if err := s.considerGround(); err != nil {
				t.Fatalf("before anything has happened: %v", err)
			}
			if err := c.do(dir); err != nil {
				t.Fatal(err)
			}
			at, err := add("a", 30, 40)(s, m)
			if err == nil {
				err = s.Wait(t.Context(), at)
			}
			if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), dir) {
				t.Fatalf("a change: %v", err)
			}
			if !s.MayShow(t.Context(), at) {
				t.Error("questions do not go on")
			}
			refused(t, s, m, ErrFailed)
			if s.Stats().Ground == nil {
				t.Error("Stats does not tell")
			}
			if c.undo == nil {
				return
			}
			if err := c.undo(dir); err != nil {
				t.Fatal(err)
			}
			if err := s.considerGround(); err != nil {
				t.Fatalf("all is as it was: %v", err)
			}
			do(t, s, m, true, add("a", 40, 50))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again, err := Open(filepath.Join(dir, "data"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			mustMatch(t, again, m)
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A store that works is never refused: with checkpoints, many log files, and backups
// whose folders go again.
func TestGroundStays(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "data"), Options{Fsync: Never})
	if err != nil {
		t.Fatal(err)
	}
	m := model{}
	do(t, s, m, true, create("large", BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}))
	for i := range 20 {
		do(t, s, m, true, add("large", 10*i, 10*i+15), nil)
		backup := filepath.Join(dir, "backup")
		if err := s.Backup(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.RemoveAll(backup), s.db.Load().db.Flush(), s.db.Load().db.Compact(t.Context(), []byte{0}, []byte{255}, false)); err != nil {
			t.Fatal(err)
		}
		if err := s.considerGround(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestScrub damages each file of values in every way below a running store: a pass
// through the files, or a look at their folder where one is missing, writes it again.
func TestScrub(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	mem, m := verifiable(t)
	for i, name := range filesOf(t, mem, "/data/values") {
		names := filesOf(t, mem, "/data/values")
		for what, damage := range damages(t, mem, name, names[(i+1)%len(names)]) {
			t.Run(mem.PathBase(name)+"/"+what, func(t *testing.T) {
				fsys := mem.CrashClone(vfs.CrashCloneCfg{})
				var told []error
				s := mustOpen(t, Options{FS: fsys, Events: Events{Error: func(err error) { told = append(told, err) }}})
				s.scrub(t.Context())
				if len(told) > 0 || s.Stats().Damaged > 0 || s.Stats().Scrubbed.IsZero() {
					t.Fatalf("of whole files: %v, %+v", told, s.Stats())
				}
				damage(t, fsys)
				if what == "missing" {
					s.considerFiles()
				} else {
					s.scrub(t.Context())
				}
				if len(told) != 1 || !strings.Contains(told[0].Error(), fsys.PathBase(name)) || s.Stats().Damaged != 1 {
					t.Errorf("told %v, %d damaged", told, s.Stats().Damaged)
				}
				s.scrub(t.Context())
				if s.Stats().Damaged != 1 {
					t.Error("it is damaged again")
				}
				again := mustOpen(t, Options{FS: fsys.CrashClone(vfs.CrashCloneCfg{})})
				mustMatch(t, again, m)
			})
		}
	}
}

// What was written without a sync does not become durable in a folder that was moved away.
func TestSyncWithoutGround(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	s, err := Open(data, Options{Fsync: Never})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := model{}
	do(t, s, m, false, create("a", small), add("a", 0, 20))
	if err := s.flush(t.Context(), s.Last()); err != nil {
		t.Fatal(err)
	}
	before := s.Durable()
	if err := os.Rename(data, filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	s.sync()
	if at := s.Durable(); at != before || at == s.Last() {
		t.Errorf("%d is durable after the folder was moved, %d before, of %d", at, before, s.Last())
	}
}
