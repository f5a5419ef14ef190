// Package cli is the command line of seen: flags, messages, exit codes, and a
// file for each subcommand. What the subcommands do is done in the packages
// below it.
//
// Data goes to standard output; everything else, such as notes, progress and
// statistics, goes to standard error with "seen SUBCOMMAND:" before it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/stream"
	"seen/keys"
)

// Exit codes, for scripts. An interrupted run exits with 128 plus the number of the
// signal, as in shells.
const (
	ExitOK    = 0
	ExitNo    = 1 // the answer is no: a key is absent, nothing was selected
	ExitError = 2 // wrong usage, bad input, failed writes
	ExitLimit = 3 // a limit was reached
)

// Env is the environment of a run of the command.
type Env struct {
	Args    []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string // NAME=value, as os.Environ has it
}

// exitError has an exit code other than that of an ordinary error. With a nil err,
// nothing is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// errNo ends a command whose answer is no.
var errNo = &exitError{code: ExitNo}

// usageError is a mistake in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// Run runs the command and returns its exit code. It takes over the signals
// SIGINT, SIGTERM, SIGPIPE and SIGUSR1 of the process while it runs.
func Run(ctx context.Context, env Env) int {
	// A write into a closed pipe must return EPIPE instead of ending the process, so
	// that a state can be saved.
	signal.Ignore(syscall.SIGPIPE)
	// SIGUSR1 must not end the process, even before there is a status to print.
	early := make(chan os.Signal, 1)
	notifyStatus(early)
	defer signal.Stop(early)
	if os.Getenv("GOGC") == "" {
		tightenHeap()
	}
	caller := ctx
	ctx, stop := withSignals(ctx)
	defer stop()

	a := &app{env: env, ctx: ctx, caller: caller, releaseSignals: stop}
	root := a.command()
	root.SetArgs(env.Args)
	help := &firstError{to: env.Stdout}
	root.SetOut(help)
	describeDefaults(root)
	refuseUnknownTopics(root)
	if len(env.Args) > 0 && env.Args[0] == cobra.ShellCompRequestCmd {
		plainUsages(root)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = help.err
	}
	return a.finish(cmd, err)
}

// firstError is a writer that keeps its first error, for callers that ignore errors,
// as those that print help do.
type firstError struct {
	to  io.Writer
	err error
}

func (w *firstError) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// tightenHeap keeps the heap of a large set small: nearly all of it is fingerprints
// without pointers, so that collecting costs little, and garbage would cost as much
// memory again. It takes effect at the first collection. From the start, it would cost
// a run on a few lines a fifth of its time.
func tightenHeap() {
	const percent = 20
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, percent)
}

// app is one run of the command.
type app struct {
	env Env
	ctx context.Context // ended by signals

	stdinName string // name of standard input in messages, if it is not the real one

	// For commands that handle signals themselves.
	caller         context.Context // that of Run
	releaseSignals func()          // ends ctx
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:                   "seen COMMAND [ARGUMENT]...",
		DisableFlagsInUseLine: true,
		Short:                 "tell which lines and keys were seen before",
		Long: `seen tells whether a key was seen before, fast and in little memory. It removes
duplicate lines in one pass, selects lines by sets of keys, and builds, merges and
inspects Bloom filters.

A set is what keys are looked up in: a text file with one key per line, or a filter
file. A filter file is a set in a few bits per key; it may say yes to a key that it does
not have, at a rate that you choose, and never no to one that it has. A state is the
memory of "seen uniq" from one run to the next.`,
		Example: `  seen uniq access.log                    print each line the first time it occurs
  seen uniq --state crawl.seen urls.txt   remember lines across runs
  seen filter -v --set blocked.txt mail   print the lines that are not in the set
  seen build -o known.seen keys.txt       make a filter from a list of keys
  seen check known.seen some-key          maybe, or no
  seen plan -n 1G -p 1e-6                 compute what a filter costs`,
		Version:       Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "version" {
				_, err := fmt.Fprintf(a.env.Stdout, "%s version %s\n", cmd.Name(), Version())
				return err
			}
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			cmd.SetOut(a.env.Stderr)
			_ = cmd.Help() // there is no place to report that standard error failed
			return &exitError{code: ExitError}
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetIn(a.env.Stdin)
	root.SetErr(a.env.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{sayFlagError(cmd, err)} })
	root.SetHelpFunc(printHelp)
	addHelp(root)
	a.addSubcommands(root)
	return root
}

// init has the help list commands by task. The setting is one for the process.
func init() { cobra.EnableCommandSorting = false }

