package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/internal/cli/flagvalue"
	"seen/internal/planner"
	"seen/internal/stream"
	"seen/internal/vfs"
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

// What is assumed where the user says nothing.
const (
	defaultRate     = planner.DefaultRate
	defaultMemory   = 512 << 20
	leastMemory     = 4096                    // of -m
	defaultCapacity = planner.DefaultCapacity // first layer of a filter whose -n is not given
)

func (a *app) uniqCommand() *cobra.Command {
	var u uniqFlags
	cmd := &cobra.Command{
		Use:   "uniq [FILE...]",
		Short: "print each line the first time it is seen, in input order",
		Long: `Print each line the first time it is seen, in input order, without sorting.

With neither -n nor -p the answer is exact until --memory is reached; then a
filter takes over, which drops a line wrongly with probability -p at most, and
a note says so. With -n or -p a filter is used from the start. FILE may be
compressed (gzip, zstd, xz, bzip2, lz4). Each run hashes lines with a random
key, so that nobody can make a line that hides another; --state keeps the key.

With --redis a filter in Redis or Valkey remembers for many machines: of equal
lines in all their inputs one is printed, once. -n creates it if there is none.
With --server that filter is in one "seen serve". In Redis the hash is public,
unless --secret is given.`,
		Example: `  seen uniq access.log > once.log                like awk '!s[$0]++', in a fraction of the memory
  seen uniq -n 2G -p 1e-6 urls-*.gz              2 billion distinct lines, 1 in a million wrongly dropped
  seen uniq -k json:/user/id events.ndjson       one line for each user
  seen uniq --state crawl.seen new.txt           what no earlier run has printed
  seen uniq --url --url-drop-tracking urls.txt   each page once, however its URL is written
  tail -f log | seen uniq --line-buffered --window 1h      nothing twice within an hour
  seen uniq -d mail.txt                          only the repetitions
  seen uniq --redis redis://db1 --name crawl -n 1G urls    what no machine of the fleet has printed`,
		RunE: func(cmd *cobra.Command, files []string) error { return a.uniq(cmd, &u, files) },
	}
	f := cmd.Flags()
	f.VarP(&u.capacity, "capacity", "n", "size for N distinct lines: a filter from the start, which grows past N")
	f.VarP(&u.rate, "error-rate", "p", "a filter from the start, with this rate (default 1e-6 where one is used)")
	u.memory = defaultMemory
	f.VarP(&u.memory, "memory", "m", "exact up to this size, then a filter, which grows past it unless --on-full says otherwise; with -n: the largest size that it may begin with")
	f.BoolVar(&u.exact, "exact", false, "never a filter, whatever the memory (64-bit fingerprints)")
	u.onFull = flagvalue.OneOf("grow", "grow", "stop", "warn", "rotate")
	f.Var(&u.onFull, "on-full", "when the filter is full: grow it, stop (exit code 3), go on with a warning, or forget the oldest")
	f.BoolVarP(&u.repeated, "repeated", "d", false, "print every occurrence after the first instead")
	f.IntVar(&u.nth, "nth", 1, "print only the `N`th occurrence; 2: each repeated line once")
	f.BoolVar(&u.mark, "mark", false, `print every line, with "new\t" or "old\t" before it`)
	f.BoolVar(&u.buffered, "line-buffered", false, "write every line as soon as it is known")
	f.Var(&u.window, "window", "forget lines after SPAN: 7d, 12h (time), 10M (lines); exact up to 63 lines, else up to a seventh later")
	f.BoolVar(&u.noRefresh, "no-refresh", false, "with --window: count from the first sight, not from the last")
	f.StringVar(&u.timeKey, "time-key", "", "with --window: take the time from the line, `SPEC` as for -k")
	f.StringVarP(&u.state, "state", "s", "", "remember across runs in `FILE`")
	u.checkpoint = flagvalue.Duration(30 * time.Second)
	f.Var(&u.checkpoint, "checkpoint", "with --state: save it this often")
	f.StringVarP(&u.output, "output", "o", "", "write to `FILE`, which is replaced as a whole at the end")
	u.stats = flagvalue.OneOf("", "text", "json")
	f.Var(&u.stats, "stats", "report lines, kept, dropped, expected wrong drops, memory and speed at the end")
	f.Lookup("stats").NoOptDefVal = "text"
	u.undecided = flagvalue.OneOf("stop", "stop", "keep")
	f.Var(&u.undecided, "undecided", "with --redis and --server: lines for which no answer came are printed as new; then stop, or keep going")
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
		return usagef("--repeated, --nth and --mark exclude each other")
	case u.nth < 1 || u.nth > maxNth:
		return usagef("--nth %d is outside 1 to %d", u.nth, maxNth)
	case u.exact && (set("capacity") || set("error-rate") || set("memory") || set("on-full") || u.window.IsSet()):
		return usagef("--exact does not go with -n, -p, -m, --on-full or --window")
	case u.window.IsSet() && (set("memory") || set("on-full")):
		return usagef("--window forgets by itself; it does not go with -m or --on-full")
	case !u.window.IsSet() && (u.noRefresh || u.timeKey != ""):
		return usagef("--no-refresh and --time-key need --window")
	case u.window.Lines != 0 && u.timeKey != "":
		return usagef("--time-key needs a --window of time, such as 7d")
	case u.state != "" && sameFile(u.state, u.output):
		return usagef("--state and -o are both %s", u.output)
	case cmd.Flags().Changed("memory") && u.memory < leastMemory:
		return usagef("-m %v is too little; give at least %d bytes", &u.memory, leastMemory)
	case u.state == "" && set("checkpoint"):
		return usagef("--checkpoint needs --state")
	case u.output != "" && u.buffered:
		return usagef("--line-buffered has no effect with -o, which appears as a whole at the end")
	}
	return nil
}

