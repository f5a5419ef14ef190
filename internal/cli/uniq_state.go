package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/setfile"
)

// state is the file that keeps a set across runs. The zero value is for a run without
// one.
type state struct {
	path  string
	every time.Duration
	lock  stateFile
	saved time.Time

	// Of the checkpoint in progress; nil if there is none.
	cancel context.CancelFunc
	ended  chan error
}

// stateFile is what a state needs of a *bloomfile.FileLock.
type stateFile interface {
	Write(s io.WriterTo) error
	WriteSnapshot(ctx context.Context, s bloom.Set, lock sync.Locker, settle func() error) error
	Close() error
}

// openState locks the state file for this run and loads the set in it; the set
// is nil if there is no file yet.
func openState(path string, every time.Duration, h *hashFlags) (*state, bloom.Set, error) {
	lock, err := bloomfile.Lock(path)
	if err != nil {
		return nil, nil, err
	}
	lock.MakePrivate() // it tells others which lines were in the input
	s := &state{path: path, every: every, lock: lock, saved: time.Now()}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	var v bloom.View
	o, err := h.load()
	if err == nil {
		if v, err = lock.Read(o); err != nil {
			err = explainState(path, err)
		}
	}
	if err == nil {
		if set, ok := v.(bloom.Set); ok {
			return s, set, nil
		}
		err = fmt.Errorf("%s is a %s filter, and keys cannot be added to it; choose another --state", path, v.Design().Type)
	}
	s.close()
	return nil, nil, err
}

// explainState says of a file that is not a filter of seen that it is not a state, and what
// it may be.
func explainState(path string, err error) error {
	if explained := setfile.ExplainCompressed(path, err); explained != err || !errors.Is(err, bloomfile.ErrNotFrame) {
		return explained
	}
	return fmt.Errorf("%s is not a state of \"seen uniq\"; choose another --state, or keep a list of lines with --append %s", path, path)
}

// due reports whether it is time for a checkpoint.
func (s *state) due() bool {
	return s.path != "" && s.ended == nil && time.Since(s.saved) >= s.every
}

// begin begins a checkpoint: it saves the set in a goroutine while the caller continues
// to add to it under lock. settle completes the output; it fails if the set has keys
// whose lines will never be written.
func (s *state) begin(set bloom.Set, lock sync.Locker, settle func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	s.saved = time.Now()
	s.cancel, s.ended = cancel, make(chan error, 1)
	go func() { s.ended <- s.lock.WriteSnapshot(ctx, set, lock, settle) }()
}

// poll returns the error of a checkpoint that has ended.
func (s *state) poll() error {
	select {
	case err := <-s.ended:
		s.cancel()
		s.ended = nil
		return err
	default:
		return nil
	}
}

// settle cancels a checkpoint that is in progress, unless it is about to end. The
// caller then saves more, or nothing.
func (s *state) settle() error {
	if s.ended == nil {
		return nil
	}
	s.cancel()
	err := <-s.ended
	s.ended = nil
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// save replaces the whole file by the set.
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
		_ = s.settle()     // the run has ended with another error, or has saved since
		_ = s.lock.Close() // a lock file that is left behind does no harm
	}
}
