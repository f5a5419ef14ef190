package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signalError is the cause of a context that a signal has ended.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string {
	if e.signal == syscall.SIGINT {
		return "interrupted"
	}
	return fmt.Sprintf("ended by signal: %v", e.signal)
}

// patience is the time after a signal in which further ones are ignored: some programs
// send two in a row, and a state has to be saved.
const patience = 2 * time.Second

// withSignals returns a context that SIGINT, SIGTERM and SIGHUP end, with a
// *signalError as its cause. Another signal, after some patience, ends the
// process at once. Signals that the process was started to ignore stay ignored.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(ch, s)
		}
	}
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case s := <-ch:
				if first.IsZero() {
					first = time.Now()
					cancel(&signalError{s.(syscall.Signal)})
				} else if time.Since(first) > patience {
					os.Exit(128 + int(s.(syscall.Signal)))
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(ch)
		close(done)
		cancel(nil)
	})
}
