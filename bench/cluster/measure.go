package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"seen/bench/machine"
	"seen/internal/redistest"
)

// outcome is one measurement of a row, per key.
type outcome struct {
	seconds  float64
	trips    float64
	in, out  float64 // bytes that the servers have received and sent
	server   float64 // seconds of the processors of all servers
	client   float64 // seconds of the processors of this process
	commands float64
}

// engine is a Redis, or a Redis Cluster, that has the filters.
type engine struct {
	title   string
	servers []*redistest.Server
	client  rueidis.Client
}

// usage has the resources that servers and client have used so far.
type usage struct {
	in, out, commands, server, client float64
}

func (e *engine) usage() (u usage, err error) {
	for _, s := range e.servers {
		for _, f := range []struct {
			section, field string
			to             *float64
		}{
			{"stats", "total_net_input_bytes", &u.in},
			{"stats", "total_net_output_bytes", &u.out},
			{"stats", "total_commands_processed", &u.commands},
			{"cpu", "used_cpu_user", &u.server},
			{"cpu", "used_cpu_sys", &u.server},
		} {
			text, err := s.Info(f.section, f.field)
			if err != nil {
				return u, err
			}
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return u, fmt.Errorf("%s of INFO is %q", f.field, text)
			}
			*f.to += v
		}
	}
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return u, err
	}
	u.client = float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	return u, nil
}

// feed returns keys: new keys, each once, and keys that were added before.
type feed struct {
	next uint64 // number of the next key
	seen uint64 // number of keys that were added before
}

// batch returns n keys, of which one in every `every` is new.
func (f *feed) batch(n, every int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		if f.next%uint64(every) == 0 || every == 1 {
			keys[i] = keyOf(1<<40 + f.next)
		} else {
			// Far apart, so that a row does not find them in its last answers.
			keys[i] = keyOf(f.next * 7919 % f.seen)
		}
		f.next++
	}
	return keys
}

// measure adds keys in calls of n for about the given time.
func (e *engine) measure(ctx context.Context, r row, f *feed, n, every, keys int) (outcome, error) {
	var calls [][][]byte
	for made := 0; made < keys; made += n {
		calls = append(calls, f.batch(n, every))
	}
	keys = len(calls) * n
	before, err := e.usage()
	if err != nil {
		return outcome{}, err
	}
	trips, began, told := r.trips.Load(), time.Now(), 0
	for _, call := range calls {
		isNew, err := r.add(ctx, call)
		if err != nil {
			return outcome{}, fmt.Errorf("%s: %w", r.name, err)
		}
		told += isNew
	}
	seconds := time.Since(began).Seconds()
	after, err := e.usage()
	if err != nil {
		return outcome{}, err
	}
	// By its error rate a filter may report a new key as seen, but never the opposite.
	if want := float64(keys) / float64(every); float64(told) > want+1 || float64(told) < want*0.95-10 {
		return outcome{}, fmt.Errorf("%s: %d of %d keys were reported as new, but %.0f are new", r.name, told, keys, want)
	}
	k := float64(keys)
	return outcome{
		seconds: seconds / k, trips: float64(r.trips.Load()-trips) / k,
		in: (after.in - before.in) / k, out: (after.out - before.out) / k, commands: (after.commands - before.commands) / k,
		server: (after.server - before.server) / k, client: (after.client - before.client) / k,
	}, nil
}

// mixes are the workloads: one in every so many keys is new.
var mixes = []struct {
	name  string
	every int
}{{"all keys new", 1}, {"a crawl: 80 % seen", 5}}

// batches are the keys of a call.
var batches = []int{1, 100, 1000}

// run measures on every engine.
func run(ctx context.Context, o options, out io.Writer) error {
	if err := machine.Describe(ctx, out); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "seen-bench-cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := redistest.Start(dir)
	if err != nil {
		return err
	}
	err = o.on(ctx, out, "one Redis", []*redistest.Server{server}, server.Addr())
	err = errors.Join(err, server.Kill())
	if err != nil || !o.nodes {
		return err
	}
	nodes, err := redistest.StartCluster(dir)
	if err != nil {
		return err
	}
	err = o.on(ctx, out, "a Redis Cluster of 3 primaries and 3 replicas", nodes.Nodes, nodes.Addrs()...)
	return errors.Join(err, nodes.Stop())
}

