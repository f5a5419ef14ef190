package cli

import (
	"github.com/spf13/cobra"

	"seen/internal/cli/flagvalue"
	"seen/internal/stream"
)

// groupFlags are the flags of uniq for the modes of groupRun.
type groupFlags struct {
	counts      bool
	top         flagvalue.Count
	unique      bool
	repeated    bool
	allRepeated bool
	afterFirst  bool
	nth         int
	mark        bool
	which       flagvalue.Choice
	listName    string // of --append
}

// maxTop bounds --top, because as many lines are kept in memory and sorted.
const maxTop = 10_000_000

func (u *groupFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVarP(&u.counts, "count", "c", false, "print each line once, after its number of occurrences")
	f.Var(&u.top, "top", "with -c: only the `N` most frequent lines")
	f.BoolVarP(&u.unique, "unique", "u", false, "print the lines that occur once")
	f.BoolVarP(&u.repeated, "repeated", "d", false, "print one of each repeated line")
	f.BoolVarP(&u.allRepeated, "all-repeated", "D", false, "print all repeated lines")
	f.BoolVar(&u.afterFirst, "after-first", false, "print every occurrence after the first")
	f.IntVar(&u.nth, "nth", 1, "print only the `N`th occurrence of each line")
	f.BoolVar(&u.mark, "mark", false, `print every line, with "new\t" or "old\t" before it`)
	u.which = flagvalue.OneOf("first", "first", "last")
	f.Var(&u.which, "keep", "which line of each key to print")
	f.StringVar(&u.listName, "append", "", "add to `FILE` the lines that it does not have, and print them")
}

// modes are the flags that choose what is printed, of which one can be given. Those that need
// no filter can count, and know lines that come later; a filter cannot.
var modes = []struct {
	flag       string
	name       string
	needsExact bool
}{
	{"count", "-c", true}, {"unique", "-u", true}, {"all-repeated", "-D", true}, {"keep", "--keep last", true},
	{"repeated", "-d", false}, {"after-first", "--after-first", false}, {"nth", "--nth", false}, {"mark", "--mark", false},
}

// check refuses modes that contradict each other, or the filter that filter names; "" is no
// filter.
func (u *groupFlags) check(cmd *cobra.Command, filter string) error {
	set := cmd.Flags().Changed
	given := ""
	for _, m := range modes {
		if !set(m.flag) || m.flag == "keep" && u.which.Value == "first" {
			continue
		}
		if given != "" {
			return usagef("%s cannot be combined with %s", given, m.name)
		}
		given = m.name
		if m.needsExact && filter != "" {
			return usagef("%s cannot be combined with %s: a filter does not know how often a line occurs, nor what comes later; without it, %s is exact for input of any size", m.name, filter, m.name)
		}
	}
	switch {
	case u.listName != "" && filter != "":
		return usagef("--append cannot be combined with %s: the lines of FILE are what was seen before", filter)
	case u.listName != "" && given != "":
		return usagef("--append cannot be combined with %s: it prints the lines that FILE does not have", given)
	case u.listName != "" && set("output"):
		return usagef("--append cannot be combined with -o; use > for the lines that are printed")
	case u.nth < 1 || u.nth > maxNth:
		return usagef("--nth %d is outside 1 to %d", u.nth, maxNth)
	case set("top") && !u.counts:
		return usagef("--top needs -c")
	case set("top") && (u.top == 0 || u.top > maxTop):
		return usagef("--top %d is outside 1 to %d", u.top, maxTop)
	}
	return nil
}

// mode returns the mode that the flags choose for records of c, or nil if it is the default
// one: the first line of each key.
func (u *groupFlags) mode(c *stream.Config) *groupMode {
	switch {
	case u.listName != "":
		return firstMode()
	case u.counts && u.top > 0:
		return topMode()
	case u.counts:
		return countMode()
	case u.unique:
		return uniqueMode()
	case u.allRepeated:
		return allRepeatedMode()
	case u.which.Value == "last":
		return lastMode()
	case u.repeated && c.Key == nil && !c.CRLF:
		return nthMode("-d", 2) // the second one is the same as the first
	case u.repeated:
		return repeatedMode()
	case u.afterFirst:
		return afterFirstMode()
	case u.mark:
		return markMode()
	case u.nth > 1:
		return nthMode("--nth", uint64(u.nth))
	}
	return nil
}

// occurrence returns the number of the occurrence that a filter has to find.
func (u *groupFlags) occurrence() int {
	if u.repeated {
		return 2
	}
	return u.nth
}

// filterOption returns the option that asks for a filter, or "".
func (u *uniqFlags) filterOption(cmd *cobra.Command) string {
	for _, o := range []struct{ flag, name string }{
		{"state", "--state"}, {"window", "--window"}, {"capacity", "-n"}, {"error-rate", "-p"},
		{"redis", "--redis"}, {"server", "--server"}, {"on-full", "--on-full " + u.onFull.Value},
	} {
		if f := cmd.Flags().Lookup(o.flag); f != nil && f.Changed && o.name != "--on-full spill" {
			return o.name
		}
	}
	return ""
}

// isGroupMode reports whether the flags choose another mode than the default one.
func (u *groupFlags) isGroupMode() bool { return u.mode(new(stream.Config)) != nil }
