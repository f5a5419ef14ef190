package cli

import (
	"errors"
	"fmt"
	"io"

	"seen/internal/spill"
	"seen/internal/stream"
	"seen/internal/stream/input"
)

// replay is the second pass over an input: it delivers records by their positions. The
// position of a record is how many records are before it in all inputs, headers of csv
// files not counted.
//
// The records come from the inputs themselves if these can be read again, or from a spool,
// which the first pass has filled with the records that may be selected.
type replay struct {
	app     *app
	records *recordFlags
	in      *input.Files  // of the first pass, which has come to its end
	config  stream.Config // of the first pass
	spool   *spill.Spool  // nil: the inputs are read again
	from    uint64        // records before this position are not delivered, and are not selected
	all     bool          // records that are not selected are delivered too, with keep false
}

// replayed is records of a second pass.
type replayed struct {
	*stream.Block
	keep   []bool   // which are selected
	values []uint64 // of those
}

// errEnough ends a second pass behind the last selected record.
var errEnough = errors.New("all selected records were read")

// run calls consume with the records in order. What it is given is valid until it returns.
// A selected position without a record is an error.
func (r *replay) run(selected *spill.Cursor, consume func(*replayed) error) error {
	p := &replayPass{replay: r, selected: selected, consume: consume}
	p.more = selected.Next()
	err := selected.Err()
	switch {
	case err != nil:
		return err
	case r.spool != nil:
		err = p.readSpool()
	case p.more || r.all:
		err = p.readInputs()
	}
	if err == nil {
		err = selected.Err()
	}
	if err == nil && p.more {
		err = fmt.Errorf("line %d was read at first, and is missing at the second reading", selected.Position+1)
	}
	return err
}

// replayPass is one call of replay.run.
type replayPass struct {
	*replay
	selected *spill.Cursor
	more     bool // selected is at a position that was not met yet
	consume  func(*replayed) error
	batch    replayed
}

// value reports whether the record at a position is selected, and returns its value.
// Positions are asked about in ascending order.
func (p *replayPass) value(position uint64) (uint64, bool) {
	if !p.more || p.selected.Position != position {
		return 0, false
	}
	v := p.selected.Value
	p.more = p.selected.Next()
	return v, true
}

func (p *replayPass) readInputs() error {
	in, err := p.in.Again()
	if err != nil {
		return err
	}
	config := p.config
	config.Keyless, config.Start, config.Counters = true, nil, new(stream.Counters)
	var position uint64
	err = p.records.run(p.app.ctx, p.app, in, config, func() string { return "second pass" }, func(b *stream.Block) error {
		if b.Header {
			return nil
		}
		first := position
		position += uint64(b.Len())
		if err := p.readBlock(b, first); err != nil {
			return err
		}
		if !p.more && !p.all && in.Unchanged() {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// readBlock delivers the records of a block whose first one has a position.
func (p *replayPass) readBlock(b *stream.Block, first uint64) error {
	if skip := p.from - first; p.from > first {
		if skip >= uint64(b.Len()) {
			return nil
		}
		b.Offsets = b.Offsets[skip:]
		first = p.from
	}
	n := b.Len()
	if !p.all && (!p.more || p.selected.Position >= first+uint64(n)) {
		return p.selected.Err()
	}
	batch := &p.batch
	batch.Block, batch.keep, batch.values = b, resize(batch.keep, n), resize(batch.values, n)
	clear(batch.keep)
	for end := first + uint64(n); p.more && p.selected.Position < end; {
		i := p.selected.Position - first
		batch.values[i], batch.keep[i] = p.value(p.selected.Position)
	}
	if err := p.selected.Err(); err != nil {
		return err
	}
	return p.consume(batch)
}

func (p *replayPass) readSpool() error {
	lines, err := p.spool.Read()
	if err != nil {
		return err
	}
	b := &stream.Block{Offsets: []uint32{0}}
	p.batch.Block = b
	for {
		position, line, err := lines.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		value, is := p.value(position)
		if position < p.from || !is && !p.all {
			continue
		}
		if len(b.Data) > 0 && len(b.Data)+len(line) > stream.DefaultBlockSize {
			if err := p.flush(); err != nil {
				return err
			}
		}
		b.Data = append(b.Data, line...)
		b.Offsets = append(b.Offsets, uint32(len(b.Data)))
		p.batch.keep, p.batch.values = append(p.batch.keep, is), append(p.batch.values, value)
	}
	return p.flush()
}

// flush delivers the records of a spool that were gathered.
func (p *replayPass) flush() error {
	b := &p.batch
	if err := errors.Join(p.app.ctx.Err(), p.selected.Err()); err != nil {
		return err
	}
	if b.Len() > 0 {
		if err := p.consume(b); err != nil {
			return err
		}
	}
	b.Data, b.Offsets, b.keep, b.values = b.Data[:0], b.Offsets[:1], b.keep[:0], b.values[:0]
	return nil
}
