package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// filter is the name of the loaded filter.
const filter = "bench"

// trio are the servers: seen with default settings, for look-ups; seen with a sync every
// second, for additions; and Redis.
type trio struct{ reads, adds, redis *process }

// startTrio starts the servers and loads each with the keys.
func (o *options) startTrio(ctx context.Context) (_ *trio, err error) {
	var t trio
	defer func() {
		if err != nil {
			t.stop()
		}
	}()
	if t.redis, err = o.startRedis(ctx); err != nil {
		return nil, err
	}
	if t.reads, err = o.startSeen(ctx); err != nil {
		return nil, err
	}
	if t.adds, err = o.startSeen(ctx, "--fsync", "everysec"); err != nil {
		return nil, err
	}
	fmt.Fprintf(o.progress, "loading %d keys\n", o.keys)
	for _, p := range []*process{t.reads, t.adds} {
		if err := o.loadFilter(ctx, p, filter, o.keys, 20*o.keys); err != nil {
			return nil, err
		}
	}
	return &t, t.redis.fill(ctx, o.keys, 1, func(keys [][]byte) [][]byte {
		all := [][]byte{[]byte("MSET")}
		for _, k := range keys {
			all = append(all, k, []byte("xxx"))
		}
		return all
	})
}

// loadFilter makes a filter with keys, and with room for more, so that it does not grow
// during the measurement.
func (o *options) loadFilter(ctx context.Context, p *process, name string, keys, room uint64) error {
	if err := p.do(ctx, "BF.RESERVE", name, "0.001", strconv.FormatUint(room, 10)); err != nil {
		return err
	}
	return p.fill(ctx, keys, 1001, words("BF.MADD", name))
}

func (t *trio) stop() {
	for _, p := range []*process{t.reads, t.adds, t.redis} {
		if p != nil {
			p.stop()
		}
	}
}

// match is one comparison: a command of seen and a command of Redis, each with a
// pipeline and a number of keys.
type match struct {
	ours, theirs               []string // without the keys, which are appended
	adds                       bool
	pipeline, keysEach         int
	theirPipeline              int
	target                     float64 // of the ratio of rates
	ourRange, theirRange       uint64
	ourOutcomes, theirOutcomes []outcome
	ourLines, theirLines       int // of reply to one command
}

// matches returns the comparisons with their targets.
func (o *options) matches() []*match {
	const many = 1_000_000_000 // almost no key below it is in the filter
	exists, add := []string{"BF.EXISTS", filter}, []string{"BF.ADD", filter}
	get, set := []string{"GET"}, []string{"SET"}
	var all []*match
	for _, m := range []struct {
		pipeline    int
		exists, add float64
	}{{1, 0.95, 0.9}, {16, 1.6, 1.3}, {100, 2.2, 1.8}} {
		all = append(all,
			&match{ours: exists, theirs: get, pipeline: m.pipeline, theirPipeline: m.pipeline, keysEach: 1, target: m.exists,
				ourRange: 2 * o.keys, theirRange: o.keys, ourLines: 1, theirLines: 2},
			&match{ours: add, theirs: set, adds: true, pipeline: m.pipeline, theirPipeline: m.pipeline, keysEach: 1, target: m.add,
				ourRange: many, theirRange: o.keys, ourLines: 1, theirLines: 1})
	}
	return append(all,
		&match{ours: []string{"BF.MEXISTS", filter}, theirs: get, pipeline: 1, theirPipeline: 100, keysEach: 100, target: 6,
			ourRange: 2 * o.keys, theirRange: o.keys, ourLines: 101, theirLines: 2},
		&match{ours: []string{"BF.MADD", filter}, theirs: set, adds: true, pipeline: 1, theirPipeline: 100, keysEach: 100, target: 4,
			ourRange: many, theirRange: o.keys, ourLines: 101, theirLines: 1})
}

// side is one of the two sides of a match.
type side struct {
	server   *process
	words    []string
	pipeline int
	keysEach int
	limit    uint64
	lines    int
}

func (m *match) sides(t *trio) (ours, theirs side) {
	ours = side{t.reads, m.ours, m.pipeline, m.keysEach, m.ourRange, m.ourLines}
	if m.adds {
		ours.server = t.adds
	}
	return ours, side{t.redis, m.theirs, m.theirPipeline, 1, m.theirRange, m.theirLines}
}

