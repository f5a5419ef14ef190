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
	"seen/internal/figure"
	"seen/internal/keyhash"
	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/internal/vfs"
)

// uniqRun is one run of "seen uniq".
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
	atRisk  uint64 // new lines, which could have been dropped by error
	old     uint64 // lines that were dropped as seen
	notes   uniqNotes
	header  csvHeader

	// Of a run that goes on on disk; disk is nil while memory suffices.
	in       *input.Files
	second   keyhash.Hash
	disk     *onDisk
	position uint64 // records before the present block

	broken bool // the output cannot be written
	torn   bool // the set holds keys whose lines were not decided

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
	if flags.isGroupMode() && flags.filterOption(cmd) == "" {
		return a.uniqGroups(cmd, flags, files)
	}
	u := &uniqRun{uniqFlags: flags, app: a, cmd: cmd, started: time.Now()}
	u.records.again = u.spills()
	in, config, err := u.records.open(a, files)
	if err != nil {
		return err
	}
	if u.output == "" {
		if err := a.refuseOwnOutput(in); err != nil {
			return err
		}
	}
	u.in, u.config = in, config
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
	if u.spills() {
		if err := u.spilling.check(); err != nil {
			return err
		}
		u.boundTable()
		u.second = keyhash.Random()
		u.config.Second = &u.second
	}
	u.occur = occurrences{set: u.set, times: u.timeKey != "", canFill: u.onFull.Value == "stop"}

	u.sink = a.env.Stdout
	if u.output != "" {
		if u.file, err = vfs.Replace(vfs.OS, u.output, vfs.Shared); err != nil {
			return err
		}
		defer func() {
			if u.file != nil { // it is not committed
				u.file.Abort()
			}
		}()
		u.sink = u.file
	}
	if u.file == nil {
		u.config.Pause = u.flush
	}
	u.out = stream.NewWriter(u.sink, stream.WriterOptions{LineBuffered: u.buffered, Counters: u.config.Counters})
	defer func() {
		if u.disk != nil {
			u.disk.close()
		}
	}()
	err = u.records.run(a.ctx, a, in, u.config, u.fill, u.block)
	return u.end(err)
}

// openSet loads the state, or creates a new set.
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
	u.set.SetTag(u.records.tag())
	rules, err := u.records.keptRules()
	if err != nil {
		return err
	}
	return u.set.SetRules(rules)
}

// newSet creates the set that the flags describe.
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
	case u.exact, u.spills():
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
	offset := u.out.Taken()
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
	position := u.position
	u.position += uint64(n)
	if full != nil {
		return full
	}
	if u.disk != nil {
		return u.disk.note(b, u.keep, position, offset)
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
	if u.disk != nil {
		return u.decideOnDisk(b, lo, lo, hi)
	}
	n, err := u.occur.nth(u.occurrence(), keep, b.Hashes[lo:hi], times)
	if errors.Is(err, bloom.ErrFull) && u.spills() {
		if err := u.beginOnDisk(); err != nil {
			return n, err
		}
		return u.decideOnDisk(b, lo, lo+n, hi)
	}
	fresh := n
	if u.occurrence() == 1 {
		fresh = trues(keep[:n])
	}
	u.atRisk += uint64(fresh)
	u.old += uint64(n - fresh)
	if u.afterFirst {
		invert(keep[:n])
	}
	return n, err
}

// decideOnDisk is decide for a run that goes on on disk; the records before from are
// decided.
func (u *uniqRun) decideOnDisk(b *stream.Block, lo, from, hi int) (int, error) {
	if err := u.disk.decide(b, from, hi, u.keep[from:hi]); err != nil {
		return from - lo, err
	}
	return hi - lo, nil
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
	if !u.header.isFirst(u.app, u.cmd, &u.records, b) {
		return nil
	}
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
	if u.disk != nil {
		u.disk.stop()
		if err == nil {
			err = u.disk.finish()
		}
	}
	if checkpointErr := u.state.settle(); err == nil {
		err = checkpointErr
	}
	var sig *signalError
	switch {
	case errors.Is(err, errTorn):
		return &exitError{ExitLimit, errors.Join(err, u.out.Flush())}
	case err == nil, errors.Is(err, bloom.ErrFull):
	case errors.Is(err, context.Canceled) && errors.As(context.Cause(u.app.ctx), &sig):
		// Interrupted: all lines up to here are decided. With a state they are kept,
		// and the next run continues from here. Without one, -o stays as it was,
		// because a part of the output would be misleading.
		if u.file != nil && u.uniqFlags.state == "" {
			return sig
		}
		err = sig
		if more := u.disk.undecided(); more != "" && !u.records.quiet {
			u.app.say(u.cmd, "note: %s", more)
		}
	case isNoRoom(err):
		err = u.stopped(err)
		if u.file != nil {
			return err
		}
	case errors.As(err, new(*lateError)):
		// All is decided; the output lacks the late lines.
	default:
		return u.afterError(err)
	}
	if errors.Is(err, bloom.ErrFull) {
		st := u.set.Stats()
		why := "; --on-full grow continues"
		if u.onFull.Value != "stop" {
			why = fmt.Sprintf(" (%v)", err)
		}
		err = &exitError{ExitLimit, fmt.Errorf("stopped: the filter is full with %s lines in %s%s",
			figure.Comma(st.Added), humanize.IBytes(st.Bytes), why)}
	}
	if saveErr := u.save(); saveErr != nil {
		return saveErr
	}
	if reportErr := u.report(); reportErr != nil && err == nil {
		err = reportErr
	}
	return orPast(err, u.past)
}

// past says at the end whether the filter is past its error rate.
func (u *uniqRun) past() error {
	if u.hasRoom() {
		return nil
	}
	name := "the filter"
	if u.uniqFlags.state != "" {
		name = u.uniqFlags.state
	}
	return past(name, u.set.Stats())
}

// afterError handles an input that cannot be read or an output that cannot be written.
// Lines that were decided before bad input are kept.
func (u *uniqRun) afterError(err error) error {
	if u.broken || u.file != nil {
		return err
	}
	if more := u.disk.undecided(); more != "" && !u.records.quiet {
		u.app.say(u.cmd, "note: %s", more)
	}
	if saveErr := u.save(); saveErr != nil && !stream.IsBrokenPipe(saveErr) {
		return errors.Join(err, saveErr)
	}
	return err
}

// save completes the output and then the state, so that the state never has lines that
// the output lacks.
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

// saveIfDue begins a checkpoint when one is due, and returns the error of the last one.
// With -o there are no checkpoints, because the output appears only at the end.
func (u *uniqRun) saveIfDue() error {
	text := fillText(u.set)
	if u.disk != nil {
		text = u.disk.describe()
	}
	u.filled.Store(&text)
	if err := u.state.poll(); err != nil {
		return err
	}
	if u.output == "" && u.state.due() {
		u.state.begin(u.set, &u.deciding, u.settleOutput)
	}
	return nil
}

// settleOutput completes the output of a checkpoint. The keys of the state are fixed by
// now, and all their lines were given to the writer. Here they are written and made
// durable while the run continues.
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

// flush writes out what was decided, while the input pauses.
func (u *uniqRun) flush() error {
	u.deciding.Lock()
	defer u.deciding.Unlock()
	err := u.out.Flush()
	u.broken = u.broken || err != nil
	return err
}

// errBroken says that the state would have lines that the output lacks.
var errBroken = errors.New("the output could not be written; the state was not saved")

// sameFile reports whether two names are of one file, which may not exist yet.
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

// syncOutput makes output durable if it is a file, so that a state that is saved
// afterwards cannot survive a power failure in which output is lost.
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
