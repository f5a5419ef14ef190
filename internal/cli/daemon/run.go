// Package daemon runs "seen serve": its settings and where they come from, its ports,
// its signals and its log. What clients are answered is decided by internal/server. The
// package is for the command, which makes flags of the settings and calls Run; it knows
// no flags and no subcommands. A process has one run at a time, because the run handles
// its signals.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"seen/internal/pages"
	"seen/internal/resp"
	"seen/internal/server"
	"seen/internal/store"
)

// Process is what a run needs of the process it is in.
type Process struct {
	Version string
	Log     io.Writer

	// HandOver makes the caller stop handling signals, and returns the reason for
	// which the run has to end already, nil if there is none. It is called once the
	// run handles signals itself.
	HandOver func() error
}

// Run serves until SIGTERM, SIGINT or the end of ctx. A second signal ends the process
// at once. Run logs the error that it returns.
func Run(ctx context.Context, c *Config, p Process) error {
	r := &serving{Config: c, version: p.Version, logger: c.newLogger(p.Log), metrics: server.NewMetrics(p.Version), started: c.values()}
	for _, warning := range c.warnings() {
		r.logger.Warn(warning)
	}
	err := r.run(r.takeSignals(ctx, p.HandOver))
	if err != nil {
		r.logger.Error("ended", "error", err)
	}
	return err
}

func (c *Config) newLogger(to io.Writer) *slog.Logger {
	var level slog.Level
	// slog knows all words of the setting.
	_ = level.UnmarshalText([]byte(c.logLevel.Value))
	options := &slog.HandlerOptions{Level: level}
	if c.log.Value == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

// serving is one run of the server.
type serving struct {
	*Config
	version string
	logger  *slog.Logger
	metrics *server.Metrics
	started map[string]string // the settings at the start
	stop    func()            // ends the run as SIGTERM does
	ended   func()            // stops handling signals

	// drained ends when running commands have no more time to finish. It is nil until
	// the server begins to stop.
	drained context.Context

	// For SIGHUP; nil until the ports are open.
	open atomic.Pointer[opened]
}

// opened is a server whose ports are open.
type opened struct {
	server *server.Server
	ports  *listeners
}

// run recovers the data, opens the ports, and serves until ctx ends. It returns nil if
// all acknowledged changes are kept and everything has ended without errors.
func (r *serving) run(ctx context.Context) error {
	defer r.ended()
	started := time.Now()
	r.logger.Info("starting", "version", r.version, "data", string(r.data), "pid", os.Getpid())
	r.logger.Info("memory", "max_memory", r.maxMemory.bytes(), "machine", pages.Machine())
	r.warnOfModes()
	data, err := r.recover(ctx)
	if err != nil || data == nil {
		return err
	}
	err = r.serve(ctx, data, started)
	if r.drained == nil { // it has not begun to serve
		var cancel context.CancelFunc
		r.drained, cancel = context.WithTimeout(context.WithoutCancel(ctx), r.patienceAtEnd())
		defer cancel()
	}
	began := time.Now()
	switch closeErr := r.close(data); {
	case errors.Is(closeErr, store.ErrStopped):
		r.logger.Warn("the time of --drain is over; all acknowledged changes are in the log", "left", closeErr)
	case closeErr != nil:
		return errors.Join(err, fmt.Errorf("closing the data: %w", closeErr))
	}
	if err == nil {
		r.logger.Info("stopped", "closing_data", time.Since(began))
	}
	return err
}

// endTime is how long after the time of --drain the process ends, even if something
// hangs.
const endTime = 900 * time.Millisecond

// close closes the data in the time that is left.
func (r *serving) close(data *store.Store) error {
	closed := make(chan error, 1)
	go func() { closed <- data.CloseBy(r.drained) }()
	select {
	case err := <-closed:
		return err
	case <-r.drained.Done():
	}
	deadline, _ := r.drained.Deadline()
	select {
	case err := <-closed:
		return err
	case <-time.After(time.Until(deadline.Add(endTime))):
		return errors.New("closing the data takes longer than --drain; acknowledged changes are in the log as --fsync promises")
	}
}

// recover opens the data. If ctx ends before that, it returns nil and does not wait:
// nothing has been acknowledged yet.
func (r *serving) recover(ctx context.Context) (*store.Store, error) {
	type result struct {
		data *store.Store
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := store.Open(string(r.data), r.storeOptions())
		done <- result{data, err}
	}()
	select {
	case <-ctx.Done():
		r.logger.Info("stopped before the data was read", "cause", context.Cause(ctx))
		return nil, nil
	case got := <-done:
		if got.err != nil {
			return nil, fmt.Errorf("--data %s: %w", r.data, got.err)
		}
		return got.data, nil
	}
}

// serve answers until ctx ends or a port fails.
func (r *serving) serve(ctx context.Context, data *store.Store, started time.Time) error {
	s, err := server.New(r.serverConfig(data))
	if err != nil {
		return err
	}
	ports, err := r.openListeners(ctx)
	if err != nil {
		return err
	}
	// The messages of the HTTP server are mostly about clients that have disconnected.
	messages := slog.NewLogLogger(r.logger.Handler(), slog.LevelDebug)
	web := s.NewHTTPServer(server.HTTPConfig{Hosts: r.httpHosts, Debug: bool(r.httpDebug)}, &http.Server{ErrorLog: messages})
	failed := make(chan error, len(ports.redis)+len(ports.http))
	var running sync.WaitGroup
	for i, l := range ports.redis {
		running.Go(func() {
			if config := ports.tlsConfig(); config != nil && i < ports.encrypted {
				failed <- s.ServeTLS(l, config)
			} else {
				failed <- s.Serve(l)
			}
		})
	}
	for _, l := range ports.http {
		running.Go(func() { failed <- web.Serve(l, ports.tlsConfig()) })
	}
	r.open.Store(&opened{s, ports})
	r.logger.Info("ready",
		"addr", addresses(ports.redis), "http", addresses(ports.http), "tls", ports.tls.Load() != nil,
		"filters", data.Len(), "took", time.Since(started))
	r.notify("READY=1")

	var failure error
	select {
	case <-ctx.Done():
		r.logger.Info("stopping", "cause", context.Cause(ctx))
	case failure = <-failed:
		failure = fmt.Errorf("a port failed: %w", failure)
	}
	r.notify("STOPPING=1")
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.patienceAtEnd())
	r.drained = drain
	context.AfterFunc(drain, cancel) // it is needed until the process ends
	if err := s.Shutdown(drain); err != nil {
		r.logger.Warn("connections were cut off", "error", err)
	}
	if err := web.Shutdown(drain); err != nil {
		_ = web.Close() // its listeners are closed, and the warning below says what is cut off
		r.logger.Warn("HTTP requests were cut off", "error", err)
	}
	ports.close()
	running.Wait()
	return failure
}

