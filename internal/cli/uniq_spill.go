package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"seen/bloom"
	"seen/internal/bridge"
	"seen/internal/exact"
	"seen/internal/figure"
	"seen/internal/keyhash"
	"seen/internal/spill"
	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/internal/vfs"
)

// onDisk is a run past its memory that goes on exactly, with temporary files. Lines that it
// cannot decide at once are doubts; joins decide them, and find those that are late: they
// were new, and have to be printed after all.
type onDisk struct {
	run    *uniqRun
	in     *input.Files
	folder *spill.Folder
	set    *exact.Set
	late   *spill.Selection // positions of late lines, which are not printed yet
	spool  *spill.Spool     // lines of doubts, where the input cannot be read again
	second keyhash.Hash

	memory   uint64        // of the set, before the last join
	doubtful bool          // it was said that most lines are doubts
	joined   time.Time     // end of the last join
	took     time.Duration // of the last join
	active   time.Time     // when the last block was decided
	failed   error         // of a join in the background
	printed  uint64        // late lines
	shown    uint64        // of these, those in late

	// Doubts of the present block, by the numbers of their records.
	doubts []uint32

	stopped chan struct{} // closed to end the background goroutine; nil if there is none
	ended   sync.WaitGroup
}

// tableShare is the part of -m that the table before the disk is used leaves to garbage, which
// is a fifth of the table (see tightenHeap), and to the buffers of its way there.
const tableShare = 4

// boundTable makes the exact set of a run that goes on on disk full at the right time.
func (u *uniqRun) boundTable() {
	bound := bridge.BoundExact.(func(*bloom.Adaptive, uint64))
	memory := uint64(u.memory)
	bound(u.set.(*bloom.Adaptive), memory-memory/tableShare)
}

// spills reports whether the run goes on on disk when its memory is used up.
func (u *uniqFlags) spills() bool { return u.onFull.Value == "spill" }

// beginOnDisk moves the run to the disk.
func (u *uniqRun) beginOnDisk() error {
	set := u.set.(*bloom.Adaptive)
	folder, err := u.spilling.folder()
	if err != nil {
		return err
	}
	d := &onDisk{run: u, in: u.in, folder: folder, second: u.second, joined: time.Now(), active: time.Now()}
	lines := set.Added()
	if free, known := folder.Free(); known && free < 16*lines {
		return &spill.FullError{Dir: folder.Dir(), Err: fmt.Errorf("%s are free", humanize.IBytes(free))}
	}
	u.noteOnDisk(d, lines)
	drain := bridge.DrainExact.(func(*bloom.Adaptive) iter.Seq[[]uint64])
	d.set, err = exact.New(exact.Config{Memory: uint64(u.memory), Folder: folder, Places: u.file != nil}, drain(set))
	if err != nil {
		return err
	}
	d.late = d.newSelection()
	if u.in.Live() {
		d.spool = d.newSpool()
		if u.file == nil {
			d.stopped = make(chan struct{})
			d.ended.Go(d.joinWhenIdle)
		}
	}
	u.disk = d
	return nil
}

func (d *onDisk) newSelection() *spill.Selection {
	return spill.NewSelection(spill.SelectionConfig{Memory: int(d.run.memory / selectionShare), Folder: d.run.spilling.folder, Values: d.run.file != nil})
}

func (d *onDisk) newSpool() *spill.Spool {
	return spill.NewSpool(spill.SpoolConfig{Folder: d.run.spilling.folder})
}

// noteOnDisk says once where the run goes on, and what that means.
func (u *uniqRun) noteOnDisk(d *onDisk, lines uint64) {
	if u.records.quiet {
		return
	}
	free, known := d.folder.Free()
	u.app.say(u.cmd, "note: -m %v is used up after %s distinct lines; the run stays exact with temporary files in %s",
		&u.memory, figure.Comma(lines), describeFolder(d.folder))
	u.app.noteInMemory(u.cmd, d.folder)
	if need := u.estimateDisk(); known && need > free {
		u.app.say(u.cmd, "note: the temporary files may need up to %s; name a folder with more room with --spill DIR, or give more -m", humanize.IBytes(need))
	}
}

// estimateDisk returns the disk space that the rest of the input may need, or 0 if its size
// is unknown.
func (u *uniqRun) estimateDisk() uint64 {
	at := u.in.Progress()
	if at.Total <= 0 || at.Read <= 0 {
		return 0
	}
	const perLine = 16
	rest := float64(at.Total-at.Read) / float64(at.Read)
	return uint64(perLine * rest * float64(u.config.Counters.Records.Load()))
}

// decide fills in keep for the records from lo to hi of b.
func (d *onDisk) decide(b *stream.Block, lo, hi int, keep []bool) error {
	if d.failed != nil {
		return d.failed
	}
	doubts, err := d.set.Add(keep, b.Hashes[lo:hi], b.Seconds()[lo:hi])
	if err != nil {
		return err
	}
	for _, i := range doubts {
		d.doubts = append(d.doubts, uint32(lo)+uint32(i))
	}
	return nil
}

