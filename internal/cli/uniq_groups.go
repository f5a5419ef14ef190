package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"seen/internal/figure"
	"seen/internal/keyhash"
	"seen/internal/spill"
	"seen/internal/stream"
	"seen/internal/stream/input"
	"seen/internal/vfs"
)

// groupRun is one run of "seen uniq" in a groupMode. The first pass reads the input, counts
// the occurrences of each key and prints what a mode that streams can decide. At the end the
// other lines are selected by their positions, and a second pass prints them.
type groupRun struct {
	*uniqFlags
	app      *app
	cmd      *cobra.Command
	mode     *groupMode
	in       *input.Files
	config   stream.Config
	started  time.Time
	file     *vfs.Replacement // of -o
	out      *stream.Writer
	groups   *spill.Groups
	selected *spill.Selection
	spool    *spill.Spool // nil if the inputs can be read again
	top      *topLines    // of -c --top
	list     *growingList // of --append

	position uint64        // of the next line
	distinct uint64        // keys, when all are known
	header   *stream.Block // of the first csv file, until it is printed
	headed   csvHeader
	spilled  bool // the table was full
	printing bool // in the second pass
	keep     []bool
	show     []bool
	prefix   []byte
	filled   atomic.Pointer[string] // for the progress line
}

// Parts of --memory; the rest is for keys.
const (
	selectionShare = 16
	spoolShare     = 16
)

func (a *app) uniqGroups(cmd *cobra.Command, flags *uniqFlags, files []string) (err error) {
	g := &groupRun{uniqFlags: flags, app: a, cmd: cmd, started: time.Now()}
	if err := flags.spilling.check(); err != nil {
		return err
	}
	flags.records.again = true
	if flags.listName != "" {
		if g.list, err = a.openList(flags.listName, files, &flags.records); err != nil {
			return err
		}
		defer g.list.close()
		files = g.list.inputs(files)
	}
	if g.in, g.config, err = flags.records.open(a, files); err != nil {
		return err
	}
	if flags.output == "" {
		if err := a.refuseOwnOutput(g.in); err != nil {
			return err
		}
	}
	g.mode = flags.mode(&g.config)
	if flags.buffered && !g.mode.streams {
		return usagef("--line-buffered has no effect with %s, which prints at the end of the input", g.mode.option)
	}
	hash, err := flags.hashing.private()
	if err != nil {
		return err
	}
	g.config.Hash = streamHash(hash)
	second := keyhash.Random()
	g.config.Second = &second
	g.openStores()
	defer g.close()

	sink := a.env.Stdout
	if flags.output != "" {
		if g.file, err = vfs.Replace(vfs.OS, flags.output, vfs.Shared); err != nil {
			return err
		}
		defer g.file.Abort() // does nothing once it is committed
		sink = g.file
	}
	if g.list != nil {
		g.list.delimiter = g.config.Delimiter
		g.list.sayOfOtherEnds(a, cmd, &flags.records, &g.config)
		sink = twice{sink, g.list}
	}
	g.out = stream.NewWriter(sink, stream.WriterOptions{LineBuffered: flags.buffered, Counters: g.config.Counters})
	if g.file == nil {
		g.config.Pause = g.out.Flush
	}
	err = flags.records.run(a.ctx, a, g.in, g.config, g.fill, g.block)
	if err == nil {
		err = g.finish()
	}
	return g.end(err)
}

// openStores makes the table of keys, the selection and, for input that cannot be read again,
// the spool. None of them makes a file before it is needed.
func (g *groupRun) openStores() {
	memory := uint64(g.memory)
	var open func() (*spill.Folder, error)
	if g.exact {
		memory = math.MaxInt64
	} else {
		open = g.spilling.folder
	}
	rest := memory - memory/selectionShare
	if g.in.Live() {
		share := memory / spoolShare
		g.spool = spill.NewSpool(spill.SpoolConfig{Memory: int(min(share, math.MaxInt)), Folder: open})
		rest -= share
	}
	g.selected = spill.NewSelection(spill.SelectionConfig{Memory: int(min(memory/selectionShare, math.MaxInt)), Folder: open, Values: true})
	g.groups = spill.NewGroups(spill.GroupsConfig{Folder: open, Memory: rest, Last: g.mode.last, Log: g.mode.log})
	if n := g.groupFlags.top; n > 0 {
		g.top = newTopLines(int(n))
	}
}

func (g *groupRun) close() {
	_ = g.groups.Close()   // temporary files that are not used any more
	_ = g.selected.Close() // likewise
	if g.spool != nil {
		_ = g.spool.Close() // likewise
	}
}