// uniq is one run of "seen uniq".
type uniqRun struct {
	*uniqFlags
	app     *app
	cmd     *cobra.Command
	set     bloom.Set
	state   *state
	file    *vfs.Replacement // of -o
	sink    io.Writer
	out     *stream.Writer
	config  stream.Config
	occur   occurrences
	keep    []bool
	started time.Time
	atRisk  uint64 // lines that could have been dropped wrongly
	old     uint64 // lines that were taken for seen
	notes   uniqNotes
	header  bool // a csv header was printed
	broken  bool // the output cannot be written
	torn    bool // the set holds keys whose lines were not decided

	// deciding is held while the set or the output is used; a checkpoint takes it
	// between blocks.
	deciding sync.Mutex
	filled   atomic.Pointer[string] // for the progress line
}

func (a *app) uniq(cmd *cobra.Command, flags *uniqFlags, files []string) (err error) {
	if err := flags.check(cmd); err != nil {
		return err
	}
	if flags.fleet.isSet() {
		return a.uniqFleet(cmd, flags, files)
	}
	u := &uniqRun{uniqFlags: flags, app: a, cmd: cmd, started: time.Now()}
	in, config, err := u.records.open(a, files)
	if err != nil {
		return err
	}
	u.config = config
	if u.timeKey != "" {
		if u.config.Time, err = u.records.timeKey(u.timeKey); err != nil {
			return err
		}
	}
	if err := u.openSet(); err != nil {
		return err
	}
	defer u.state.close()
	if err := u.limit(); err != nil {
		return err
	}
	u.config.Hash = streamHash(u.set.Hash())
	u.occur = occurrences{set: u.set, times: u.timeKey != "", canFill: u.onFull.Value == "stop"}

	u.sink = a.env.Stdout
	if u.output != "" {
		if u.file, err = vfs.Replace(vfs.OS, u.output, vfs.Shared); err != nil {
			return err
		}
		file := u.file
		defer file.Abort() // does nothing once it is committed
		u.sink = file
	}
	u.out = stream.NewWriter(u.sink, stream.WriterOptions{LineBuffered: u.buffered, Counters: u.config.Counters})
	err = u.records.run(a.ctx, a, in, u.config, u.fill, u.block)
	return u.end(err)
}

// openSet loads the state, or makes a new set.
func (u *uniqRun) openSet() (err error) {
	u.state = &state{}
	defer func() {
		if err != nil && u.state != nil {
			u.state.close()
		}
	}()
	if u.uniqFlags.state != "" {
		if u.state, u.set, err = openState(u.uniqFlags.state, time.Duration(u.checkpoint), &u.hashing); err != nil {
			return err
		}
		if u.set != nil {
			return u.checkState()
		}
	}
	hash, err := u.hashing.private()
	if err != nil {
		return err
	}
	if u.set, err = u.newSet(hash); err != nil {
		return err
	}
	if t, ok := u.set.(tagged); ok {
		t.SetTag(u.records.tag())
	}
	return nil
}