// note keeps the doubts of a block, whose first record has a position. The block is written
// at an offset of the output.
func (d *onDisk) note(b *stream.Block, keep []bool, position, offset uint64) error {
	at := 0
	places := d.run.file != nil
	seconds := b.Seconds()
	for n, i := range d.doubts {
		if n%joinCheck == joinCheck-1 && d.shouldJoin() {
			if err := d.joinNow(); err != nil {
				return err
			}
		}
		if places {
			for ; at < int(i); at++ {
				if keep[at] {
					offset += uint64(b.Offsets[at+1] - b.Offsets[at])
				}
			}
		}
		if err := d.set.Doubt(b.Hashes[i], seconds[i], position+uint64(i), offset); err != nil {
			return err
		}
		if d.spool != nil {
			if err := d.spool.Append(position+uint64(i), b.Line(int(i))); err != nil {
				return err
			}
		}
	}
	d.doubts = d.doubts[:0]
	d.active = time.Now()
	if !d.doubtful && d.set.FalseDoubts() > 0.5 && !d.run.records.quiet {
		d.doubtful = true
		d.run.app.say(d.run.cmd, "note: -m %v is so little for %s distinct lines that most new lines come late; the result stays exact; more -m prints them earlier",
			&d.run.memory, figure.Comma(d.set.Keys()))
	}
	if d.shouldJoin() {
		return d.joinNow()
	}
	return nil
}

// shouldJoin reports whether a join makes room below --spill-max. Joins that free little
// would follow each other without an end.
func (d *onDisk) shouldJoin() bool {
	if d.run.spilling.max == 0 {
		return false
	}
	const margin = 10
	limit := uint64(d.run.spilling.max)
	used := d.folder.Used() + d.set.Stats().Buffers
	return used > limit-limit/margin && d.set.OpenBytes() > limit/margin
}

// join decides the doubts. The last join of a run takes all memory.
func (d *onDisk) join(last bool) error {
	began := time.Now()
	err := d.set.Join(d.run.app.ctx, exact.JoinConfig{Last: last, Jobs: d.run.config.Jobs, Late: func(late []exact.Late) error {
		for _, l := range late {
			if err := d.late.Add(l.Position, l.Place); err != nil {
				return err
			}
		}
		return nil
	}})
	d.joined = time.Now()
	d.took = d.joined.Sub(began)
	return err
}

// undecided says how many lines a run that ends early has not decided; nothing if there are
// none.
func (d *onDisk) undecided() string {
	if d == nil {
		return ""
	}
	n := d.set.Stats().Open + d.late.Len() - d.shown
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s lines are not decided and were not printed: most of them were seen before, some may be new", figure.Comma(n))
}

// stopped returns the error of a run that has no room on disk for its temporary files.
func (u *uniqRun) stopped(err error) error {
	text := fmt.Sprintf("stopped after %s lines: %s", figure.Comma(u.position), u.spilling.describeNoRoom(err))
	if u.output != "" {
		text += fmt.Sprintf("; %s is as it was", u.output)
	} else {
		text += "; what was printed so far is right"
		if more := u.disk.undecided(); more != "" {
			text += ", but " + more
		}
	}
	return &exitError{ExitLimit, errors.New(text + "; name a folder with more room with --spill DIR, give more -m, or use a filter with -n or -p")}
}

// Late lines of a live input are printed when it pauses, or after a time in which a join does
// not count.
const (
	idleTime  = time.Second
	joinEvery = time.Minute
	joinShare = 20 // joins take at most this part of the time
)

// joinWhenIdle prints late lines while the input is live.
func (d *onDisk) joinWhenIdle() {
	tick := time.NewTicker(idleTime / 2)
	defer tick.Stop()
	for {
		select {
		case <-d.stopped:
			return
		case <-tick.C:
		}
		d.run.deciding.Lock()
		since, idle := time.Since(d.joined), time.Since(d.active) > idleTime
		if d.failed == nil && d.set.Stats().Open > 0 && since > joinShare*d.took && (idle || since > joinEvery) {
			d.failed = d.joinNow()
		}
		d.run.deciding.Unlock()
	}
}

// joinCheck is how many doubts of a block are noted between looks at --spill-max.
const joinCheck = 1024

// joinNow decides the doubts before the end. Unless there is an output file, it prints the
// late lines of an input that cannot be read again, and forgets the lines of its doubts.
func (d *onDisk) joinNow() error {
	err := d.join(false)
	if err != nil || d.spool == nil || d.run.file != nil {
		return err
	}
	if d.late.Len() > 0 {
		err = errors.Join(d.print(), d.run.out.Flush())
	}
	late, spool := d.late, d.spool
	d.late, d.spool, d.shown = d.newSelection(), d.newSpool(), 0
	return errors.Join(err, late.Close(), spool.Close())
}