// block counts the lines of one block, and prints those that are decided.
func (g *groupRun) block(b *stream.Block) error {
	if b.Header {
		return g.keepHeader(b)
	}
	n := b.Len()
	if g.list != nil && g.list.has(b) {
		return g.learn(b)
	}
	g.keep, g.show = resize(g.keep, n), resize(g.show, n)
	clear(g.keep)
	clear(g.show)
	seconds, missing := b.Seconds(), b.Missing
	late := g.isLate()
	for i := range n {
		position := g.position + uint64(i)
		if len(missing) > 0 && int(missing[0]) == i {
			missing = missing[1:]
			if err := g.keyless(b, i, position, late); err != nil {
				return err
			}
			continue
		}
		count, before, err := g.groups.Add(b.Hashes[i], seconds[i], position)
		if err != nil {
			return err
		}
		if !g.spilled && g.groups.Generation() > 0 {
			g.spilled, late = true, true
			g.noteLate(position)
		}
		if !late {
			g.show[i], g.keep[i] = true, g.mode.keeps(count)
			continue
		}
		if g.mode.late != nil {
			if err := g.mode.late(g, count, before, position); err != nil {
				return err
			}
		}
		if g.mode.spools(count) {
			if err := g.spoolLine(position, b.Line(i)); err != nil {
				return err
			}
		}
	}
	g.position += uint64(n)
	text := fmt.Sprintf("%s distinct", figure.Short(g.groups.Keys()))
	if g.groups.Generation() > 0 {
		text = "past the memory"
	}
	g.filled.Store(&text)
	if !g.mode.streams {
		return nil
	}
	return g.write(b, g.keep, g.show)
}

// learn counts the lines that the list of --append has. They are not printed.
func (g *groupRun) learn(b *stream.Block) error {
	seconds := b.Seconds()
	g.list.keyless += uint64(len(b.Missing))
	for lo, hi := range b.Keyed() {
		for i := lo; i < hi; i++ {
			if _, _, err := g.groups.Add(b.Hashes[i], seconds[i], g.position+uint64(i)); err != nil {
				return err
			}
		}
	}
	g.position += uint64(b.Len())
	g.list.lines = g.position
	return nil
}

// isLate reports whether lines are decided at the end.
func (g *groupRun) isLate() bool { return !g.mode.streams || g.groups.Generation() > 0 }

// keyless treats a line without a key: it is kept, or it is not, as a line that is equal to no
// other.
func (g *groupRun) keyless(b *stream.Block, i int, position uint64, late bool) error {
	keep, value := g.records.keepMissing(), uint64(1)
	if g.mark {
		value = valueNew
	}
	switch {
	case !late:
		g.keep[i], g.show[i] = keep, keep
		return nil
	case !keep && g.mark && g.spool == nil:
		return g.selectLine(position, valueHidden)
	case !keep:
		return nil
	}
	if g.top != nil {
		g.top.offer(1, position)
	} else if err := g.selectLine(position, value); err != nil {
		return err
	}
	return g.spoolLine(position, b.Line(i))
}

func (g *groupRun) selectLine(position, value uint64) error { return g.selected.Add(position, value) }

func (g *groupRun) spoolLine(position uint64, line []byte) error {
	if g.spool == nil {
		return nil
	}
	return g.spool.Append(position, line)
}

// noteLate says that the table has no more room, when this happens.
func (g *groupRun) noteLate(position uint64) {
	if g.records.quiet || g.spilling.opened == nil {
		return
	}
	end := ""
	if g.mode.streams {
		end = "; the lines that follow are printed, in order, at the end of the input"
	}
	g.app.say(g.cmd, "note: -m %v is used up after %s lines; the run stays exact with temporary files in %s%s",
		&g.memory, figure.Comma(position), describeFolder(g.spilling.opened), end)
	g.app.noteInMemory(g.cmd, g.spilling.opened)
}

// keepHeader prints the header of the first csv file: at once if lines are printed as they
// come, otherwise before the first line.
func (g *groupRun) keepHeader(b *stream.Block) error {
	if g.list != nil {
		if g.list.has(b) {
			g.list.header, g.list.headed = bytes.Clone(b.Data), true
			return nil
		}
		if err := g.list.checkHeader(b); err != nil {
			return err
		}
	}
	if !g.headed.isFirst(g.app, g.cmd, &g.records, b) {
		return nil
	}
	if g.list != nil && g.list.headed {
		_, err := g.app.env.Stdout.Write(b.Data)
		return err
	}
	if g.mode.streams {
		return g.out.Write(b, nil)
	}
	g.header = new(stream.Block)
	b.CopyTo(g.header)
	return nil
}

// write writes lines as the mode asks for: those in keep, or with --mark those in show.
func (g *groupRun) write(b *stream.Block, keep, show []bool) error {
	if !g.mark {
		return g.out.Write(b, keep)
	}
	return g.out.WritePrefixed(b, show, func(i int) []byte {
		if keep[i] {
			return markNew
		}
		return markOld
	})
}

