package cli

import (
	"time"

	"github.com/spf13/cobra"

	"seen/internal/cli/flagvalue"
	"seen/internal/planner"
)

// uniqFlags are the flags of "seen uniq".
type uniqFlags struct {
	records  recordFlags
	hashing  hashFlags
	fleet    fleetFlags
	capacity flagvalue.Count
	rate     flagvalue.Rate
	memory   flagvalue.Size
	exact    bool
	onFull   flagvalue.Choice

	repeated bool
	nth      int
	mark     bool
	buffered bool

	window    flagvalue.Span
	noRefresh bool
	timeKey   string

	state      string
	checkpoint flagvalue.Duration
	output     string
	undecided  flagvalue.Choice
	stats      flagvalue.Choice
}

// Defaults of options.
const (
	defaultRate     = planner.DefaultRate
	defaultMemory   = 512 << 20
	leastMemory     = 4096                    // of -m
	defaultCapacity = planner.DefaultCapacity // of the first layer without -n
)

func (a *app) uniqCommand() *cobra.Command {
	var u uniqFlags
	cmd := &cobra.Command{
		Use:         "uniq [FILE...]",
		Short:       "print each line the first time it occurs",
		Annotations: common("capacity error-rate memory repeated nth mark window state output stats redis server name key field-separator ignore-case email url line-buffered"),
		Long: `Print each line the first time it occurs, in input order, without sorting.

With neither -n nor -p, the result is exact until --memory is used up. Then a filter
takes over, and a note says so. A filter drops a new line by error with a probability
of at most -p. With -n or -p, a filter is used from the start.

FILE may be compressed: gzip, zstd, xz, bzip2 or lz4. Each run hashes lines with a
random key, so that no one can construct a line that hides another. --state keeps the
key.

With --redis, many machines share a filter in Redis or Valkey: of equal lines in all
their inputs, one is printed. -n creates the filter if it does not exist. With
--server, the filter is in a "seen serve". In Redis, the hash is public unless
--secret is given.`,
		Example: `  seen uniq access.log > once.log                like awk '!s[$0]++', in a fraction of the memory
  seen uniq -n 2G -p 1e-6 urls-*.gz              2 billion distinct lines, 1 in a million wrongly dropped
  seen uniq -k json:/user/id events.ndjson       one line for each user
  seen uniq --state crawl.seen new.txt           the lines that no earlier run has printed
  seen uniq --url --url-drop-tracking urls.txt   each page once, however its URL is written
  tail -f log | seen uniq --window 1h            nothing twice within an hour
  seen uniq -d mail.txt                          only the repetitions
  seen uniq --redis redis://db1 --name crawl -n 1G urls    the lines that no machine of the fleet has printed`,
		RunE: func(cmd *cobra.Command, files []string) error { return a.uniq(cmd, &u, files) },
	}
	f := cmd.Flags()
	f.VarP(&u.capacity, "capacity", "n", "size for N distinct lines: use a filter from the start, which grows past N")
	f.VarP(&u.rate, "error-rate", "p", "use a filter from the start, with this error rate (default 1e-6 where a filter is used)")
	u.memory = defaultMemory
	f.VarP(&u.memory, "memory", "m", "exact up to this size, then a filter, which grows past it unless --on-full says otherwise; with -n: the largest size that the filter may start with")
	f.BoolVar(&u.exact, "exact", false, "never use a filter, whatever the memory; compare 64-bit fingerprints")
	u.onFull = flagvalue.OneOf("grow", "grow", "stop", "warn", "rotate")
	f.Var(&u.onFull, "on-full", "what to do when the filter is full: grow it, stop (exit code 3), warn and go on, or rotate: forget the oldest lines")
	f.BoolVarP(&u.repeated, "repeated", "d", false, "print every occurrence after the first instead")
	f.IntVar(&u.nth, "nth", 1, "print only the `N`th occurrence; 2: each repeated line once")
	f.BoolVar(&u.mark, "mark", false, `print every line, with "new\t" or "old\t" before it`)
	f.BoolVar(&u.buffered, "line-buffered", false, "write every line at once, not only when the input pauses for 0.1 s")
	f.Var(&u.window, "window", "forget lines after SPAN: 7d, 12h (time), 10M (lines); exact up to 63 lines, otherwise up to a seventh later; with --redis: a time only, and needs -n")
	f.BoolVar(&u.noRefresh, "no-refresh", false, "with --window: count from the first occurrence, not from the last")
	f.StringVar(&u.timeKey, "time-key", "", "with --window: take the time from the line, `SPEC` as for -k")
	f.StringVarP(&u.state, "state", "s", "", "remember lines across runs in `FILE`")
	u.checkpoint = flagvalue.Duration(30 * time.Second)
	f.Var(&u.checkpoint, "checkpoint", "with --state: how often to save it")
	f.StringVarP(&u.output, "output", "o", "", "write to `FILE`, which is replaced as a whole at the end")
	u.stats = flagvalue.OneOf("", "text", "json")
	f.Var(&u.stats, "stats", "report lines, kept, dropped, expected wrong drops, memory and speed at the end")
	f.Lookup("stats").NoOptDefVal = "text"
	u.undecided = flagvalue.OneOf("stop", "stop", "keep")
	f.Var(&u.undecided, "undecided", "with --redis and --server: lines that got no answer are printed as new; then stop, or keep going")
	u.records.register(cmd)
	u.hashing.registerPrivate(cmd)
	u.fleet.register(cmd, &u.hashing, true)
	return cmd
}

// check refuses flags that contradict each other.
func (u *uniqFlags) check(cmd *cobra.Command) error {
	if err := u.checkFleet(cmd); err != nil {
		return err
	}
	set := cmd.Flags().Changed
	modes := 0
	for _, name := range []string{"repeated", "nth", "mark"} {
		if set(name) {
			modes++
		}
	}
	switch {
	case modes > 1:
		return usagef("give only one of --repeated, --nth and --mark")
	case u.nth < 1 || u.nth > maxNth:
		return usagef("--nth %d is outside 1 to %d", u.nth, maxNth)
	case u.exact && (set("capacity") || set("error-rate") || set("memory") || set("on-full") || u.window.IsSet()):
		return usagef("--exact cannot be combined with -n, -p, -m, --on-full or --window")
	case u.window.IsSet() && (set("memory") || set("on-full")):
		return usagef("--window forgets lines by itself; it cannot be combined with -m or --on-full")
	case !u.window.IsSet() && (u.noRefresh || u.timeKey != ""):
		return usagef("--no-refresh and --time-key need --window")
	case u.window.Lines != 0 && u.timeKey != "":
		return usagef("--time-key needs a --window of time, such as 7d")
	case u.state != "" && sameFile(u.state, u.output):
		return usagef("--state and -o are both %s", u.output)
	case cmd.Flags().Changed("memory") && u.memory < leastMemory:
		return usagef("-m %v is too small; give at least %d bytes", &u.memory, leastMemory)
	case u.state == "" && set("checkpoint"):
		return usagef("--checkpoint needs --state")
	case u.output != "" && u.buffered:
		return usagef("--line-buffered has no effect with -o, which is written as a whole at the end")
	}
	return nil
}