// describeDefaults replaces the descriptions of what cobra adds itself.
func describeDefaults(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = "print the version"
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Short, cmd.GroupID = "print the help of a command", "more"
		case "completion":
			cmd.Short, cmd.GroupID = "print a completion script for a shell", "more"
			cmd.Args = cobra.ArbitraryArgs
			cmd.RunE = func(_ *cobra.Command, args []string) error { return unknownShell(cmd, args) }
		}
	}
}

// unknownShell is the error for "seen completion" without a shell that it knows.
func unknownShell(completion *cobra.Command, args []string) error {
	var shells []string
	for _, shell := range completion.Commands() {
		shells = append(shells, shell.Name())
	}
	if len(args) == 0 {
		return usagef("name the shell: %s", orList(shells))
	}
	return usagef("there is no completion script for %q; known are %s", args[0], strings.Join(shells, ", "))
}

// plainUsages takes the quotes of the names of values out of the descriptions of flags, for
// completion, which prints them as they are.
func plainUsages(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") })
	for _, sub := range cmd.Commands() {
		plainUsages(sub)
	}
}

// refuseUnknownTopics makes "seen help X" an error if X is not a subcommand; without
// this, it prints the help of seen itself.
func refuseUnknownTopics(root *cobra.Command) {
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	print := help.Run
	help.Run, help.RunE = nil, func(cmd *cobra.Command, args []string) error {
		if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			return unknownCommand(root, strings.Join(args, " "))
		}
		print(cmd, args)
		return nil
	}
}

// finish prints err and returns the exit code.
func (a *app) finish(cmd *cobra.Command, err error) int {
	if err == nil {
		return ExitOK
	}
	if stream.IsBrokenPipe(err) {
		return ExitOK // the reader of our output has closed it
	}
	var coded *exitError
	code := ExitError
	if errors.As(err, &coded) {
		if code = coded.code; coded.err == nil {
			return code
		}
	}
	var sig *signalError
	if errors.As(err, &sig) || errors.Is(err, context.Canceled) && errors.As(context.Cause(a.ctx), &sig) {
		code = 128 + int(sig.signal)
		err = fmt.Errorf("%w", sig)
	}
	a.sayError(cmd, err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(a.env.Stderr, "See \"%s --help\".\n", cmd.CommandPath())
	}
	return code
}

// say prints one message to standard error.
func (a *app) say(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(a.env.Stderr, "%s: %s\n", cmd.CommandPath(), strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// sayError prints an error, and for some of them what to do. Libraries do not know
// options and commands, so this is the place for it.
func (a *app) sayError(cmd *cobra.Command, err error) {
	a.say(cmd, "%s%s", sayPath(err), formatHint(err))
	if errors.Is(err, bloomfile.ErrDirty) && !errors.Is(err, bloomfile.ErrLocked) {
		fmt.Fprintln(a.env.Stderr, "Accept it as it is with \"seen verify --rebuild\"; see \"seen verify --help\".")
	}
	var record *stream.RecordError
	if errors.As(err, &record) && record.NoKey {
		key := cmd.Flags().Lookup("key")
		if (errors.Is(err, keys.ErrEmail) || errors.Is(err, keys.ErrURL)) && key != nil && !key.Changed && record.File != argumentsName {
			fmt.Fprintln(a.env.Stderr, "If the file has columns, choose one, as in -k csv:NAME.")
		}
		fmt.Fprintln(a.env.Stderr, "Leave such lines out with --missing drop; \"seen help keys\" has other ways.")
	}
	var secret *bloom.SecretError
	if errors.As(err, &secret) {
		fmt.Fprintln(a.env.Stderr, "Give the file with the secret: --secret FILE.")
	}
}

// sayPath returns the text of an error without the system call that failed on a path.
func sayPath(err error) string {
	text := err.Error()
	var path *fs.PathError
	if !errors.As(err, &path) {
		return text
	}
	own := path.Path + ": " + path.Err.Error()
	switch {
	case path.Op == "lock" && errors.Is(path.Err, fs.ErrNotExist):
		own = path.Path + ": the folder does not exist"
	case path.Op != "stat" && path.Op != "lstat" && path.Op != "lock" && path.Op != "open":
		return text
	}
	return strings.Replace(text, path.Error(), own, 1)
}

// stamp is the version set by the linker for release builds.
var stamp string

// Version returns the version of this build: the one it was stamped with, or the
// revision it was built from.
func Version() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (version == "" || version == "(devel)") {
			version = "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return version
}