// on measures every row on one engine, and prints a table for each workload.
func (o *options) on(ctx context.Context, out io.Writer, title string, servers []*redistest.Server, addrs ...string) error {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, DisableCache: true})
	if err != nil {
		return err
	}
	defer client.Close()
	e := &engine{title: title, servers: servers, client: client}
	all, err := rows(ctx, client, 2*o.keys)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.progress, "filling for", title)
	feeds := make([]feed, len(all))
	for i, r := range all {
		if r.slow {
			// Fill its string with the commands of the pipelined row, which are faster.
			fill := crawler{counting{client, r.trips}, "recipe", uint64(bitsPerKey * float64(2*o.keys))}
			r.add = fill.pipeline
		}
		feeds[i].seen = uint64(o.keys)
		for at := 0; at < o.keys; at += 1000 {
			keys := make([][]byte, 1000)
			for j := range keys {
				keys[j] = keyOf(uint64(at + j))
			}
			if _, err := r.add(ctx, keys); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	for _, mix := range mixes {
		for _, n := range batches {
			if err := o.table(ctx, out, e, all, feeds, mix.name, mix.every, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// table measures the rows in turns and prints them.
func (o *options) table(ctx context.Context, out io.Writer, e *engine, all []row, feeds []feed, mix string, every, n int) error {
	fmt.Fprintf(o.progress, "%s, %s, %d a call\n", e.title, mix, n)
	results := make([][]outcome, len(all))
	lengths := make([]int, len(all))
	for i, r := range all {
		// A short run shows how many keys fill the time.
		probe, err := e.measure(ctx, r, &feeds[i], n, every, max(n, 50))
		if err != nil {
			return err
		}
		// New keys of all rounds and tables together must stay below the capacity.
		most := o.keys * every / (len(mixes) * len(batches) * (o.rounds + 1))
		lengths[i] = min(int(o.seconds/probe.seconds), most)
	}
	for range o.rounds {
		for i, r := range all {
			got, err := e.measure(ctx, r, &feeds[i], n, every, lengths[i])
			if err != nil {
				return err
			}
			results[i] = append(results[i], got)
		}
	}
	return print(out, e.title, mix, n, all, results)
}

// ratios returns, for each round, the time of other divided by the time of first, in
// ascending order.
func ratios(first, other []outcome) []float64 {
	var all []float64
	for i := range first {
		all = append(all, other[i].seconds/first[i].seconds)
	}
	slices.Sort(all)
	return all
}

// print prints a table in the form of Markdown.
func print(out io.Writer, title, mix string, n int, all []row, results [][]outcome) error {
	fmt.Fprintf(out, "\n%s, %s, %d keys a call\n\n", title, mix, n)
	fmt.Fprintln(out, "| row | keys/s | cluster is | at least | server CPU/key | cluster takes | client CPU/key | round trips/key | commands/key | bytes in/key | out/key |")
	fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	middle := func(i int, what func(outcome) float64) float64 {
		var values []float64
		for _, o := range results[i] {
			values = append(values, what(o))
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	server := func(o outcome) float64 { return o.server }
	for i, r := range all {
		times := ratios(results[0], results[i])
		_, err := fmt.Fprintf(out, "| %s | %s | %.2fx | %.2fx | %.2f µs | 1/%.2f | %.2f µs | %.3g | %.3g | %.0f | %.0f |\n", r.name,
			thousands(1/middle(i, func(o outcome) float64 { return o.seconds })), (times[(len(times)-1)/2]+times[len(times)/2])/2, times[0],
			1e6*middle(i, server), middle(i, server)/middle(0, server), 1e6*middle(i, func(o outcome) float64 { return o.client }),
			middle(i, func(o outcome) float64 { return o.trips }), middle(i, func(o outcome) float64 { return o.commands }),
			middle(i, func(o outcome) float64 { return o.in }), middle(i, func(o outcome) float64 { return o.out }))
		if err != nil {
			return err
		}
	}
	return nil
}

// thousands writes a rate with three digits or more.
func thousands(r float64) string {
	text := strconv.FormatFloat(r, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return strings.TrimSpace(text)
}
