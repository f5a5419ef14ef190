package cli

import (
	"github.com/spf13/cobra"

	"seen/internal/cli/flagvalue"
)

// wordFlags are the flags whose value is not a file. For other flags, shells complete
// file names.
var wordFlags = []string{
	"addr", "bits", "capacity", "check-chars", "checkpoint", "cluster", "counter-bits", "delimiter", "email-keep", "error-rate", "field-separator",
	"jobs", "keep", "key", "lines", "memory", "method", "missing", "name", "nth", "number", "on-full", "precision", "probes", "redis", "seed", "server", "skip-chars",
	"skip-fields", "slice", "stats", "time-key", "timeout", "top", "type", "undecided", "url-drop", "url-keep", "user", "wait", "window",
	"format", "key-encoding", "must-contain", "to", // of filters of other systems
	"count-error", "recall", "share", "skew", "topk", // of plan --topk
	"late", "spill-max",
}

// completeFlags tells shells how to complete the values of flags: with the words of a
// choice, and without file names if the value is not a file.
func completeFlags(cmd *cobra.Command) {
	for _, name := range wordFlags {
		f := cmd.Flags().Lookup(name)
		if f == nil || cmd.Name() == "plan" && name == "type" || cmd.Name() == "filter" && name == "keep" {
			continue
		}
		var choices []string
		if c, ok := f.Value.(*flagvalue.Choice); ok {
			choices = c.Words()
		}
		// It fails only for flags that do not exist or have a function already.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	}
}

// filesUpTo completes file names for the first n arguments only.
func filesUpTo(n int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) < n {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}
