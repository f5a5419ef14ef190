package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"seen/internal/cli/flagvalue"
	"seen/internal/figure"
	"seen/internal/remote"
	"seen/internal/stream"
)

// fleetAdded is what add and count report of a fleet filter; its JSON names are an
// interface to scripts.
type fleetAdded struct {
	Set        string `json:"set"`
	Keys       uint64 `json:"keys"`
	New        uint64 `json:"new"`
	WithoutKey uint64 `json:"without_key"`
	Bytes      uint64 `json:"bytes_read"`
	past       error  // what is wrong with the filter's error rate
}

// addToFleet adds the keys of the files to the filter of --redis. Keys that were added
// before an error stay in it; r counts them.
func (a *app) addToFleet(cmd *cobra.Command, f *fleetFlags, capacity flagvalue.Count, rate flagvalue.Rate, records *recordFlags, files []string) (r fleetAdded, err error) {
	in, config, err := records.open(a, files)
	if err != nil {
		return r, err
	}
	a.sayOfKeysWithCR(cmd, records, &config)
	fleet, err := f.toAdd(a, cmd, capacity, rate, fleetWindow{})
	if err != nil {
		return r, err
	}
	defer fleet.Close()
	run := &fleetRun{app: a, cmd: cmd, fleet: fleet, records: records, in: in, config: config, Run: remote.Run{Adds: true}}
	r.Set = fleet.Label
	err = run.run(func(b *stream.Block, v *remote.Verdicts) error {
		if !b.Header {
			r.WithoutKey += uint64(len(b.Missing))
			r.New += uint64(trues(v.Yes))
		}
		return nil
	})
	r.Keys, r.Bytes = run.Lines-r.WithoutKey-run.Undecided.Lines.N, run.Bytes
	if err == nil {
		r.past = fleet.past(a.ctx)
	}
	if err != nil && r.Keys > 0 {
		a.say(cmd, "%s: %s new of %s keys were added", r.Set, figure.Comma(r.New), figure.Comma(r.Keys))
	}
	return r, err
}

// addFleet is "seen add --redis".
func (a *app) addFleet(cmd *cobra.Command, c *addFlags, files []string) error {
	if c.inPlace {
		return usagef("--in-place cannot be combined with --redis and --server")
	}
	r, err := a.addToFleet(cmd, &c.fleet, c.capacity, c.rate, &c.records, files)
	switch {
	case err != nil:
		return err
	case c.json:
		if err := printLine(a.env.Stdout, r); err != nil {
			return err
		}
	case !c.records.quiet:
		a.say(cmd, "%s: %s new of %s keys", r.Set, figure.Comma(r.New), figure.Comma(r.Keys))
	}
	return r.past
}

// checkFleet refuses flags that do not apply with --redis and --server.
func (c *countFlags) checkFleet(cmd *cobra.Command) error {
	for _, name := range []string{"method", "precision"} {
		if c.fleet.isSet() && cmd.Flags().Changed(name) {
			return usagef("--%s cannot be combined with --redis and --server", name)
		}
	}
	return c.fleet.check(cmd)
}

// countFleet is "seen count --redis".
func (a *app) countFleet(cmd *cobra.Command, c *countFlags, files []string) error {
	r, err := a.addToFleet(cmd, &c.fleet, c.capacity, c.rate, &c.records, files)
	if err != nil {
		return err
	}
	if c.json {
		if err := printJSON(a.env.Stdout, r); err != nil {
			return err
		}
		return r.past
	}
	if _, err := fmt.Fprintln(a.env.Stdout, r.New); err != nil {
		return err
	}
	if !c.records.quiet {
		a.say(cmd, "%s of %s lines were not in %s before", figure.Comma(r.New), figure.Comma(r.Keys), r.Set)
	}
	return r.past
}