// contest measures all matches with the given way to drive a server, in turns.
func contest(ctx context.Context, o *options, out io.Writer, title string, drive func(side) (outcome, error)) error {
	t, err := o.startTrio(ctx)
	if err != nil {
		return err
	}
	defer t.stop()
	all := o.matches()
	for round := range o.rounds {
		for _, m := range all {
			fmt.Fprintf(o.progress, "round %d of %d: %s at %d\n", round+1, o.rounds, m.ours[0], m.pipeline)
			ours, theirs := m.sides(t)
			a, err := drive(ours)
			if err != nil {
				return fmt.Errorf("%v: %w", m.ours, err)
			}
			b, err := drive(theirs)
			if err != nil {
				return fmt.Errorf("%v: %w", m.theirs, err)
			}
			m.ourOutcomes, m.theirOutcomes = append(m.ourOutcomes, a), append(m.theirOutcomes, b)
		}
	}
	fmt.Fprintf(out, "\n## %s\n\n%d keys in the filter, %d connections, medians of %d rounds. Rates are keys per second, times are the server's processor time per key.\n\n",
		title, o.keys, o.connections, o.rounds)
	table := newTable(out, "command", "pipeline", "seen", "redis", "ratio", "wanted", "seen, CPU", "redis, CPU")
	for _, m := range all {
		a, b := middle(m.ourOutcomes), middle(m.theirOutcomes)
		name := m.ours[0] + " / " + m.theirs[0]
		if m.keysEach > 1 {
			name = fmt.Sprintf("%s of %d / %s at %d", m.ours[0], m.keysEach, m.theirs[0], m.theirPipeline)
		}
		table.row(name, m.pipeline, rate(a.rate), rate(b.rate), times(a.rate/b.rate), times(m.target), nanos(a.cpu), nanos(b.cpu))
	}
	return table.flush()
}

// benchmarkPart drives both servers with redis-benchmark.
func benchmarkPart(ctx context.Context, o *options, out io.Writer) error {
	return contest(ctx, o, out, "Driven by redis-benchmark", func(s side) (outcome, error) { return o.redisBenchmark(ctx, s) })
}

// leanPart drives both servers with the client of this package.
func leanPart(ctx context.Context, o *options, out io.Writer) error {
	loads := map[string]*load{}
	return contest(ctx, o, out, "Driven by a lean client", func(s side) (outcome, error) {
		id := fmt.Sprint(s.words, s.pipeline, s.limit)
		if loads[id] == nil {
			command := words(s.words...)
			if s.words[0] == "SET" {
				command = func(keys [][]byte) [][]byte { return [][]byte{[]byte("SET"), keys[0], []byte("xxx")} }
			}
			if loads[id] = newLoad(s.pipeline, s.keysEach, s.lines, s.limit, command); strings.Contains(s.words[0], "ADD") {
				loads[id] = newAdditions(s.pipeline, s.keysEach, s.lines, command)
			}
		}
		return s.server.drive(ctx, loads[id], o.connections, 3*time.Second)
	})
}

// redisBenchmark drives a server with redis-benchmark.
func (o *options) redisBenchmark(ctx context.Context, s side) (outcome, error) {
	commands := o.requests
	if s.pipeline > 1 {
		commands *= 10
	}
	if s.keysEach > 1 {
		commands /= 5
	}
	_, port, err := net.SplitHostPort(s.server.addr)
	if err != nil {
		return outcome{}, err
	}
	args := append([]string{
		"-p", port, "-c", strconv.Itoa(o.connections), "-n", strconv.Itoa(commands), "-P", strconv.Itoa(s.pipeline),
		"-r", strconv.FormatUint(s.limit, 10), "--csv",
	}, s.words...)
	for range s.keysEach {
		args = append(args, "key:__rand_int__")
	}
	if s.words[0] == "SET" {
		args = append(args, "xxx")
	}
	before, err := s.server.cpu()
	if err != nil {
		return outcome{}, err
	}
	b, err := exec.CommandContext(ctx, "redis-benchmark", args...).CombinedOutput()
	if err != nil {
		return outcome{}, fmt.Errorf("redis-benchmark: %w: %s", err, b)
	}
	after, err := s.server.cpu()
	if err != nil {
		return outcome{}, err
	}
	// It may warn that it cannot read the configuration; the table is at the end.
	text := string(b)
	at := strings.Index(text, `"test","rps"`)
	if at < 0 {
		return outcome{}, fmt.Errorf("redis-benchmark printed %q", b)
	}
	rows, err := csv.NewReader(strings.NewReader(text[at:])).ReadAll()
	if err != nil || len(rows) < 2 {
		return outcome{}, fmt.Errorf("redis-benchmark printed %q: %w", b, err)
	}
	perSecond, err := strconv.ParseFloat(rows[1][1], 64)
	keys := float64(commands * s.keysEach)
	return outcome{rate: perSecond * float64(s.keysEach), cpu: (after - before).Seconds() / keys}, err
}
