package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"seen/internal/server"
)

// serveFlags are the flags of "seen serve" that are no settings.
type serveFlags struct {
	config string
	check  bool
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	s, all := newServeSettings()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "answer Redis clients: filters that are kept on disk",
		Long: `Serve Bloom, cuckoo, count-min and top-k filters to Redis clients (BF.ADD and the
like, see docs/COMMANDS.md), and to others by HTTP. What was acknowledged is on disk.

http://127.0.0.1:6390/ in a browser shows the filters, fills and asks them, and plans
new ones, for who has a user and a password of the server; --http gives another address.

Each option without the two dashes is also a key of the file that --config names
(TOML: addr = "127.0.0.1:6380"), and with SEEN_ before it, in capitals and with
underscores, a variable of the environment: SEEN_MAX_MEMORY=4GiB. An option
outweighs the environment, and that the file.

SIGTERM and SIGINT end the server after what is running; a second one ends it at
once. SIGHUP reloads the settings file, the password, the users and the certificates;
if one of them is invalid, nothing changes. Settings other than those for the password
and TLS wait for the next start.`,
		Example: `  seen serve                                  on this machine only, data in ./seen-data
  seen serve --data /var/lib/seen --max-memory 8GiB
  seen serve --config /etc/seen.toml --check-config
  seen serve --addr :6380 --password-file /etc/seen.password`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd, &f, s, all) },
	}
	cmd.Flags().StringVar(&f.config, "config", "", "read settings from `FILE` (TOML); also "+configVariable)
	cmd.Flags().BoolVar(&f.check, "check-config", false, "print the settings as they are in effect, and do not serve; exit code 2 if they are wrong")
	all.register(cmd)
	return cmd
}

func (a *app) serve(cmd *cobra.Command, f *serveFlags, s *serveSettings, all settings) error {
	if f.config == "" {
		f.config = variable(a.env.Environ, configVariable)
	}
	load := func(s *serveSettings, all settings) (*serveConfig, settings, error) {
		if err := all.load(cmd, f.config, a.env.Environ); err != nil {
			return nil, nil, err
		}
		c, err := s.check()
		return c, all, err
	}
	c, _, err := load(s, all)
	if err != nil {
		return err
	}
	if f.check {
		return all.print(a.env.Stdout)
	}
	if variable(a.env.Environ, "GOGC") == "" {
		// Filters lie outside the heap; what is on it are buffers, of which there are
		// few, and collecting them all the time would cost more than they do.
		debug.SetGCPercent(100)
	}
	c.logger = a.logger(c)
	for _, warning := range c.warnings() {
		c.logger.Warn(warning)
	}
	r := &serving{
		serveConfig: c, environ: a.env.Environ, metrics: server.NewMetrics(Version()), started: all.values(),
		reread: func() (*serveConfig, settings, error) { return load(newServeSettings()) },
	}
	err = r.run(a.takeSignals(r))
	if err != nil {
		c.logger.Error("ended", "error", err)
		return &exitError{code: ExitError}
	}
	return nil
}

// variable returns the value of a variable of the environment, "" if there is
// none.
func variable(environ []string, name string) string {
	for _, assignment := range environ {
		if text, ok := strings.CutPrefix(assignment, name+"="); ok {
			return text
		}
	}
	return ""
}

// logger returns the log of the server.
func (a *app) logger(c *serveConfig) *slog.Logger {
	var level slog.Level
	// The words of the setting are all known to slog.
	_ = level.UnmarshalText([]byte(c.logLevel.Value))
	options := &slog.HandlerOptions{Level: level}
	if c.log.Value == "json" {
		return slog.New(slog.NewJSONHandler(a.env.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(a.env.Stderr, options))
}

// takeSignals returns a context that SIGTERM, SIGINT or the end of the caller's
// context ends. A second signal ends the process at once: what was acknowledged is
// on disk whatever happens. SIGHUP makes r read its files again, under nohup too:
// it does not end the server, which is all that nohup is to prevent.
func (a *app) takeSignals(r *serving) context.Context {
	ctx, cancel := context.WithCancelCause(a.caller)
	if early := context.Cause(a.ctx); early != nil {
		cancel(early)
	}
	ch := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if s == syscall.SIGHUP || !signal.Ignored(s) {
			signal.Notify(ch, s)
		}
	}
	a.releaseSignals()
	go func() {
		for s := range ch {
			switch {
			case s == syscall.SIGHUP:
				r.reload()
			case ctx.Err() != nil:
				r.logger.Warn("ended at once", "signal", s.String())
				os.Exit(128 + int(s.(syscall.Signal)))
			default:
				cancel(&signalError{s.(syscall.Signal)})
			}
		}
	}()
	r.ended = func() {
		signal.Stop(ch)
		close(ch)
		cancel(nil)
	}
	r.stop = func() { cancel(errShutdown) }
	return ctx
}

// errShutdown is the cause of an end that a client has asked for.
var errShutdown = errors.New("SHUTDOWN")