// stop ends the work in the background.
func (d *onDisk) stop() {
	if d.stopped != nil {
		close(d.stopped)
		d.ended.Wait()
		d.stopped = nil
	}
}

// close gives everything back.
func (d *onDisk) close() {
	d.stop()
	_ = d.set.Close()  // its files have no use any more
	_ = d.late.Close() // as above
	if d.spool != nil {
		_ = d.spool.Close() // as above
	}
}

// lateError ends a run with --late fail.
type lateError struct{ lines uint64 }

func (e *lateError) Error() string {
	return fmt.Sprintf("%s lines are new and were not printed, because they were only found to be new after lines behind them; give more -m, or --late end to print them at the end, or -o FILE to have them in their places", figure.Comma(e.lines))
}

// finish decides the doubts that are left and prints late lines.
func (d *onDisk) finish() error {
	if d.failed != nil {
		return d.failed
	}
	d.memory = d.set.Stats().Bytes
	if err := d.join(true); err != nil {
		return err
	}
	n := d.late.Len()
	if n == 0 {
		return nil
	}
	if d.run.file != nil {
		return d.insert()
	}
	return d.print()
}

// print prints the late lines at the end of the output so far.
func (d *onDisk) print() error {
	u := d.run
	if u.lateLines.Value == "fail" {
		return &exitError{ExitLimit, &lateError{d.late.Len()}}
	}
	if d.printed == 0 && !u.records.quiet {
		u.app.say(u.cmd, "note: %s lines come late, after lines that were behind them in the input (-o FILE has them in their places)", figure.Comma(d.late.Len()))
	}
	return d.replay(func(b *replayed) error {
		if err := u.out.Write(b.Block, b.keep); err != nil {
			u.broken = true
			return err
		}
		// They were counted as dropped, and those around them are not of the output.
		kept := uint64(trues(b.keep))
		u.config.Counters.Dropped.Add(-uint64(b.Len()))
		d.printed += kept
		d.shown += kept
		return nil
	})
}

// replay calls consume with the late lines in the order of the input.
func (d *onDisk) replay(consume func(*replayed) error) error {
	u := d.run
	cursor, err := d.late.Read()
	if err != nil {
		return err
	}
	r := replay{app: u.app, records: &u.records, in: d.in, config: u.config, spool: d.spool}
	return r.run(cursor, consume)
}

const copyBuffer = 256 << 10

// insert makes a copy of the output in which late lines are in their places.
func (d *onDisk) insert() error {
	u := d.run
	if err := u.out.Flush(); err != nil {
		return err
	}
	without := u.file
	with, err := vfs.Replace(vfs.OS, u.output, vfs.Shared)
	if err != nil {
		return err
	}
	u.file, u.sink = with, with
	defer without.Abort() // only the copy is committed
	size := int64(u.out.Taken())
	from := bufio.NewReaderSize(io.NewSectionReader(without, 0, size), copyBuffer)
	to := bufio.NewWriterSize(with, copyBuffer)
	at := int64(0)
	upTo := func(place int64) error {
		_, err := io.CopyN(to, from, place-at)
		at = place
		return err
	}
	err = d.replay(func(b *replayed) error {
		for i, keep := range b.keep {
			if !keep {
				continue
			}
			if err := upTo(int64(b.values[i])); err != nil {
				return err
			}
			if _, err := to.Write(b.Line(i)); err != nil {
				return err
			}
			d.printed++
			d.shown++
		}
		return nil
	})
	if err == nil {
		err = upTo(size)
	}
	if err == nil {
		err = to.Flush()
	}
	u.out = stream.NewWriter(with, stream.WriterOptions{}) // what is written is written
	u.config.Counters.Kept.Add(d.printed)
	u.config.Counters.Dropped.Add(-d.printed)
	return err
}

// describe describes the run for the progress line.
func (d *onDisk) describe() string {
	return fmt.Sprintf("exact, %s on disk, %s doubts", humanize.IBytes(d.folder.Used()), figure.Short(d.set.Stats().Open))
}

// report fills in what is different past the memory.
func (d *onDisk) report(r *uniqReport) {
	if d == nil {
		return
	}
	st := d.set.Stats()
	r.Filter, r.Exact, r.ExpectedWrong = "temporary files", true, d.set.Collisions()
	r.Added, r.Capacity, r.Fill, r.ErrorRate = d.set.Keys(), d.set.Keys(), 1, 0
	keys := float64(r.Added)
	r.Cardinality = &keys
	r.FilterBytes = d.memory
	r.Doubts, r.Late = st.Doubts, st.Late
	r.SpilledBytes, r.DiskBytes = d.folder.Written(), d.folder.Peak()
}
