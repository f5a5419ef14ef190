package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Close makes all that was changed durable, writes a checkpoint so that the next
// Open has little to do, and releases the directory. It waits for the commands under
// way; changes are refused after that, with ErrClosed.
func (s *Store) Close() error { return s.CloseBy(context.Background()) }

// CloseBy is Close that comes to its end soon after ctx has ended. What was answered
// is durable then too, but what takes time is left out, and the error is ErrStopped: the
// checkpoint, so that the next Open has more to do; and commands that still run, of
// which nothing is kept that is not complete. As long as there are such, the directory
// stays locked until the process ends.
func (s *Store) CloseBy(ctx context.Context) error {
	if s.ending.Swap(true) {
		return ErrClosed
	}
	late := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		s.abandon()
		time.Sleep(lateness)
		close(late)
	})
	defer stop()
	// Commands under way end first, and with them what they log. No change of theirs is
	// refused before: a transaction would be done by half.
	quiet := s.gate.run(nil, late, s.close)
	if !quiet {
		s.log.freeze()
		s.close()
	}
	close(s.closing)
	if !inTime(late, s.background.Wait) {
		quiet = false
	}
	close(s.quit)
	<-s.ended
	if !quiet {
		s.stop(ErrClosed)
		return fmt.Errorf("%w: commands still ran when the store was closed; incomplete changes are lost", ErrStopped)
	}
	err := s.log.stopped()
	if err == nil && !inTime(late, func() { err = s.checkpoint(s.upToWritten) }) {
		s.stop(ErrClosed)
		return fmt.Errorf("%w: the store was closed without a checkpoint, and its folder is still being read; the next start reads the log", ErrStopped)
	}
	if err != nil && s.life.Err() != nil {
		err = fmt.Errorf("%w: the store was closed without a checkpoint; the next start reads the log", ErrStopped)
	}
	_ = s.mark() // without it the next start assumes the worst
	s.stop(ErrClosed)
	return errors.Join(err, s.release())
}

// lateness is how long what has to stop when the time for closing is over may take to
// notice.
const lateness = 100 * time.Millisecond

// inTime reports whether do came to its end before it was too late.
func inTime(late <-chan struct{}, do func()) bool {
	done := make(chan struct{})
	go func() {
		do()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-late:
		return false
	}
}
