package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// startPart measures how long a server takes to be ready: with large filters, and with
// a log to replay, as after a crash.
func startPart(ctx context.Context, o *options, out io.Writer) error {
	dir, err := os.MkdirTemp(o.dir, "data-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// 1 GiB at this rate.
	const capacity = 560_000_000
	p, err := o.startSeenOn(ctx, dir, "--fsync", "everysec")
	if err != nil {
		return err
	}
	err = o.loadFilter(ctx, p, filter, min(o.keys, 2_000_000), capacity)
	p.end(syscall.SIGTERM)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n## Starting\n\nOne filter for %d keys at 0.1 %%, of 1 GiB; medians of %d rounds, with the file in the page cache.\n\n", capacity, o.rounds)
	table := newTable(out, "after", "ready in")
	var clean, killed []time.Duration
	for round := range o.rounds {
		began := time.Now()
		if p, err = o.startSeenOn(ctx, dir, "--fsync", "everysec"); err != nil {
			return err
		}
		clean = append(clean, time.Since(began))
		// Almost as much log as is allowed before a checkpoint.
		for i := range 300 {
			if err := command(ctx, p, someKeys(1000*round+i*10, 10_000), "BF.MADD", filter); err != nil {
				p.end(syscall.SIGKILL)
				return err
			}
		}
		p.end(syscall.SIGKILL)
		began = time.Now()
		if p, err = o.startSeenOn(ctx, dir, "--fsync", "everysec"); err != nil {
			return err
		}
		killed = append(killed, time.Since(began))
		p.end(syscall.SIGTERM)
	}
	seconds := func(all []time.Duration) string {
		return fmt.Sprintf("%.2f s", median(all, time.Duration.Seconds))
	}
	table.row("a clean stop", seconds(clean))
	table.row("SIGKILL and 3,000,000 additions", seconds(killed))
	return table.flush()
}