// finish selects the lines that are not decided yet, and prints them.
func (g *groupRun) finish() error {
	if !g.isLate() {
		g.distinct = g.groups.Keys()
		return nil
	}
	if err := g.merge(); err != nil {
		return err
	}
	g.printing = true
	if g.header != nil {
		if err := g.out.Write(g.header, nil); err != nil {
			return err
		}
	}
	selected, err := g.selected.Read()
	if err != nil {
		return err
	}
	again := &replay{app: g.app, records: &g.records, in: g.in, config: g.config, spool: g.spool}
	switch {
	case g.mark:
		again.all, again.from = true, g.groups.Began()
		return again.run(selected, g.writeMarked)
	case g.top != nil:
		if err := again.run(selected, g.top.take); err != nil {
			return err
		}
		return g.writeTop()
	case g.counts:
		return again.run(selected, g.writeCounted)
	}
	return again.run(selected, func(b *replayed) error { return g.out.Write(b.Block, b.keep) })
}

// merge selects lines by all occurrences of their keys.
func (g *groupRun) merge() error {
	v := g.mode.visitor(g)
	record, steps := v.Record, 0
	v.Record = func(before uint64, r spill.Record) error {
		if before == 0 {
			g.distinct++
		}
		if steps++; steps%(1<<16) == 0 {
			if err := g.app.ctx.Err(); err != nil {
				return err
			}
		}
		if record == nil {
			return nil
		}
		return record(before, r)
	}
	if err := g.groups.Merge(v); err != nil {
		return err
	}
	if g.top != nil {
		if err := g.top.each(g.selectLine); err != nil {
			return err
		}
	}
	return g.groups.Close() // its memory is for the second pass
}

func (g *groupRun) writeCounted(b *replayed) error {
	return g.out.WritePrefixed(b.Block, b.keep, func(i int) []byte {
		g.prefix = appendCount(g.prefix[:0], b.values[i])
		return g.prefix
	})
}

// appendCount appends a count as uniq(1) prints it before a line.
func appendCount(b []byte, count uint64) []byte { return fmt.Appendf(b, "%7d ", count) }

func (g *groupRun) writeMarked(b *replayed) error {
	g.show = resize(g.show, b.Len())
	for i := range g.show {
		g.show[i] = !(b.keep[i] && b.values[i] == valueHidden)
	}
	return g.write(b.Block, b.keep, g.show)
}

// writeTop prints the lines with the largest counts.
func (g *groupRun) writeTop() error {
	b := &stream.Block{Offsets: []uint32{0, 0}}
	for _, line := range g.top.sorted() {
		b.Data, b.Offsets[1] = line.text, uint32(len(line.text))
		g.prefix = appendCount(g.prefix[:0], line.count)
		if err := g.out.WritePrefixed(b, nil, func(int) []byte { return g.prefix }); err != nil {
			return err
		}
	}
	return nil
}

// fill describes the table for the progress line.
func (g *groupRun) fill() string {
	if text := g.filled.Load(); text != nil {
		return *text
	}
	return ""
}

// end completes the output and reports.
func (g *groupRun) end(err error) error {
	if err != nil {
		return g.explain(err)
	}
	if err := g.out.Flush(); err != nil {
		return err
	}
	if g.file != nil {
		if err := g.file.Commit(); err != nil {
			return err
		}
	}
	if g.list != nil {
		if err := g.list.commit(); err != nil {
			return err
		}
	}
	return g.report()
}

// explain says what an error means for the output.
func (g *groupRun) explain(err error) error {
	if stream.IsBrokenPipe(err) {
		return err
	}
	if g.mode.streams && g.file == nil {
		if flushErr := g.flush(); flushErr != nil {
			return flushErr
		}
	}
	var printed string
	switch {
	case g.file != nil:
		printed = "-o was not written"
	case g.printing:
		printed = "the output is not complete"
	case !g.mode.streams:
		printed = "nothing was printed, since " + g.mode.option + " needs the whole input"
	case g.groups.Generation() > 0:
		printed = fmt.Sprintf("the output is right for the first %s lines and ends there", figure.Comma(g.groups.Began()))
	}
	if g.app.ctx.Err() != nil && errors.Is(err, context.Canceled) { // by a signal, which is reported instead of err
		if printed != "" && !g.records.quiet {
			g.app.say(g.cmd, "note: %s", printed)
		}
		return err
	}
	if !isNoRoom(err) {
		if printed != "" {
			err = fmt.Errorf("%w; %s", err, printed)
		}
		return err
	}
	text := fmt.Sprintf("stopped after %s lines: %s", figure.Comma(g.position), g.spilling.describeNoRoom(err))
	if printed != "" {
		text += "; " + printed
	}
	return &exitError{ExitLimit, errors.New(text + "; name a folder with more room with --spill DIR, or give more -m")}
}

// flush writes out what was decided before an error. The list of --append then has exactly the
// lines that were printed.
func (g *groupRun) flush() error {
	err := g.out.Flush()
	if err == nil && g.list != nil {
		err = g.list.commit()
	}
	return err
}
