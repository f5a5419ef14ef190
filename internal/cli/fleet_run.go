package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"seen/internal/remote"
	"seen/internal/stream"
	"seen/internal/stream/input"
)

// fleetRun passes records through a filter on other machines.
type fleetRun struct {
	remote.Run
	app     *app
	cmd     *cobra.Command
	fleet   *fleet
	records *recordFlags
	in      *input.Files
	config  stream.Config
	prints  bool // it prints new lines, so a line that no run prints is lost

	started time.Time
}

// run asks the filter about every record and hands each block with its verdicts
// to deliver, in input order; it returns when all that was asked is delivered.
func (r *fleetRun) run(deliver func(b *stream.Block, v *remote.Verdicts) error) error {
	r.started = time.Now()
	r.Filter = r.fleet.Filter
	r.config.Hash = streamHash(r.fleet.Hash())
	return r.explain(r.Do(r.app.ctx, func(ctx context.Context, consume func(*stream.Block) error) error {
		return r.records.run(ctx, r.app, r.in, r.config, r.status, consume)
	}, deliver))
}

// explain returns the error and exit code of a run.
func (r *fleetRun) explain(err error) error {
	u := &r.Undecided
	if u.Lines.N == 0 {
		return err
	}
	reason := r.fleet.flags.reasons(u.Errs)
	if r.Keep && !u.Full {
		r.app.say(r.cmd, "warning: %s%s: %v", u.Lines.Are("undecided"), r.consequence(), reason)
		return err
	}
	why := &exitError{ExitError, fmt.Errorf("stopped: %s%s: %w", u.Lines.Are("undecided"), r.consequence(), reason)}
	if u.Full {
		why = &exitError{ExitLimit, fmt.Errorf("stopped: %s: %w", u.Lines.Are("not in the filter"), reason)}
	}
	if err == nil {
		return why
	}
	// Another error ended the run; the undecided lines must be mentioned too.
	r.app.say(r.cmd, "%v", why)
	return err
}

// consequence says what became of undecided lines.
func (r *fleetRun) consequence() string {
	switch {
	case !r.Adds:
		return ", nothing was changed"
	case !r.Undecided.MayBeAdded && r.prints:
		return ", and not added; they were printed, and another machine may print them too"
	case !r.Undecided.MayBeAdded:
		return ", and not added"
	case !r.prints:
		return ", in the filter or not; you can add them again"
	}
	return ", in the filter or not; they were printed, and another machine may print them too"
}

// status is the part of the progress line about the network.
func (r *fleetRun) status() string {
	t := r.Totals()
	if t.Calls == uint64(t.Inflight) {
		return "waiting for the first answer"
	}
	return fmt.Sprintf("%d batches under way, %s each", t.Inflight, shortTime(t.PerCall()))
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
