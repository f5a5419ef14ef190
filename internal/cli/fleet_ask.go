package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"seen/internal/remote"
	"seen/internal/stream"
)

// checkFleet refuses flags that do not apply with --redis and --server.
func (f *filterFlags) checkFleet(cmd *cobra.Command) error {
	if !f.fleet.isSet() {
		return f.fleet.check(cmd, slices.Concat(f.sets, f.keep, f.drop)...)
	}
	for _, name := range []string{"set", "keep", "drop", "any", "all", "tag", "confirm", "memory"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s cannot be combined with --redis and --server, whose filter is the set", name)
		}
	}
	return nil
}

// filterFleet selects lines by the filter of --redis. The output ends before the
// first line that could not be decided.
func (a *app) filterFleet(cmd *cobra.Command, f *filterFlags, files []string) error {
	in, config, err := f.records.open(a, files)
	if err != nil {
		return err
	}
	if err := a.refuseOwnOutput(in); err != nil {
		return err
	}
	fleet, err := f.fleet.toAsk(a)
	if err != nil {
		return err
	}
	defer fleet.Close()
	run := &fleetRun{app: a, cmd: cmd, fleet: fleet, records: &f.records, in: in, config: config}
	// Answers come by blocks, and from another goroutine than the one that sees a pause.
	out := stream.NewWriter(a.env.Stdout, stream.WriterOptions{LineBuffered: f.buffered || in.Live(), Counters: config.Counters})
	var header csvHeader
	err = run.run(func(b *stream.Block, v *remote.Verdicts) error {
		if b.Header {
			if !header.isFirst(a, cmd, &f.records, b) {
				return nil
			}
			return out.Write(b, nil)
		}
		if f.invert {
			invert(v.Yes)
		}
		for _, i := range b.Missing {
			v.Yes[i] = f.records.keepMissing()
		}
		if len(v.Undecided) > 0 {
			clear(v.Yes[v.Undecided[0]:])
		}
		return out.Write(b, v.Yes)
	})
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if err == nil && config.Counters.Kept.Load() == 0 {
		err = errNo
	}
	return orPast(err, func() error { return fleet.past(a.ctx) })
}

// checkFleet tells for each key whether it may be in the filter of --redis.
func (a *app) checkFleet(cmd *cobra.Command, c *checkFlags, keys []string) error {
	fleet, err := c.fleet.toAsk(a)
	if err != nil {
		return err
	}
	defer fleet.Close()
	err = a.answer(c, false, keys, func(a *app, r *recordFlags, each func(b *stream.Block, i int, found bool) error, flush func() error) error {
		in, config, err := r.open(a, nil)
		if err != nil {
			return err
		}
		run := &fleetRun{app: a, cmd: cmd, fleet: fleet, records: r, in: in, config: config}
		return run.run(func(b *stream.Block, v *remote.Verdicts) error {
			n := b.Len()
			if b.Header {
				return nil
			}
			if len(v.Undecided) > 0 {
				n = v.Undecided[0]
			}
			for i, found := range v.Yes[:n] {
				if err := each(b, i, found); err != nil {
					return err
				}
			}
			if in.Live() {
				return flush()
			}
			return nil
		})
	})
	if err == errNo {
		return err // certain, however full the filter is
	}
	return orPast(err, func() error { return fleet.past(a.ctx) })
}
