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

var (
	descValues      = description("seen_filters", "Number of filters and sketches.")
	descMemory      = description("seen_memory_bytes", "Memory of all filters and sketches.")
	descMaxMemory   = description("seen_max_memory_bytes", "Limit of the memory of all filters and sketches; 0: no limit.")
	descLogBytes    = description("seen_log_bytes", "Length of the log since the last checkpoint.")
	descLogLag      = description("seen_log_lag_operations", "Operations that are not durable yet.")
	descCheckpoint  = description("seen_last_checkpoint_timestamp_seconds", "When the last checkpoint ended.")
	descScrubbed    = description("seen_scrub_last_pass_timestamp_seconds", "When all files of values were last read and verified; 0: not yet.")
	descDamaged     = description("seen_scrub_damaged_files_total", "Files of values that were missing or damaged on the disk.")
	descFolder      = description("seen_data_folder_ok", "1; 0 if the data folder, or a file in it, was moved or replaced while the server runs.")
	descDiskFree    = description("seen_disk_free_bytes", "Free space on the disk of the data; 0: unknown.")
	descExpired     = description("seen_filters_expired_total", "Filters deleted because they expired.")
	descWritable    = description("seen_writable", "1 if the server accepts changes, 0 if the disk is full or has failed, or the data folder was moved or replaced.")
	descHidden      = description("seen_filters_not_shown", "Filters without their own series: not among the 500 largest, or with a name that is long or not UTF-8.")
	descAdded       = description("seen_filter_added", "Keys that were new to the filter.", "filter")
	descCapacity    = description("seen_filter_capacity", "Keys until the filter grows or is full.", "filter")
	descFill        = description("seen_filter_fill_ratio", "Share of the bits that are set.", "filter")
	descRate        = description("seen_filter_error_rate", "Error rate with the current keys.", "filter")
	descAsked       = description("seen_filter_asked_error_rate", "Error rate that the filter was made for.", "filter")
	descPastRate    = description("seen_filters_past_error_rate", "Filters past the error rate that they were made for, as of a few seconds ago.")
	descFilterBytes = description("seen_filter_bytes", "Memory of the filter or sketch.", "filter", "type")

	descConnections = description("seen_connections", "Clients that are connected.")
	descConnected   = description("seen_connections_total", "Clients that have connected.")
	descEvicted     = description("seen_clients_evicted_total", "Idle and slow clients that were dropped to make room for others.")
	descRejected    = description("seen_clients_rejected_total", "Clients turned away because there were too many.")
	descDropped     = description("seen_clients_dropped_total", "Clients dropped because they did not read their replies.")
	descCalls       = description("seen_commands_total", "Commands that were run.", "command")
	descFailures    = description("seen_command_failures_total", "Commands that were refused or ended with an error.", "command")
	descDuration    = description("seen_command_duration_seconds",
		"Time that commands of a family took, without the wait for the disk. Commands of a pipeline that were run together took the time of all.", "family")
)

// stateCollector collects the current state of a server.
type stateCollector struct{ *Server }

// Describe sends nothing: the set of metrics depends on the filters.
func (stateCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics.
func (c stateCollector) Collect(out chan<- prometheus.Metric) {
	c.collectStore(out)
	c.collectCommands(out)
}

func (c stateCollector) collectStore(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := c.Server.store
	stats := s.Stats()
	gauge(descValues, float64(stats.Values))
	gauge(descMemory, float64(stats.Memory))
	gauge(descMaxMemory, float64(s.MaxMemory()))
	gauge(descLogBytes, float64(stats.LogBytes))
	gauge(descLogLag, float64(max(stats.Last, stats.Durable)-stats.Durable)) // they are read one after the other
	gauge(descDiskFree, float64(stats.DiskFree))
	gauge(descCheckpoint, float64(stats.LastCheckpoint.UnixMilli())/1000)
	out <- prometheus.MustNewConstMetric(descExpired, prometheus.CounterValue, float64(stats.Expired))
	scrubbed, folder := 0.0, 1.0
	if !stats.Scrubbed.IsZero() {
		scrubbed = float64(stats.Scrubbed.UnixMilli()) / 1000
	}
	if stats.Ground != nil {
		folder = 0
	}
	gauge(descScrubbed, scrubbed)
	gauge(descFolder, folder)
	out <- prometheus.MustNewConstMetric(descDamaged, prometheus.CounterValue, float64(stats.Damaged))
	writable := 1.0
	if s.Failed() != nil {
		writable = 0
	}
	gauge(descWritable, writable)
	gauge(descPastRate, float64(c.dashboard.PastRate()))

	shown, hidden := s.Largest(maxFilterSeries, func(name string) bool {
		return len(name) <= maxFilterLabel && utf8.ValidString(name)
	})
	gauge(descHidden, float64(hidden))
	for _, n := range shown {
		gauge(descFilterBytes, float64(n.Value.Bytes()), n.Name, n.Value.Type())
		f, ok := n.Value.(store.Filter)
		if !ok {
			continue
		}
		info := f.Info()
		gauge(descAdded, float64(info.Added), n.Name)
		gauge(descCapacity, float64(info.Capacity), n.Name)
		gauge(descFill, info.Fill, n.Name)
		gauge(descRate, info.ErrorRateNow, n.Name)
		gauge(descAsked, info.ErrorRate, n.Name)
	}
}

// The buckets of latencies that the metrics have: from about a microsecond to eight seconds.
// The server itself counts more buckets.
const firstBucket, lastBucket = 10, 33

func (c stateCollector) collectCommands(out chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	out <- prometheus.MustNewConstMetric(descConnections, prometheus.GaugeValue, float64(c.clients.count()))
	counter(descConnected, uint64(c.clients.total.Load()))
	counter(descEvicted, uint64(c.clients.evicted.Load()))
	counter(descRejected, uint64(c.clients.rejected.Load()))
	counter(descDropped, uint64(c.clients.slow.Load()))
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
		counter(descCalls, calls, cmd.full)
		counter(descFailures, failures, cmd.full)
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
