package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// tailPart measures how long the slowest look-ups take while the server does other
// work.
func tailPart(ctx context.Context, o *options, out io.Writer) error {
	p, err := o.startSeen(ctx)
	if err != nil {
		return err
	}
	defer p.stop()
	fmt.Fprintf(o.progress, "loading %d keys\n", o.keys)
	if err := o.loadFilter(ctx, p, filter, o.keys, 2*o.keys); err != nil {
		return err
	}
	questions := newLoad(1, 1, 1, 2*o.keys, words("BF.EXISTS", filter))
	fmt.Fprintf(out, "\n## The slowest questions\n\nBF.EXISTS on %d keys, one connection that sends the next command after each reply, medians of %d rounds. The client shares the cores.\n\n", o.keys, o.rounds)
	first := 0 // number of the first key that is added meanwhile; to add a key again changes nothing
	table := newTable(out, "meanwhile", "times it happened", "median", "p99", "p99.9", "longest")
	for _, c := range []struct {
		title string
		what  func(context.Context, *process, int) error // nil: nothing
	}{
		{"nothing", nil},
		{"another client adds, 100 at a time", addMeanwhile},
		{"checkpoints", checkpointMeanwhile},
		{"growth of the filter that is asked", growMeanwhile},
		{"collections of garbage", collectMeanwhile},
	} {
		if c.title == "growth of the filter that is asked" {
			if err := p.do(ctx, "BF.RESERVE", "growing", "0.001", "1000", "EXPANSION", "2"); err != nil {
				return err
			}
		}
		l := questions
		if c.title == "growth of the filter that is asked" {
			l = newLoad(1, 1, 1, 2*o.keys, words("BF.EXISTS", "growing"))
		}
		var runs []latencies
		for range o.rounds {
			first += 1 << 16
			run, err := p.latency(ctx, l, first, c.what)
			if err != nil {
				return fmt.Errorf("%s: %w", c.title, err)
			}
			runs = append(runs, run)
		}
		of := func(get func(latencies) time.Duration) time.Duration {
			return time.Duration(median(runs, func(l latencies) float64 { return float64(get(l)) })).Round(time.Microsecond)
		}
		table.row(c.title, median(runs, func(l latencies) float64 { return float64(l.events) }),
			of(func(l latencies) time.Duration { return l.median }), of(func(l latencies) time.Duration { return l.p99 }),
			of(func(l latencies) time.Duration { return l.p999 }), of(func(l latencies) time.Duration { return l.longest }))
	}
	return table.flush()
}

// latencies are those of one run.
type latencies struct {
	median, p99, p999, longest time.Duration
	events                     int
}

// latency sends one look-up at a time for some seconds, and calls meanwhile again and
// again at the same time.
func (p *process) latency(ctx context.Context, l *load, first int, meanwhile func(context.Context, *process, int) error) (latencies, error) {
	span, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	type result struct {
		events int
		err    error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		for ; meanwhile != nil && span.Err() == nil && r.err == nil; r.events++ {
			r.err = meanwhile(ctx, p, first+r.events)
		}
		done <- r
	}()
	c, err := dial(ctx, p.addr)
	if err != nil {
		return latencies{}, err
	}
	defer c.conn.Close()
	var all []time.Duration
	for i := 0; span.Err() == nil; i++ {
		began := time.Now()
		if err := c.ask(l.requests[i%len(l.requests)], l.lines); err != nil {
			return latencies{}, err
		}
		all = append(all, time.Since(began))
	}
	r := <-done
	return latencies{
		median: percentile(all, 0.5), p99: percentile(all, 0.99), p999: percentile(all, 0.999), longest: percentile(all, 1), events: r.events,
	}, r.err
}

// someKeys returns n consecutive keys, beginning at 1000 times number.
func someKeys(number, n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = key(nil, 1_000_000_000+uint64(number)*1000+uint64(i))
	}
	return keys
}

// command runs a command with keys at its end.
func command(ctx context.Context, p *process, keys [][]byte, fixed ...string) error {
	for _, k := range keys {
		fixed = append(fixed, string(k))
	}
	return p.do(ctx, fixed...)
}

func addMeanwhile(ctx context.Context, p *process, number int) error {
	return command(ctx, p, someKeys(number, 100), "BF.MADD", filter)
}

// checkpointMeanwhile changes the filter, so that the checkpoint has to write it.
func checkpointMeanwhile(ctx context.Context, p *process, number int) error {
	if err := addMeanwhile(ctx, p, number); err != nil {
		return err
	}
	return p.do(ctx, "SAVE")
}

func growMeanwhile(ctx context.Context, p *process, number int) error {
	return command(ctx, p, someKeys(number, 1000), "BF.MADD", "growing")
}

// collectMeanwhile makes the server collect its garbage, which it does before it shows
// its heap.
func collectMeanwhile(ctx context.Context, p *process, _ int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.http+"/debug/pprof/heap?gc=1", nil)
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("profiles: %s", reply.Status)
	}
	return nil
}
