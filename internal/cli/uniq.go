package cli

import (
	"time"

	"github.com/spf13/cobra"

	"seen/internal/cli/flagvalue"
	"seen/internal/planner"
)

// uniqFlags are the flags of "seen uniq".
type uniqFlags struct {
	records   recordFlags
	hashing   hashFlags
	fleet     fleetFlags
	capacity  flagvalue.Count
	rate      flagvalue.Rate
	memory    flagvalue.Size
	exact     bool
	onFull    flagvalue.Choice
	spilling  spillFlags
	lateLines flagvalue.Choice

	groupFlags
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
		Annotations: common("capacity error-rate memory count top unique repeated all-repeated keep window state output stats redis server name key field-separator ignore-case email url line-buffered"),
		Long: `Print each line the first time it occurs, in input order, without sorting.

The result is exact, whatever the size of the input. When --memory is used up, the run
goes on with temporary files in --spill DIR, about 10 bytes for each distinct line and 16
for each line that cannot be decided at once. Some new lines are then only found to be
new at the end of the input: they are printed there, in their order (--late), or by a
pause of a pipe or terminal. With -o FILE all lines are in their places. To find the text
of such lines, files are read once more; lines of a pipe are kept in a temporary file.
The files have no names and vanish with the run. /tmp is in memory on some systems.

With -n or -p, a filter is used from the start: it takes less time and no disk, and drops
a new line by error with a probability of at most -p. With --state, a filter takes over
when --memory is used up, and a note says so.

-c, -d, -D and -u are those of uniq(1), without sorting: they look at all lines that are
equal, not only at neighbours. The order is that of the input. With --keep last and
these, the input is read twice, or kept in a temporary file if it is a pipe; the output
comes at the end. -d of whole lines prints a line when it occurs a second time. With
keys (-k and the like) it prints the first line of each, at the end; with a filter, the
second. These modes, --after-first, --nth and --mark are exact at any size: past
--memory they go on in temporary files. Only with -n, -p, --state, --window, --on-full
(other than spill), --redis or --server does a filter answer.

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
  seen uniq -c access.log                        each line with the number of its occurrences
  seen uniq -c --top 20 -k 1,1 access.log        the 20 most frequent values of the first field
  seen uniq --redis redis://db1 --name crawl -n 1G urls    the lines that no machine of the fleet has printed`,
		RunE: func(cmd *cobra.Command, files []string) error { return a.uniq(cmd, &u, files) },
	}
	f := cmd.Flags()
	f.VarP(&u.capacity, "capacity", "n", "size for N distinct lines: use a filter from the start, which grows past N")
	f.VarP(&u.rate, "error-rate", "p", "use a filter from the start, with this error rate (default 1e-6 where a filter is used)")
	u.memory = defaultMemory
	f.VarP(&u.memory, "memory", "m", "keep this much in memory (the process takes some 40 MiB more), and go on as --on-full says; with -n: the largest size that the filter may start with")
	f.BoolVar(&u.exact, "exact", false, "never use a filter, whatever the memory; compare 64-bit fingerprints")
	u.onFull = flagvalue.OneOf("", "spill", "grow", "stop", "warn", "rotate")
	f.Var(&u.onFull, "on-full", "when memory or the filter is full: spill to disk and stay exact (default without -n, -p, --state and --window), grow a filter (default with them), stop (exit code 3), warn and go on, or rotate: forget the oldest lines")
	u.spilling.register(cmd)
	u.lateLines = flagvalue.OneOf("end", "end", "fail")
	f.Var(&u.lateLines, "late", "lines that are found to be new too late to be in their places: print them at the end, or fail (exit code 3)")
	u.groupFlags.register(cmd)
	f.BoolVar(&u.buffered, "line-buffered", false, "write every line at once, not only when the input pauses for 0.1 s")
	f.Var(&u.window, "window", "forget lines after SPAN: 7d, 12h (time), 10M (lines); exact up to 63 lines, otherwise up to a seventh later; with --redis: a time only, and needs -n")
	f.BoolVar(&u.noRefresh, "no-refresh", false, "with --window: count from the first occurrence, not from the last")
	f.StringVar(&u.timeKey, "time-key", "", "with --window: take the time from the line, `SPEC` as for -k")
	f.StringVar(&u.state, "state", "", "remember lines across runs in `FILE`")
	f.VarP(renamedFlag("-s is not an option: --state FILE keeps lines across runs, --skip-chars N skips the first bytes of lines as -s of uniq(1) does"), "s", "s", "")
	_ = f.MarkHidden("s") // it is there
	u.checkpoint = flagvalue.Duration(30 * time.Second)
	f.Var(&u.checkpoint, "checkpoint", "with --state: how often to save it")
	f.StringVarP(&u.output, "output", "o", "", "write to `FILE`, which is replaced as a whole at the end")
	u.stats = flagvalue.OneOf("", "text", "json")
	f.Var(&u.stats, "stats", "report lines, kept, dropped, false drops, memory, disk and speed at the end")
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
	if err := u.groupFlags.check(cmd, u.filterOption(cmd)); err != nil {
		return err
	}
	switch {
	case u.exact && (set("capacity") || set("error-rate") || set("memory") || set("on-full") || u.window.IsSet()):
		return usagef("--exact takes all the memory that it needs; leave it out with -n, -p, -m, --on-full and --window: without -n, -p and --window the result is exact in any -m")
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
	case u.lateLines.Value == "fail" && u.output != "":
		return usagef("--late fail has no effect with -o, where every line is in its place")
	case u.output != "" && u.buffered:
		return usagef("--line-buffered has no effect with -o, which is written as a whole at the end")
	}
	return u.checkSpill(cmd)
}

// checkSpill decides what happens when the memory is used up, and refuses flags about disk
// where it is not used.
func (u *uniqFlags) checkSpill(cmd *cobra.Command) error {
	set := cmd.Flags().Changed
	why := ""
	switch {
	case u.fleet.isSet():
		why = "a shared filter is not in the memory of this machine"
	case set("capacity") || set("error-rate"):
		why = "-n and -p use a filter from the start; leave them out for exact results"
	case u.exact:
		why = "--exact keeps everything in memory; leave it out"
	case u.window.IsSet():
		why = "--window forgets lines"
	case u.state != "":
		why = "a state keeps what is in memory, not what is on disk"
	}
	if u.isGroupMode() && set("late") {
		return usagef("--late is for the lines that occur first; other modes print lines in order")
	}
	if u.onFull.Value == "" {
		if u.onFull.Value = "grow"; why == "" {
			u.onFull.Value = "spill"
		}
	}
	switch {
	case u.spills() && why != "":
		return usagef("--on-full spill is not possible here: %s", why)
	case u.spills() || !u.spilling.isSet() && !set("late"):
		return nil
	case why == "":
		why = "--on-full " + u.onFull.Value + " does not use the disk"
	}
	return usagef("--spill, --spill-max and --late are not possible here: %s", why)
}