func (r *serving) storeOptions() store.Options {
	fsync, _ := store.ParseFsync(r.fsync.Value)    // the setting has only words of the store
	layout, _ := store.ParseLayout(r.layout.Value) // as above
	return store.Options{
		Fsync: fsync, Layout: layout, MaxMemory: r.maxMemory.bytes(),
		CheckpointBytes: r.checkpoint.bytes, CheckpointEvery: r.checkpoint.every, ScrubEvery: time.Duration(r.scrub),
		Events: store.Events{
			Fsync: r.metrics.Fsync,
			Checkpoint: func(took time.Duration, bytes uint64) {
				r.metrics.Checkpoint(took, bytes)
				r.logger.Info("checkpoint", "took", took, "bytes", bytes)
			},
			Error: func(err error) {
				r.metrics.Error()
				r.logger.Error("the store has a problem", "error", err)
			},
			Recovered: func() { r.logger.Info("changes are accepted again") },
			Log:       func(text string) { r.logger.Debug("database", "text", text) },
		},
	}
}

func (r *serving) serverConfig(data *store.Store) server.Config {
	limits := resp.DefaultLimits
	limits.Total = int(min(uint64(r.maxCommand), math.MaxInt))
	limits.Bulk = min(limits.Bulk, limits.Total)
	return server.Config{
		Store: data, Version: r.version, Password: r.secret, ACLFile: string(r.aclFile), Insecure: bool(r.insecure),
		Settings: r.filterValues(), Stop: r.stop, Metrics: r.metrics,
		Limits: server.Limits{
			Clients: int(r.maxClients.value), Each: int(r.eachClient.value), HTTP: int(r.httpClients.value), Idle: time.Duration(r.timeout), Output: int(min(uint64(r.maxOutput), math.MaxInt)), Command: limits,
		},
		Events: func(level server.Level, message string, pairs ...any) {
			r.logger.Log(context.Background(), slog.Level(level), message, pairs...)
		},
	}
}
