package cli

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seen/internal/cli/daemon"
	"seen/internal/cli/flagvalue"
)

// serveFlags are the flags of "seen serve" that are not settings.
type serveFlags struct {
	config  string
	check   bool
	healthy bool
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	s := daemon.NewSettings()
	cmd := &cobra.Command{
		Use:         "serve",
		Short:       "run a server for Redis clients and browsers",
		Annotations: common("config check-config data addr http unix fsync max-memory password-file acl-file tls-cert tls-key"),
		Long: `Serve Bloom, cuckoo, count-min and top-k filters to Redis clients (BF.ADD and the like,
see docs/COMMANDS.md) and over HTTP. What the server has acknowledged is on disk.

Open http://127.0.0.1:6390/ in a browser to see, fill and query the filters and to plan
new ones, with a user and a password of the server. --http sets another address.

Settings: each option below is also a key in the file that --config names, without the
dashes (TOML: addr = "127.0.0.1:6380"), and a variable of the environment, in capitals
after SEEN_ (SEEN_MAX_MEMORY=4GiB). An option overrides the environment, and the
environment overrides the file.

Signals: SIGTERM and SIGINT end the server when running commands are done; a second one
ends it at once. SIGHUP reloads the settings file, the password, the users and the
certificates; if one of them is invalid, nothing changes. Other settings than those for
the password and TLS take effect at the next start.`,
		Example: `  seen serve                                  only for this machine, data in ./seen-data
  seen serve --data /var/lib/seen --max-memory 8GiB
  seen serve --config /etc/seen.toml --check-config
  seen serve --addr :6380 --password-file /etc/seen.password`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd, &f, s) },
	}
	cmd.Flags().StringVar(&f.config, "config", "", "read settings from `FILE` (TOML); or set "+daemon.ConfigVariable)
	cmd.Flags().BoolVar(&f.check, "check-config", false, "print the settings in effect and exit; the exit code is 2 if they are wrong")
	cmd.Flags().BoolVar(&f.healthy, "check-health", false, "ask the server that runs with these settings on this machine whether it is ready, and exit; the exit code is 1 if it is not")
	for _, one := range s.All() {
		registerSetting(cmd, one)
	}
	return cmd
}

func (a *app) serve(cmd *cobra.Command, f *serveFlags, s *daemon.Settings) error {
	given := map[string][]string{}
	for _, one := range s.All() {
		given[one.Name] = cmd.Flags().Lookup(one.Name).Value.(*settingFlag).texts
	}
	if err := s.Load(daemon.Sources{Flags: given, Environ: a.env.Environ, File: f.config}); err != nil {
		return err
	}
	config, err := s.Check()
	if err != nil {
		return err
	}
	if f.check {
		return s.Print(a.env.Stdout)
	}
	if f.healthy {
		if err := daemon.CheckHealth(a.ctx, config); err != nil {
			return &exitError{ExitNo, err}
		}
		return nil
	}
	if os.Getenv("GOGC") == "" {
		// Undo tightenHeap: filters are outside the heap, and what is on it are a few
		// buffers, which would be collected all the time.
		debug.SetGCPercent(100)
	}
	handOver := func() error {
		early := context.Cause(a.ctx)
		a.releaseSignals()
		return early
	}
	if err := daemon.Run(a.caller, config, daemon.Process{Version: Version(), Log: a.env.Stderr, HandOver: handOver}); err != nil {
		return &exitError{code: ExitError} // it is in the log
	}
	return nil
}

// settingFlag is what the command line says about a setting of the server, which also
// has other sources.
type settingFlag struct {
	setting *daemon.Setting
	texts   []string
}

// Set checks the text by setting the value; loading the settings sets it again.
func (f *settingFlag) Set(text string) error {
	if err := f.setting.Value.Set(text); err != nil {
		return err
	}
	f.texts = append(f.texts, text)
	return nil
}

func (f *settingFlag) String() string {
	if f == nil || f.setting == nil {
		return ""
	}
	return f.setting.Preset
}

func (f *settingFlag) Type() string { return f.setting.Value.Type() }

// registerSetting gives cmd a flag for a setting.
func registerSetting(cmd *cobra.Command, s *daemon.Setting) {
	f := cmd.Flags().VarPF(&settingFlag{setting: s}, s.Name, "", s.Usage)
	if s.Value.Type() == "bool" {
		f.NoOptDefVal = "true"
	}
	// It fails only for flags that do not exist or have a function already.
	_ = cmd.RegisterFlagCompletionFunc(s.Name, settingCompletion(f, s))
}

// settingCompletion tells shells what may follow the flag, by the name of its value in
// the help.
func settingCompletion(f *pflag.Flag, s *daemon.Setting) cobra.CompletionFunc {
	if c, ok := s.Value.(*flagvalue.Choice); ok {
		return cobra.FixedCompletions(c.Words(), cobra.ShellCompDirectiveNoFileComp)
	}
	switch name, _ := pflag.UnquoteUsage(f); name {
	case "FILE", "SOCKET":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case "DIR":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	}
	return cobra.NoFileCompletions
}
