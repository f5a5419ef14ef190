package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// otherNames are words that people try for a subcommand, with its name.
var otherNames = map[string]string{
	"dedup": "uniq", "dedupe": "uniq", "distinct": "uniq", "unique": "uniq",
	"grep": "filter", "match": "filter", "select": "filter",
	"ask": "check", "contains": "check", "exists": "check", "has": "check", "query": "check", "test": "check",
	"create": "build", "make": "build", "new": "build",
	"del": "remove", "delete": "remove", "rm": "remove",
	"join": "merge", "union": "merge", "diff": "compare",
	"inspect": "info", "show": "info", "stat": "info", "stats": "info",
	"calc": "plan", "estimate": "plan", "size": "plan",
	"daemon": "serve", "run": "serve", "server": "serve", "start": "serve",
}

// unknownCommand is the error for a word that is not a subcommand, with what may be meant.
func unknownCommand(root *cobra.Command, word string) error {
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	meant := near(word, names)
	if name, ok := otherNames[word]; ok {
		meant = []string{name}
	}
	if info, err := os.Stat(word); err == nil && info.Mode().IsRegular() && len(meant) == 0 {
		return usagef("%q is not a subcommand; to remove duplicate lines from the file: seen uniq %s", word, word)
	}
	return usagef("%q is not a subcommand%s", word, didYouMean(meant))
}

// didYouMean is the end of an error about a word that is not known.
func didYouMean(meant []string) string {
	if len(meant) == 0 {
		return ""
	}
	return "; did you mean " + orList(meant) + "?"
}

// orList joins words as in "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// unknownOption is the error for an option that cmd does not have, with what may be meant.
func unknownOption(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" {
			names = append(names, f.Name)
		}
	})
	dashed := func(names []string) (options []string) {
		for _, name := range names {
			options = append(options, "--"+name)
		}
		return options
	}
	name, group := unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()
	if group == "" {
		if name == "json" && cmd.Flags().Lookup("stats") != nil {
			return usagef("unknown option --json%s", didYouMean([]string{"--stats=json"}))
		}
		if owners := commandsWith(cmd.Root(), name); len(owners) > 0 {
			return usagef("unknown option --%s; %s has it", name, orList(owners))
		}
		return usagef("unknown option --%s%s", name, didYouMean(dashed(near(name, names))))
	}
	name = group[:1]
	word, _, _ := strings.Cut(group, "=")
	if len(word) > 2 {
		if meant := near(word, names); len(meant) > 0 {
			return usagef("unknown option -%s%s", word, didYouMean(dashed(meant)))
		}
	}
	for _, other := range []string{strings.ToLower(name), strings.ToUpper(name)} {
		if f := cmd.Flags().ShorthandLookup(other); f != nil && !f.Hidden {
			return usagef("unknown option -%s; did you mean -%s (--%s)?", name, other, f.Name)
		}
	}
	return usagef("unknown option -%s", name)
}

// commandsWith returns the first subcommands that have an option.
func commandsWith(root *cobra.Command, option string) (owners []string) {
	const enough = 3
	for _, cmd := range root.Commands() {
		f := cmd.Flags().Lookup(option)
		if f != nil && !f.Hidden && cmd.IsAvailableCommand() && cmd.Name() != keysTopic && len(owners) < enough {
			owners = append(owners, `"`+cmd.CommandPath()+`"`)
		}
	}
	return owners
}

// near returns the words that are most like one that was written: those that begin with
// it, or else the nearest ones by the number of slips of the fingers.
func near(word string, words []string) []string {
	const most, least = 3, 2 // words returned; letters of an abbreviation
	begin := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, word) })
	if len(word) >= least && len(begin) > 0 && len(begin) <= most {
		return begin
	}
	best := 1 + len(word)/5 // more slips than that are another word
	var nearest []string
	for _, w := range words {
		switch d := slips(word, w); {
		case d < best:
			best, nearest = d, []string{w}
		case d == best:
			nearest = append(nearest, w)
		}
	}
	return nearest[:min(len(nearest), most)]
}

// slips returns how many letters have to be inserted, left out, replaced, or exchanged with
// their neighbour to make b of a: the optimal string alignment distance.
func slips(a, b string) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			now[j] = min(replaced, last[j]+1, now[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