// newSet makes the set that the flags ask for.
func (u *uniqRun) newSet(hash bloom.Hash) (bloom.Set, error) {
	changed := u.cmd.Flags().Changed
	rate := float64(u.rate)
	if rate == 0 {
		rate = defaultRate
	}
	capacity := uint64(u.capacity)
	switch {
	case changed("capacity") && capacity == 0:
		return nil, usagef("-n 0: a filter needs room for at least one line")
	case u.exact:
		return bloom.NewAdaptive(bloom.AdaptiveConfig{Hash: hash})
	case u.window.IsSet():
		if capacity == 0 {
			capacity = defaultCapacity
			if u.window.Lines != 0 {
				capacity = min(capacity, u.window.Lines)
			}
		}
		return bloom.NewWindow(bloom.WindowConfig{
			Span: u.window.Time, SpanKeys: u.window.Lines, Capacity: capacity, ErrorRate: rate,
			NoRefresh: u.noRefresh, NoClock: u.timeKey != "", Hash: hash,
		})
	}
	return u.newFilter(capacity, rate, hash)
}

// block decides the records of one block and writes those that are kept.
func (u *uniqRun) block(b *stream.Block) error {
	u.deciding.Lock()
	err := u.decideBlock(b)
	u.deciding.Unlock()
	if err != nil {
		return err
	}
	return u.saveIfDue()
}

func (u *uniqRun) decideBlock(b *stream.Block) error {
	if b.Header {
		return u.writeHeader(b)
	}
	u.keep = resize(u.keep, b.Len())
	var full error
	n := b.Len()
	for lo, hi := range b.Keyed() {
		done, err := u.decide(b, lo, hi)
		if err != nil {
			n, full = lo+done, err
			u.torn = errors.Is(err, errTorn)
			break
		}
	}
	for _, i := range b.Missing {
		u.keep[i] = u.records.keepMissing()
	}
	clear(u.keep[n:])
	if err := u.write(b, n); err != nil {
		return err
	}
	if full != nil {
		return full
	}
	u.note()
	return nil
}

// decide fills in keep for the records from lo to hi, and returns how many it
// has decided: all, unless there is an error.
func (u *uniqRun) decide(b *stream.Block, lo, hi int) (int, error) {
	var times []int64
	if b.Times != nil {
		times = b.Times[lo:hi]
	}
	keep := u.keep[lo:hi]
	n, err := u.occur.nth(u.nth, keep, b.Hashes[lo:hi], times)
	fresh := n
	if u.nth == 1 {
		fresh = trues(keep[:n])
	}
	u.atRisk += uint64(fresh)
	u.old += uint64(n - fresh)
	if u.repeated {
		invert(keep[:n])
	}
	return n, err
}

// write writes the first n records of b as the flags ask for.
func (u *uniqRun) write(b *stream.Block, n int) error {
	err := u.writeBlock(b, n)
	u.broken = u.broken || err != nil
	return err
}

func (u *uniqRun) writeBlock(b *stream.Block, n int) error {
	if !u.mark {
		return u.out.Write(b, u.keep)
	}
	isNew := u.keep
	u.occur.show = resize(u.occur.show, b.Len())
	for i := range u.occur.show {
		u.occur.show[i] = i < n
	}
	for _, i := range b.Missing {
		u.occur.show[i] = int(i) < n && u.records.keepMissing()
	}
	return u.out.WritePrefixed(b, u.occur.show, func(i int) []byte {
		if isNew[i] {
			return markNew
		}
		return markOld
	})
}

var markNew, markOld = []byte("new\t"), []byte("old\t")

// writeHeader prints a csv header, but only the first.
func (u *uniqRun) writeHeader(b *stream.Block) error {
	if u.header {
		return nil
	}
	u.header = true
	return u.out.Write(b, nil)
}

// fill describes the set for the progress line.
func (u *uniqRun) fill() string {
	if text := u.filled.Load(); text != nil {
		return *text
	}
	return ""
}

