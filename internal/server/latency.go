package server

var latencyCommand = command{
	name: "latency", arity: -2, flags: flagAlone, since: "2.8.13", complexity: "Depends on the subcommand", summary: "Commands about how long commands take.",
	subs: []command{
		{
			name: "histogram", arity: -2, flags: forAdmin, handle: latencyHistogram, since: "7.0.0", complexity: "O(n), n commands",
			summary: "Returns the distribution of the durations of each command.", syntax: "[command [command ...]]",
		},
		{
			name: "latest", arity: 2, flags: forAdmin, handle: func(c *call) { c.out.Array(0) }, since: "2.8.13", complexity: "O(1)",
			summary: "Returns an empty list: no events are monitored.",
		},
		{
			name: "reset", arity: -2, flags: forAdmin, handle: func(c *call) { c.out.Int(0) }, since: "2.8.13", complexity: "O(1)",
			summary: "Returns 0: no events are monitored.", syntax: "[event [event ...]]",
		},
		help("2.8.13"),
	},
}

func latencyHistogram(c *call) {
	list := c.server.table.commands
	if len(c.args) > 2 {
		list = c.named(c.args[2:])
	}
	type row struct {
		cmd     *command
		buckets []latencyBucket
	}
	var rows []row
	for _, cmd := range list {
		if cmd == nil {
			continue
		}
		if buckets := cmd.stats.histogram(); len(buckets) > 0 {
			rows = append(rows, row{cmd, buckets})
		}
	}
	c.out.Map(len(rows))
	for _, r := range rows {
		c.out.BulkString(r.cmd.full)
		c.out.Map(2)
		c.out.BulkString("calls")
		c.out.Int(int64(r.cmd.stats.calls.Load()))
		c.out.BulkString("histogram_usec")
		c.out.Map(len(r.buckets))
		for _, b := range r.buckets {
			c.out.Int(b.micros)
			c.out.Int(int64(b.calls))
		}
	}
}

// latencyBucket is how many calls took less than a number of microseconds.
type latencyBucket struct {
	micros int64
	calls  uint64
}

// histogram returns how many calls took less than each power of two of microseconds,
// without buckets that add nothing.
func (s *commandStats) histogram() (list []latencyBucket) {
	var calls, last uint64
	for i := range s.latency {
		calls += s.latency[i].Load()
		if i >= 10 && calls > last {
			list = append(list, latencyBucket{1 << (i - 10), calls})
			last = calls
		}
	}
	return list
}
