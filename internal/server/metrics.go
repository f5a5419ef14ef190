package server

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics collects what a server and its store do, for Prometheus. It is created before
// the store, whose events it receives. Any number of goroutines may call its methods.
type Metrics struct {
	registry        *prometheus.Registry
	fsync           prometheus.Histogram
	checkpoint      prometheus.Histogram
	checkpointBytes prometheus.Counter
	errors          prometheus.Counter
}

// NewMetrics returns empty metrics. version is the version of the program.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		fsync: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "seen_fsync_duration_seconds", Help: "Time of each sync of the log.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 16), // to 1.6 s
		}),
		checkpoint: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "seen_checkpoint_duration_seconds", Help: "Time of each checkpoint.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 4, 10), // to 4 min
		}),
		checkpointBytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "seen_checkpoint_bytes_total", Help: "Bytes that checkpoints have written to files.",
		}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "seen_background_errors_total", Help: "Errors outside of commands, such as failed checkpoints; the log has details.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "seen_build_info", Help: "1; the version is in the label.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.fsync, m.checkpoint, m.checkpointBytes, m.errors, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Fsync records a sync of the log.
func (m *Metrics) Fsync(took time.Duration) { m.fsync.Observe(took.Seconds()) }

// Checkpoint records a checkpoint and the bytes that it wrote.
func (m *Metrics) Checkpoint(took time.Duration, bytes uint64) {
	m.checkpoint.Observe(took.Seconds())
	m.checkpointBytes.Add(float64(bytes))
}

// Error counts an error in the background.
func (m *Metrics) Error() { m.errors.Inc() }

// handler answers with the metrics, including the state of a server. The state has its
// own registry, so that two servers may share the rest.
func (m *Metrics) handler(s *Server) http.Handler {
	state := prometheus.NewRegistry()
	state.MustRegister(stateCollector{s})
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, state}, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
