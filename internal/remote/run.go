package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"seen/internal/stream"
)

// drainTime is how long an interrupted run waits for the answers to what it has asked:
// only the run that asked first is told that a line is new.
const drainTime = 10 * time.Second

// Run passes the records of a stream through a filter on other machines. One goroutine
// uses it; others may call Totals.
type Run struct {
	// Filter is the filter.
	Filter *Filter
	// Adds says that the run adds keys.
	Adds bool
	// Keep says that undecided lines do not end the run, unless the filter is full.
	Keep bool

	// Undecided are the lines without an answer. They are listed before they are
	// delivered.
	Undecided Undecided
	// Lines and Bytes are how much was delivered.
	Lines, Bytes uint64

	pipe *pipe
}

// errUndecided ends a run with an undecided line. Which lines are undecided is known when
// everything under way has been answered.
var errUndecided = errors.New("undecided")

// Do asks the filter about the records that read passes to consume, and passes each block
// with its verdicts to deliver, in input order. It returns when all answers are delivered,
// with the error that ended the run. An undecided line is not an error of Do; see
// Undecided.
func (r *Run) Do(ctx context.Context, read func(ctx context.Context, consume func(*stream.Block) error) error, deliver func(b *stream.Block, v *Verdicts) error) error {
	asking, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainTime, giveUp) })()
	r.pipe = newPipe(asking, pipeConfig{
		Ask: r.Filter.ask(r.Adds), Adds: r.Adds, Keys: r.Filter.Server != nil, Window: r.Filter.Window,
		Deliver: func(b *stream.Block, v *Verdicts) error { return r.deliver(b, v, deliver) },
	})
	reading, stop := context.WithCancel(ctx)
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
	err := read(reading, func(b *stream.Block) error { return r.pipe.Consume(reading, b) })
	if failed := r.pipe.Close(); failed != nil {
		err = failed
	}
	if errors.Is(err, errUndecided) {
		return nil
	}
	return err
}

func (r *Run) deliver(b *stream.Block, v *Verdicts, next func(b *stream.Block, v *Verdicts) error) error {
	if !r.Adds && r.Undecided.Lines.N > 0 {
		return nil // the next run can ask again
	}
	if !b.Header {
		r.Lines += uint64(b.Len())
	}
	r.Bytes += uint64(len(b.Data))
	r.Undecided.Add(b, v)
	if err := next(b, v); err != nil {
		return err
	}
	if len(v.Undecided) > 0 && (!r.Keep || r.Undecided.Full) {
		return errUndecided
	}
	return nil
}

// Totals tells what was done so far.
func (r *Run) Totals() Totals { return r.pipe.Totals() }

// PerCall is how long a call takes on average, 0 if none has been answered.
func (t Totals) PerCall() time.Duration {
	if t.Calls == uint64(t.Inflight) {
		return 0
	}
	return t.Waited / time.Duration(t.Calls-uint64(t.Inflight))
}

// Undecided are the lines of a run that the filter could not decide. The goroutine that
// delivers adds to it; others read it when the run has ended.
type Undecided struct {
	Lines LineList
	// Errs are why the first of them are.
	Errs []error
	// Full says that the filter had no room for some of the lines.
	Full bool
	// MayBeAdded says that some of the lines may be in the filter because of this run.
	MayBeAdded bool
}

// Add adds the lines of a block that its verdicts leave undecided.
func (u *Undecided) Add(b *stream.Block, v *Verdicts) {
	if len(v.Undecided) == 0 {
		return
	}
	for _, i := range v.Undecided {
		u.Lines.add(b.File, b.First+uint64(i))
	}
	if u.Errs == nil {
		u.Errs = v.Errs
	}
	u.Full = u.Full || IsFull(v.Errs)
	u.MayBeAdded = u.MayBeAdded || !notAdded(v.Errs)
}

// LineList names lines by file and number, and a run of lines by the first and the last.
// After many runs, further lines are only counted.
type LineList struct {
	N       uint64 // of lines
	unnamed uint64
	spans   []lineSpan
}

type lineSpan struct {
	file     string
	from, to uint64
}

// maxSpans is how many runs of lines a list names.
const maxSpans = 50

func (l *LineList) add(file string, number uint64) {
	l.N++
	last := len(l.spans) - 1
	switch {
	case l.unnamed == 0 && last >= 0 && l.spans[last].file == file && l.spans[last].to+1 == number:
		l.spans[last].to = number
	case len(l.spans) == maxSpans:
		l.unnamed++
	default:
		l.spans = append(l.spans, lineSpan{file, number, number})
	}
}

// Are names the lines: "line 7 of a.txt is WHAT", "5 lines are WHAT: 7 to 10 of a.txt, 1
// of b.txt".
func (l *LineList) Are(what string) string {
	if l.N == 1 {
		return fmt.Sprintf("line %d of %s is %s", l.spans[0].from, l.spans[0].file, what)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s lines are %s: ", humanize.Comma(int64(l.N)), what)
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
