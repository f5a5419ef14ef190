package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// takeSignals returns a context that SIGTERM, SIGINT or the end of parent ends. A second
// signal ends the process at once: what was acknowledged is on disk in any case. SIGHUP
// reloads the files. It does so under nohup too, which only has to keep SIGHUP from
// ending the server.
func (r *serving) takeSignals(parent context.Context, handOver func() error) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if s == syscall.SIGHUP || !signal.Ignored(s) {
			signal.Notify(ch, s)
		}
	}
	if early := handOver(); early != nil {
		cancel(early)
	}
	go func() {
		for s := range ch {
			switch {
			case s == syscall.SIGHUP:
				r.reload()
			case ctx.Err() != nil:
				r.logger.Warn("ended at once", "signal", s.String())
				os.Exit(128 + int(s.(syscall.Signal)))
			default:
				cancel(fmt.Errorf("signal: %v", s))
			}
		}
	}()
	r.ended = func() {
		signal.Stop(ch)
		close(ch)
		cancel(nil)
	}
	r.stop = func() { cancel(errShutdown) }
	return ctx
}

// errShutdown is the cause of an end that a client has asked for.
var errShutdown = errors.New("SHUTDOWN")
