package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// fsyncPart measures additions that wait for the disk, and the disk alone.
func fsyncPart(ctx context.Context, o *options, out io.Writer) error {
	p, err := o.startSeen(ctx, "--fsync", "always")
	if err != nil {
		return err
	}
	defer p.stop()
	if err := o.loadFilter(ctx, p, filter, min(o.keys, 1_000_000), 20_000_000); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n## Every answer waits for the disk\n\nBF.ADD with --fsync always, medians of %d rounds in turns. The disk alone: one goroutine overwrites 4 KiB and calls fdatasync, again and again.\n\n", 5*o.rounds)
	table := newTable(out, "connections", "pipeline", "keys in a second", "syncs of the disk alone", "keys for each")
	for _, c := range []struct{ connections, pipeline int }{{1, 1}, {o.connections, 1}, {o.connections, 16}} {
		l := newAdditions(c.pipeline, 1, 1, words("BF.ADD", filter))
		var ours []outcome
		var disk []float64
		for range 5 * o.rounds { // many short runs: the speed of a shared disk varies
			// No checkpoint may run while the disk is measured alone.
			if err := p.do(ctx, "SAVE"); err != nil {
				return err
			}
			syncs, err := diskSyncs(p.dir, 500*time.Millisecond)
			if err != nil {
				return err
			}
			run, err := p.drive(ctx, l, c.connections, time.Second)
			if err != nil {
				return err
			}
			ours, disk = append(ours, run), append(disk, syncs)
		}
		a, b := middle(ours), median(disk, func(f float64) float64 { return f })
		table.row(c.connections, c.pipeline, fmt.Sprintf("%.0f", a.rate), fmt.Sprintf("%.0f/s", b), fmt.Sprintf("%.1f", a.rate/b))
	}
	return table.flush()
}

// sizesPart compares a small filter with a large one.
func sizesPart(ctx context.Context, o *options, out io.Writer) error {
	p, err := o.startSeen(ctx, "--fsync", "everysec")
	if err != nil {
		return err
	}
	defer p.stop()
	small, large := o.keys/10, 10*o.keys
	for name, n := range map[string]uint64{"small": small, "large": large} {
		fmt.Fprintf(o.progress, "loading %d keys\n", n)
		if err := o.loadFilter(ctx, p, name, n, n+n/4+50_000_000); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n## Large and small filters\n\nPipeline 16, medians of %d rounds; wanted: 0.80x. Time is the server's processor time per key.\n\n", o.rounds)
	table := newTable(out, "command", "keys", "keys in a second", "ratio", "CPU", "keys", "keys in a second", "CPU")
	for _, command := range []string{"BF.EXISTS", "BF.ADD"} {
		results := map[string][]outcome{}
		for range o.rounds {
			for _, name := range []string{"small", "large"} {
				l := newAdditions(16, 1, 1, words(command, name))
				if command == "BF.EXISTS" {
					l = newLoad(16, 1, 1, 2*map[string]uint64{"small": small, "large": large}[name], words(command, name))
				}
				run, err := p.drive(ctx, l, o.connections, 3*time.Second)
				if err != nil {
					return err
				}
				results[name] = append(results[name], run)
			}
		}
		a, b := middle(results["large"]), middle(results["small"])
		table.row(command, large, rate(a.rate), times(a.rate/b.rate), nanos(a.cpu), small, rate(b.rate), nanos(b.cpu))
	}
	return table.flush()
}

// twoPart shows that filters do not wait for each other: the processor time per key is
// the same if one client uses one filter, two clients use one, or two clients use two.
func twoPart(ctx context.Context, o *options, out io.Writer) error {
	p, err := o.startSeen(ctx, "--fsync", "everysec")
	if err != nil {
		return err
	}
	defer p.stop()
	n := min(o.keys, 1_000_000)
	for _, name := range []string{"first", "second"} {
		if err := o.loadFilter(ctx, p, name, n, n+100_000_000); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n## Two filters, two clients\n\nMADD and MEXISTS of 100, one connection for each client, medians of %d rounds. With as many free cores as clients, rates follow from processor times.\n\n", o.rounds)
	table := newTable(out, "command", "clients", "keys in a second", "against one", "CPU", "cores used")
	for _, command := range []string{"BF.MEXISTS", "BF.MADD"} {
		loads := map[string]*load{}
		for _, name := range []string{"first", "second"} {
			if loads[name] = newLoad(1, 100, 101, 2*n, words(command, name)); command == "BF.MADD" {
				loads[name] = newAdditions(1, 100, 101, words(command, name))
			}
		}
		kinds := []struct {
			title string
			names []string
		}{{"one", []string{"first"}}, {"two, one filter", []string{"first", "first"}}, {"two, two filters", []string{"first", "second"}}}
		results := make([][]outcome, len(kinds))
		for range o.rounds {
			for i, k := range kinds {
				run, err := p.driveAll(ctx, loads, k.names, 3*time.Second)
				if err != nil {
					return err
				}
				results[i] = append(results[i], run)
			}
		}
		for i, k := range kinds {
			r, one := middle(results[i]), middle(results[0])
			table.row(command, k.title, rate(r.rate), times(r.rate/one.rate), nanos(r.cpu), fmt.Sprintf("%.2f", r.rate*r.cpu))
		}
	}
	return table.flush()
}

// driveAll sends one load for each name, all at the same time.
func (p *process) driveAll(ctx context.Context, loads map[string]*load, names []string, span time.Duration) (outcome, error) {
	type result struct {
		outcome
		err error
	}
	done := make(chan result, len(names))
	before, err := p.cpu()
	if err != nil {
		return outcome{}, err
	}
	for _, name := range names {
		go func() {
			o, err := p.drive(ctx, loads[name], 1, span)
			done <- result{o, err}
		}()
	}
	var all outcome
	for range names {
		r := <-done
		all.rate += r.rate
		if err == nil {
			err = r.err
		}
	}
	after, cpuErr := p.cpu()
	if err == nil {
		err = cpuErr
	}
	all.cpu = (after - before).Seconds() / (all.rate * span.Seconds())
	return all, err
}

// percentile returns the value below which the given share of all values is.
func percentile(values []time.Duration, part float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(part*float64(len(values))))]
}
