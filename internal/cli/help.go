package cli

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

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

// helpWidth is the width of the help in columns: that of a terminal window that was not
// made wider.
const helpWidth = 80

// mostExamples is how many examples a short help has at most.
const mostExamples = 4

// commonFlags is the annotation of a command with the names of the flags that most
// people need, which -h lists; --help lists all.
const commonFlags = "seen_common"

// common returns the annotation of a command with common flags.
func common(names string) map[string]string { return map[string]string{commonFlags: names} }

// shortHelpFlag is -h: it prints a short help.
type shortHelpFlag struct{ cmd *cobra.Command }

const shortHelp = "short-help"

// Set has cobra print the help, for which it looks at --help.
func (f shortHelpFlag) Set(string) error { return f.cmd.Flags().Set("help", "true") }
func (f shortHelpFlag) String() string   { return "" }
func (f shortHelpFlag) Type() string     { return "bool" }

// addHelp gives cmd the flags --help and -h.
func addHelp(cmd *cobra.Command) {
	cmd.Flags().Bool("help", false, "print the whole help")
	f := cmd.Flags().VarPF(shortHelpFlag{cmd}, shortHelp, "h", "print a short help")
	f.NoOptDefVal, f.Hidden = "true", true
}

// printHelp prints the help of a command: what it does, examples, its own flags, and the
// shared ones.
func printHelp(cmd *cobra.Command, _ []string) {
	w := new(strings.Builder)
	isShort := cmd.Flags().Changed(shortHelp)
	if isShort {
		fmt.Fprintf(w, "%s%s.\n", strings.ToUpper(cmd.Short[:1]), cmd.Short[1:])
	} else {
		w.WriteString(reflow(cmp.Or(cmd.Long, cmd.Short)))
	}
	fmt.Fprintf(w, "\nUsage:\n  %s\n", strings.Replace(cmd.UseLine(), "[flags]", "[OPTION]...", 1))
	for _, group := range cmd.Groups() {
		fmt.Fprintf(w, "\n%s:\n", group.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID {
				fmt.Fprintf(w, "  %-11s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	if cmd.HasExample() && !(isShort && cmd.HasSubCommands()) {
		text := cmd.Example
		if lines := strings.SplitAfter(text, "\n"); isShort && len(lines) > mostExamples {
			text = strings.Join(lines[:mostExamples], "")
		}
		fmt.Fprintf(w, "\nExamples:\n%s", examples(text))
	}
	printFlags(w, cmd, isShort)
	switch {
	case cmd.HasSubCommands():
		fmt.Fprintf(w, "\nSee \"%s COMMAND -h\" for the usual options, --help for all.\n", cmd.CommandPath())
	case isShort:
		fmt.Fprintf(w, "\nSee \"%s --help\" for all options and explanations.\n", cmd.CommandPath())
	}
	_, _ = io.WriteString(cmd.OutOrStdout(), w.String()) // Run reports it
}

// printFlags prints the flags of a command: the common ones, or its own and then the
// shared ones.
func printFlags(w *strings.Builder, cmd *cobra.Command, onlyCommon bool) {
	own, shared := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags, shared.SortFlags = false, false
	cmd.Flags().SortFlags = false
	names := strings.Fields(cmd.Annotations[commonFlags])
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Name == "help" || f.Hidden:
		case onlyCommon && names != nil:
			if slices.Contains(names, f.Name) {
				brief := *f
				if text, _, _ := strings.Cut(f.Usage, "; "); strings.Count(text, "`") == strings.Count(f.Usage, "`") {
					brief.Usage = text // with the name of the value
				}
				own.AddFlag(&brief)
			}
		case f.Annotations[sharedFlag] != nil:
			shared.AddFlag(f)
		default:
			own.AddFlag(f)
		}
	})
	if own.HasAvailableFlags() {
		fmt.Fprintf(w, "\nOptions:\n%s", own.FlagUsagesWrapped(helpWidth))
	}
	switch {
	case !shared.HasAvailableFlags():
	case cmd.Name() == keysTopic:
		fmt.Fprintf(w, "\nOptions:\n%s", shared.FlagUsagesWrapped(helpWidth))
	case !onlyCommon:
		fmt.Fprintf(w, "\nOptions about records and their keys, see \"seen help keys\":\n%s", short(shared))
	}
}

// reflow breaks the lines of paragraphs anew, within the width of the help. Lines that
// begin with a blank stay as they are.
func reflow(text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n\n") {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		if strings.Contains("\n"+paragraph, "\n ") {
			b.WriteString(paragraph + "\n")
			continue
		}
		for _, line := range wrap(paragraph, helpWidth) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// wrap breaks text into lines of at most width columns, if its words allow that.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// examples sets commands and what is said about them in two columns. A command that is
// too long for its column has the text below it.
func examples(text string) string {
	const most = 40 // columns of a command, with two blanks at both sides
	var all [][2]string
	column := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		command, about := line, ""
		if gap := exampleGap.FindStringIndex(line); gap != nil {
			command, about = line[:gap[0]], line[gap[1]:]
		}
		all = append(all, [2]string{command, about})
		if n := utf8.RuneCountInString(command) + 4; n <= most && about != "" {
			column = max(column, n)
		}
	}
	column = cmp.Or(column, 6)
	var b strings.Builder
	for _, e := range all {
		b.WriteString("  " + e[0])
		at := utf8.RuneCountInString(e[0]) + 2
		if e[1] != "" {
			for i, line := range wrap(e[1], helpWidth-column) {
				if i > 0 || at+2 > column {
					b.WriteString("\n")
					at = 0
				}
				b.WriteString(strings.Repeat(" ", column-at) + line)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// exampleGap is between a command and what is said about it.
var exampleGap = regexp.MustCompile(` {2,}`)

// keysTopic is the help topic that explains the shared flags.
const keysTopic = "keys"

// short lists flags by their names alone.
func short(flags *pflag.FlagSet) string {
	var b strings.Builder
	line := ""
	flags.VisitAll(func(f *pflag.Flag) {
		name := "  --" + f.Name
		if f.Shorthand != "" {
			name = "  -" + f.Shorthand
		}
		if value, _ := pflag.UnquoteUsage(f); value != "" {
			name += " " + value
		}
		if len(line)+len(name) > helpWidth {
			b.WriteString(line + "\n")
			line = ""
		}
		line += name
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
