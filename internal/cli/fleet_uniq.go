package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"seen/internal/figure"
	"seen/internal/remote"
	"seen/internal/stream"
)

// notWithFleet are the flags of uniq that are about a filter in memory, each with the end of
// its error.
var notWithFleet = []struct{ name, why string }{
	{"memory", whyNotHere}, {"exact", whyNotHere},
	{"state", whyNoState}, {"checkpoint", whyNoState},
	{"time-key", ": a shared --window goes by the clock of the engine"},
	{"nth", whyNoCount},
	{"repeated", whyNoCount},
	{"on-full", whyNotHere}, {"spill", whyNotHere}, {"spill-max", whyNotHere}, {"late", whyNotHere},
}

const (
	whyNotHere = ": the filter is not in the memory of this machine; -n and -p say how large it is when it is created"
	whyNoCount = ": a shared filter knows whether a line came before, not how often; use --after-first for every line that came before, or run without a shared filter"
	whyNoState = ": the shared filter is the state"
)

// checkFleet refuses flags that do not apply with --redis and --server.
func (u *uniqFlags) checkFleet(cmd *cobra.Command) error {
	if !u.fleet.isSet() {
		if cmd.Flags().Changed("undecided") {
			return usagef("--undecided needs --redis or --server")
		}
		return u.fleet.check(cmd)
	}
	for _, flag := range notWithFleet {
		if cmd.Flags().Changed(flag.name) {
			return usagef("--%s cannot be combined with --redis and --server%s", flag.name, flag.why)
		}
	}
	if cmd.Flags().Changed("output") {
		return usagef("-o cannot be combined with --redis and --server: a run that fails leaves no output, but the filter has recorded its lines, which would be lost; use > FILE")
	}
	if u.window.Lines != 0 {
		return usagef("--window %v cannot be combined with --redis and --server: a shared filter does not count the lines of all machines; give a time, such as 7d", &u.window)
	}
	return nil
}

// fleetUniq is one run of "seen uniq --redis".
type fleetUniq struct {
	*uniqFlags
	run    fleetRun
	out    *stream.Writer
	show   []bool
	header csvHeader
	broken error  // of the output; nothing is written after it
	lost   uint64 // lines that are new, and could not be written
	isNew  uint64
}

func (a *app) uniqFleet(cmd *cobra.Command, flags *uniqFlags, files []string) error {
	in, streamed, err := flags.records.open(a, files)
	if err != nil {
		return err
	}
	if err := a.refuseOwnOutput(in); err != nil {
		return err
	}
	fleet, err := flags.fleet.toAdd(a, cmd, flags.capacity, flags.rate, fleetWindow{flags.window.Time, flags.noRefresh})
	if err != nil {
		return err
	}
	defer fleet.Close()
	u := &fleetUniq{uniqFlags: flags, run: fleetRun{
		app: a, cmd: cmd, fleet: fleet, records: &flags.records, in: in, config: streamed,
		prints: true, Run: remote.Run{Adds: true, Keep: flags.undecided.Value == "keep"},
	}}
	u.out = stream.NewWriter(a.env.Stdout, stream.WriterOptions{Counters: streamed.Counters})
	return u.end(u.run.run(u.deliver))
}

// deliver writes the lines of a block. All of it is written out at once: what the
// filter has recorded must not wait in memory.
func (u *fleetUniq) deliver(b *stream.Block, v *remote.Verdicts) error {
	if b.Header {
		if u.broken != nil || !u.header.isFirst(u.run.app, u.run.cmd, &u.records, b) {
			return nil
		}
		return u.written(0, u.out.Write(b, nil))
	}
	fresh := trues(v.Yes)
	u.isNew += uint64(fresh)
	if u.broken != nil {
		u.lose(fresh)
		return nil
	}
	// An undecided line is printed: it may be recorded, and then no other run prints it. So
	// is one that was not added, since later lines are printed too. If the filter is full
	// it is not: the next run is told that it is new.
	inDoubt := !remote.IsFull(v.Errs)
	for _, i := range v.Undecided {
		v.Yes[i] = inDoubt
	}
	return u.written(fresh, u.write(b, v))
}

// write writes the lines that the flags select.
func (u *fleetUniq) write(b *stream.Block, v *remote.Verdicts) error {
	u.show = resize(u.show, b.Len())
	for i, isNew := range v.Yes {
		u.show[i] = u.mark || isNew != u.afterFirst
	}
	for _, i := range v.Undecided {
		u.show[i] = v.Yes[i]
	}
	for _, i := range b.Missing {
		u.show[i] = u.records.keepMissing()
	}
	if !u.mark {
		return u.out.Write(b, u.show)
	}
	return u.out.WritePrefixed(b, u.show, func(i int) []byte {
		if v.Yes[i] {
			return markNew
		}
		return markOld
	})
}

// written completes the output of a block with the given number of new lines.
func (u *fleetUniq) written(fresh int, err error) error {
	if err == nil {
		err = u.out.Flush()
	}
	if err != nil {
		u.broken = err
		u.lose(fresh)
	}
	return err
}

// lose counts lines that are in the filter and not in the output. With --after-first, new
// lines are not printed anyway.
func (u *fleetUniq) lose(fresh int) {
	if !u.afterFirst {
		u.lost += uint64(fresh)
	}
}

// end says what was lost, and reports.
func (u *fleetUniq) end(err error) error {
	if u.lost > 0 {
		why := "the output was closed"
		if !stream.IsBrokenPipe(u.broken) {
			why = u.broken.Error()
		}
		// It does not wrap the error: a closed pipe alone is not a failure.
		return &exitError{ExitError, fmt.Errorf("%s: up to %s new lines are recorded in %s and were not printed",
			why, figure.Comma(u.lost), u.run.fleet.Label)}
	}
	if reportErr := u.report(); err == nil {
		err = reportErr
	}
	return orPast(err, func() error { return u.run.fleet.past(u.run.app.ctx) })
}
