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

// CloseBy is Close that returns soon after ctx has ended. What was answered is durable
// then, too, but the error is ErrStopped and two things are left out: the checkpoint, so
// that the next Open takes longer, and commands that still run, whose incomplete changes
// are lost. If commands still run, the directory stays locked until the process ends.
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
	// Commands under way end first, and what they log. Their changes are not refused, or
	// half of a transaction would be done.
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

// lateness is how long commands may take to notice that the time for closing is over.
const lateness = 100 * time.Millisecond

// inTime reports whether do ended in time.
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