// end writes what is left, saves the state, and reports.
func (u *uniqRun) end(err error) error {
	if checkpointErr := u.state.settle(); err == nil {
		err = checkpointErr
	}
	var sig *signalError
	switch {
	case errors.Is(err, errTorn):
		return &exitError{ExitLimit, errors.Join(err, u.out.Flush())}
	case err == nil, errors.Is(err, bloom.ErrFull):
	case errors.Is(err, context.Canceled) && errors.As(context.Cause(u.app.ctx), &sig):
		// Interrupted: what was read so far is complete. With a state it is kept,
		// so that the next run goes on from here; without one a part of the output
		// in place of the whole would only mislead.
		if u.file != nil && u.uniqFlags.state == "" {
			return sig
		}
		err = sig
	default:
		return u.afterError(err)
	}
	if errors.Is(err, bloom.ErrFull) {
		st := u.set.Stats()
		why := "; --on-full grow goes on"
		if u.onFull.Value != "stop" {
			why = fmt.Sprintf(" (%v)", err)
		}
		err = &exitError{ExitLimit, fmt.Errorf("stopped: the filter is full, with %s lines in %s%s",
			humanize.Comma(int64(st.Added)), humanize.IBytes(st.Bytes), why)}
	}
	if saveErr := u.save(); saveErr != nil {
		return saveErr
	}
	if reportErr := u.report(); reportErr != nil && err == nil {
		err = reportErr
	}
	return orPast(err, u.past)
}

// past says at the end whether the filter is past its error rate. To learn that the bits
// are counted, which takes time in a large one; so only where there are too many lines.
func (u *uniqRun) past() error {
	if s, ok := u.set.(sized); ok && (s.Capacity() == 0 || s.Added() <= s.Capacity()) {
		return nil
	}
	name := "the filter"
	if u.uniqFlags.state != "" {
		name = u.uniqFlags.state
	}
	return past(name, u.set.Stats())
}

// afterError handles an input that cannot be read or an output that cannot be
// written. What was decided before bad input stands, and is kept.
func (u *uniqRun) afterError(err error) error {
	if u.broken || u.file != nil {
		return err
	}
	if saveErr := u.save(); saveErr != nil && !stream.IsBrokenPipe(saveErr) {
		return errors.Join(err, saveErr)
	}
	return err
}

// save makes the output complete, and only then the state: it never leads.
func (u *uniqRun) save() error {
	if u.broken {
		return errBroken
	}
	if err := u.completeOutput(); err != nil {
		u.broken = true // a second try might succeed, and prove nothing
		return err
	}
	return u.state.save(u.set)
}

func (u *uniqRun) completeOutput() error {
	if err := u.out.Flush(); err != nil {
		return err
	}
	if u.file != nil {
		file := u.file
		u.file = nil
		return file.Commit()
	}
	if u.state.path != "" {
		return syncOutput(u.sink)
	}
	return nil
}

// saveIfDue begins a checkpoint when one is due, and returns what was wrong with
// the last one. With -o there is none: the output is not there before the end.
func (u *uniqRun) saveIfDue() error {
	text := fillText(u.set)
	u.filled.Store(&text)
	if err := u.state.poll(); err != nil {
		return err
	}
	if u.output == "" && u.state.due() {
		u.state.begin(u.set, &u.deciding, u.settleOutput)
	}
	return nil
}

// settleOutput makes the output of a checkpoint complete. By now it is fixed which
// keys will be in the state, and all lines of these were handed to the writer: here
// they are written and made durable, while the run goes on.
func (u *uniqRun) settleOutput() error {
	u.deciding.Lock()
	defer u.deciding.Unlock()
	switch {
	case u.torn:
		return errTorn
	case u.broken:
		return errBroken
	}
	err := u.out.Flush()
	if err == nil {
		u.deciding.Unlock()
		err = syncOutput(u.sink)
		u.deciding.Lock()
	}
	u.broken = u.broken || err != nil // a second try might succeed, and prove nothing
	return err
}

// errBroken says that the state would lead the output.
var errBroken = errors.New("the output could not be written; the state was not saved")

// sameFile reports whether two names lead to one file, which need not exist.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(infoA, infoB)
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// syncOutput makes output durable if it goes to a file, so that a state saved
// afterwards cannot survive a power failure that the output does not.
func syncOutput(w io.Writer) error {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return f.Sync()
}
