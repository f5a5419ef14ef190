package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"seen/bloom"
	"seen/bloomfile"
)

// state is the file in which a set is remembered across runs. The zero value is
// that of a run without one.
type state struct {
	path  string
	every time.Duration
	lock  *bloomfile.FileLock
	saved time.Time
}

// openState locks the state file for this run and loads the set in it; the set
// is nil if there is no file yet.
func openState(path string, every time.Duration, h *hashFlags) (*state, bloom.Set, error) {
	lock, err := bloomfile.Lock(path)
	if err != nil {
		return nil, nil, err
	}
	s := &state{path: path, every: every, lock: lock, saved: time.Now()}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	var v bloom.View
	o, err := h.load()
	if err == nil {
		v, err = lock.Read(o)
	}
	if err == nil {
		if set, ok := v.(bloom.Set); ok {
			return s, set, nil
		}
		err = fmt.Errorf("%s holds a %s filter, to which nothing can be added; choose another --state", path, v.Stats().Type)
	}
	s.close()
	return nil, nil, err
}

// due reports whether it is time for a checkpoint.
func (s *state) due() bool { return s.path != "" && time.Since(s.saved) >= s.every }

// save replaces the file by the set, as a whole.
func (s *state) save(set bloom.Set) error {
	if s.path == "" {
		return nil
	}
	if err := s.lock.Write(set); err != nil {
		return err
	}
	s.saved = time.Now()
	return nil
}

func (s *state) close() {
	if s.lock != nil {
		_ = s.lock.Close()
	}
}
