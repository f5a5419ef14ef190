package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"seen/internal/remote"
	"seen/internal/stream"
	"seen/internal/stream/input"
)

// drainTime is how long an interrupted run waits for the answers to what it has
// asked: whoever asked first for a new line is the only one to be told.
const drainTime = 10 * time.Second

// fleetRun passes records through a filter on other machines.
type fleetRun struct {
	app     *app
	cmd     *cobra.Command
	fleet   *fleet
	records *recordFlags
	in      *input.Files
	config  stream.Config
	adds    bool
	prints  bool // lines that are new, so that one that nobody prints is lost
	keep    bool // undecided lines do not end the run

	started   time.Time
	pipe      *remote.Pipe
	undecided recordList
	reason    error  // why the first of them are
	full      bool   // the filter is
	maybe     bool   // some of them may be in the filter
	lines     uint64 // delivered
	bytes     uint64 // of these
}

// errUndecided ends a run in which a line could not be decided. What there is to
// say of it is known when everything under way has been answered.
var errUndecided = errors.New("undecided")

// run asks the filter about every record and hands each block with its verdicts
// to deliver, in input order; it returns when all that was asked is delivered.
// Undecided records are on the list before deliver is called.
func (r *fleetRun) run(deliver func(b *stream.Block, v *remote.Verdicts) error) error {
	r.started = time.Now()
	r.config.Hash = streamHash(r.fleet.hash())
	asking, giveUp := context.WithCancel(context.WithoutCancel(r.app.ctx))
	defer giveUp()
	defer context.AfterFunc(r.app.ctx, func() { time.AfterFunc(drainTime, giveUp) })()
	r.pipe = remote.NewPipe(asking, remote.PipeConfig{
		Ask: r.fleet.ask(r.adds), Adds: r.adds, Keys: r.fleet.asksKeys(),
		Deliver: func(b *stream.Block, v *remote.Verdicts) error { return r.deliver(b, v, deliver) },
	})
	reading, stop := context.WithCancel(r.app.ctx)
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-r.pipe.Failed():
			stop() // also of an input that is silent
		case <-ended:
		}
	}()
	err := r.records.run(reading, r.app, r.in, r.config, r.status, func(b *stream.Block) error { return r.pipe.Consume(reading, b) })
	if failed := r.pipe.Close(); failed != nil {
		err = failed
	}
	return r.explain(err)
}

func (r *fleetRun) deliver(b *stream.Block, v *remote.Verdicts, next func(b *stream.Block, v *remote.Verdicts) error) error {
	if !r.adds && r.undecided.n > 0 {
		return nil // nothing is lost by leaving it to the next run
	}
	if !b.Header {
		r.lines += uint64(b.Len())
	}
	r.bytes += uint64(len(b.Data))
	for _, i := range v.Undecided {
		r.undecided.add(b.File, b.First+uint64(i))
	}
	if len(v.Undecided) > 0 {
		if r.reason == nil {
			r.reason = r.fleet.flags.reasons(v.Errs)
		}
		r.full = r.full || remote.IsFull(v.Errs)
		r.maybe = r.maybe || !remote.NotAdded(v.Errs)
	}
	if err := next(b, v); err != nil {
		return err
	}
	if len(v.Undecided) > 0 && (!r.keep || r.full) {
		return errUndecided
	}
	return nil
}

// explain gives the end of a run its words and its exit code.
func (r *fleetRun) explain(err error) error {
	if r.undecided.n == 0 {
		return err
	}
	if errors.Is(err, errUndecided) {
		err = nil
	}
	if r.keep && !r.full {
		r.app.say(r.cmd, "warning: %s%s: %v", r.undecided.String("undecided"), r.consequence(), r.reason)
		return err
	}
	why := &exitError{ExitError, fmt.Errorf("stopped: %s%s: %w", r.undecided.String("undecided"), r.consequence(), r.reason)}
	if r.full {
		why = &exitError{ExitLimit, fmt.Errorf("stopped: %s: %w", r.undecided.String("not in the filter"), r.reason)}
	}
	if err == nil {
		return why
	}
	// Whatever else ended the run: these lines must not go unmentioned.
	r.app.say(r.cmd, "%v", why)
	return err
}

// consequence says what undecided lines mean.
func (r *fleetRun) consequence() string {
	switch {
	case !r.adds:
		return ", nothing was changed"
	case !r.maybe && r.prints:
		return ", and not added; they were printed, and another machine may print them too"
	case !r.maybe:
		return ", and not added"
	case !r.prints:
		return ", in the filter or not; adding them again does no harm"
	}
	return ", in the filter or not; they were printed, and another machine may print them too"
}

// status is the part of the progress line about the network.
func (r *fleetRun) status() string {
	t := r.pipe.Totals()
	if t.Calls == uint64(t.Inflight) {
		return "waiting for the first answer"
	}
	return fmt.Sprintf("%d batches under way, %s each", t.Inflight, shortTime(meanCall(t)))
}

// meanCall is how long a call takes on average.
func meanCall(t remote.Totals) time.Duration {
	if t.Calls == uint64(t.Inflight) {
		return 0
	}
	return t.Waited / time.Duration(t.Calls-uint64(t.Inflight))
}

// shortTime writes how long something takes with two or three digits.
func shortTime(d time.Duration) string {
	switch {
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

// recordList names records by file and number, runs of them by the first and the
// last; those behind many runs are only counted.
type recordList struct {
	n, unnamed uint64
	spans      []recordSpan
}

type recordSpan struct {
	file     string
	from, to uint64
}

// maxSpans is how many runs of records a list names.
const maxSpans = 50

func (l *recordList) add(file string, number uint64) {
	l.n++
	last := len(l.spans) - 1
	switch {
	case l.unnamed == 0 && last >= 0 && l.spans[last].file == file && l.spans[last].to+1 == number:
		l.spans[last].to = number
	case len(l.spans) == maxSpans:
		l.unnamed++
	default:
		l.spans = append(l.spans, recordSpan{file, number, number})
	}
}

// String names the records: "line 7 of a.txt is WHAT", "5 lines are WHAT: 7 to 10
// of a.txt, 1 of b.txt".
func (l *recordList) String(what string) string {
	if l.n == 1 {
		return fmt.Sprintf("line %d of %s is %s", l.spans[0].from, l.spans[0].file, what)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s lines are %s: ", humanize.Comma(int64(l.n)), what)
	for i, s := range l.spans {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", s.from)
		if s.to > s.from {
			fmt.Fprintf(&b, " to %d", s.to)
		}
		if i == len(l.spans)-1 || l.spans[i+1].file != s.file {
			fmt.Fprintf(&b, " of %s", s.file)
		}
	}
	if l.unnamed > 0 {
		fmt.Fprintf(&b, ", and %s more behind these", humanize.Comma(int64(l.unnamed)))
	}
	return b.String()
}
