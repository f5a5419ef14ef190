package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// sharedFlag marks the flags about records and keys, which many commands have, so that
// the help can list them separately.
const sharedFlag = "seen_shared"

// share marks all flags that register adds to cmd as shared.
func share(cmd *cobra.Command, register func(f *pflag.FlagSet)) {
	before := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	register(cmd.Flags())
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] {
			_ = cmd.Flags().SetAnnotation(f.Name, sharedFlag, []string{"true"}) // the flag is there
		}
	})
}

// usage prints the help of a command below its description: examples, its own flags,
// and the shared ones.
func usage(cmd *cobra.Command) error {
	w := new(strings.Builder)
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(w, "  %-11s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	own, shared := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags, shared.SortFlags = false, false
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Name == "help" || f.Hidden:
		case f.Annotations[sharedFlag] != nil:
			shared.AddFlag(f)
		default:
			own.AddFlag(f)
		}
	})
	const width = 110
	if own.HasAvailableFlags() {
		fmt.Fprintf(w, "\nOptions:\n%s", own.FlagUsagesWrapped(width))
	}
	if shared.HasAvailableFlags() {
		if cmd.Name() == keysTopic {
			fmt.Fprintf(w, "\nOptions:\n%s", shared.FlagUsagesWrapped(width))
		} else {
			fmt.Fprintf(w, "\nOptions about records and their keys, see \"seen help keys\":\n%s", short(shared))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nSee \"%s COMMAND --help\" for the options of a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), w.String())
	return err
}

// keysTopic is the help topic that explains the shared flags.
const keysTopic = "keys"

// short lists flags by their names alone.
func short(flags *pflag.FlagSet) string {
	var b strings.Builder
	line := " "
	flags.VisitAll(func(f *pflag.Flag) {
		name := " --" + f.Name
		if f.Shorthand != "" {
			name = " -" + f.Shorthand
		}
		if value, _ := pflag.UnquoteUsage(f); value != "" {
			name += " " + value
		}
		if len(line)+len(name) > 100 {
			b.WriteString(line + "\n")
			line = " "
		}
		line += name + " "
	})
	return b.String() + line + "\n"
}

// keysCommand returns the help topic about the shared flags.
func (a *app) keysCommand() *cobra.Command {
	var r recordFlags
	cmd := &cobra.Command{
		Use:   keysTopic,
		Short: "how records and their keys are chosen (help topic)",
		Long: `The options about records and their keys are the same in uniq, filter, build, add, remove,
check and count. They change only the key; a line is printed as it was.`,
		Example: `  -k 2,2               the second field between blanks, without them (sort: -k 2b,2b)
  -t , -k 2,2 -k 5     the second field, and the fifth to the last, of fields between commas
  -k csv:email         the column of that name, with quoting as in RFC 4180
  -k tsv:email         the same between tabs, where quotes are bytes like others
  -k json:user.id      that value of a JSON document on each line; also as json:/user/id
  -k 're:id=([0-9]+)'  what the first group of a regular expression matches
  --url                HTTP://Example.com:80/a/../b%7e#top and http://example.com/b~ are one URL
  --url-sort-query --url-drop-tracking     so are http://a/?y=1&x=2&utm_source=z and http://a/?x=2&y=1
  --url --url-drop 'session*' --url-keep fragment     without session IDs, but with #...
  -k csv:url --url --missing keep          of a column; a value that is not a URL is always printed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	r.register(cmd)
	return cmd
}
