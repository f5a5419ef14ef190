package server

import (
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"seen/internal/store"
)

// Limits of the labels that name filters: the number of time series must not grow with the
// number of filters, which clients choose.
const (
	maxFilterSeries = 500
	maxFilterLabel  = 128 // bytes of a name
)

func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// The metrics with labels.
var (
	descAdded       = description("seen_filter_added", "Keys that were new to the filter.", "filter")
	descCapacity    = description("seen_filter_capacity", "Keys until the filter grows or is full.", "filter")
	descFill        = description("seen_filter_fill_ratio", "Share of the bits that are set.", "filter")
	descRate        = description("seen_filter_error_rate", "Error rate with the current keys.", "filter")
	descAsked       = description("seen_filter_asked_error_rate", "Error rate that the filter was made for.", "filter")
	descFilterBytes = description("seen_filter_bytes", "Memory of the filter or sketch.", "filter", "type")

	descCalls    = description("seen_commands_total", "Commands that were run.", "command")
	descFailures = description("seen_command_failures_total", "Commands that were refused or ended with an error.", "command")
	descDuration = description("seen_command_duration_seconds",
		"Time that commands of a family took, without the wait for the disk. Commands of a pipeline that were run together took the time of all.", "family")
)

// sink takes the metrics of one scrape.
type sink chan<- prometheus.Metric

func (s sink) send(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, kind, v, labels...)
}

func (s sink) gauge(name, help string, v float64) {
	s.send(description(name, help), prometheus.GaugeValue, v)
}

func (s sink) counter(name, help string, v float64) {
	s.send(description(name, help), prometheus.CounterValue, v)
}

// stateCollector collects the current state of a server.
type stateCollector struct{ *Server }

// Describe sends nothing: the set of metrics depends on the filters.
func (stateCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics.
func (c stateCollector) Collect(out chan<- prometheus.Metric) {
	c.collectStore(out)
	c.collectCommands(out)
}

func (c stateCollector) collectStore(out sink) {
	s := c.Server.store
	stats := s.Stats()
	out.gauge("seen_filters", "Number of filters and sketches.", float64(stats.Values))
	out.gauge("seen_memory_bytes", "Memory of all filters and sketches.", float64(stats.Memory))
	out.gauge("seen_max_memory_bytes", "Limit of the memory of all filters and sketches; 0: no limit.", float64(s.MaxMemory()))
	out.gauge("seen_log_bytes", "Length of the log since the last checkpoint.", float64(stats.LogBytes))
	lag := max(stats.Last, stats.Durable) - stats.Durable // they are read one after the other
	out.gauge("seen_log_lag_operations", "Operations that are not durable yet.", float64(lag))
	out.gauge("seen_disk_free_bytes", "Free space on the disk of the data; 0: unknown.", float64(stats.DiskFree))
	out.gauge("seen_last_checkpoint_timestamp_seconds", "When the last checkpoint ended.", float64(stats.LastCheckpoint.UnixMilli())/1000)
	out.counter("seen_filters_expired_total", "Filters deleted because they expired.", float64(stats.Expired))
	scrubbed, folder := 0.0, 1.0
	if !stats.Scrubbed.IsZero() {
		scrubbed = float64(stats.Scrubbed.UnixMilli()) / 1000
	}
	if stats.Ground != nil {
		folder = 0
	}
	out.gauge("seen_scrub_last_pass_timestamp_seconds", "When all files of values were last read and verified; 0: not yet.", scrubbed)
	out.gauge("seen_data_folder_ok", "1; 0 if the data folder, or a file in it, was moved or replaced while the server runs.", folder)
	out.counter("seen_scrub_damaged_files_total", "Files of values that were missing or damaged on the disk.", float64(stats.Damaged))
	writable := 1.0
	if s.Failed() != nil {
		writable = 0
	}
	out.gauge("seen_writable", "1 if the server accepts changes, 0 if the disk is full or has failed, or the data folder was moved or replaced.", writable)
	out.gauge("seen_filters_past_error_rate", "Filters past the error rate that they were made for, as of a few seconds ago.", float64(c.dashboard.PastRate()))

	shown, hidden := s.Largest(maxFilterSeries, func(name string) bool {
		return len(name) <= maxFilterLabel && utf8.ValidString(name)
	})
	out.gauge("seen_filters_not_shown", "Filters without their own series: not among the 500 largest, or with a name that is long or not UTF-8.", float64(hidden))
	for _, n := range shown {
		out.send(descFilterBytes, prometheus.GaugeValue, float64(n.Value.Bytes()), n.Name, n.Value.Type())
		f, ok := n.Value.(store.Filter)
		if !ok {
			continue
		}
		info := f.Info()
		out.send(descAdded, prometheus.GaugeValue, float64(info.Added), n.Name)
		out.send(descCapacity, prometheus.GaugeValue, float64(info.Capacity), n.Name)
		out.send(descFill, prometheus.GaugeValue, info.Fill, n.Name)
		out.send(descRate, prometheus.GaugeValue, info.ErrorRateNow, n.Name)
		out.send(descAsked, prometheus.GaugeValue, info.ErrorRate, n.Name)
	}
}

// The buckets of latencies that the metrics have: from about a microsecond to eight seconds.
// The server itself counts more buckets.
const firstBucket, lastBucket = 10, 33

func (c stateCollector) collectCommands(out sink) {
	out.gauge("seen_connections", "Clients that are connected.", float64(c.clients.count()))
	out.counter("seen_connections_total", "Clients that have connected.", float64(c.clients.total.Load()))
	out.counter("seen_clients_evicted_total", "Idle and slow clients that were dropped to make room for others.", float64(c.clients.evicted.Load()))
	out.counter("seen_clients_rejected_total", "Clients turned away because there were too many.", float64(c.clients.rejected.Load()))
	out.counter("seen_clients_dropped_total", "Clients dropped because they did not read their replies.", float64(c.clients.slow.Load()))
	type latency struct {
		calls, nanos uint64
		under        [latencyBuckets]uint64
	}
	families := map[string]*latency{}
	for _, cmd := range c.table.commands {
		calls, failures := cmd.stats.calls.Load(), cmd.stats.failed.Load()+cmd.stats.rejected.Load()
		if calls+failures == 0 {
			continue
		}
		out.send(descCalls, prometheus.CounterValue, float64(calls), cmd.full)
		out.send(descFailures, prometheus.CounterValue, float64(failures), cmd.full)
		f := families[cmd.family()]
		if f == nil {
			f = &latency{}
			families[cmd.family()] = f
		}
		f.nanos += cmd.stats.nanos.Load()
		for i := range cmd.stats.latency {
			f.under[i] += cmd.stats.latency[i].Load()
		}
	}
	for name, f := range families {
		buckets := map[float64]uint64{}
		for i, n := range f.under {
			f.calls += n
			if i >= firstBucket && i <= lastBucket {
				buckets[float64(uint64(1)<<i)/1e9] = f.calls
			}
		}
		out <- prometheus.MustNewConstHistogram(descDuration, f.calls, float64(f.nanos)/1e9, buckets, name)
	}
}

// family returns the name under which the time of the command is counted: the part of its
// name before the dot, or its group if the name has no dot.
func (cmd *command) family() string {
	if family, _, ok := strings.Cut(cmd.name, "."); ok {
		return family
	}
	if cmd.parent != nil {
		return cmd.parent.family()
	}
	return cmd.group
}
