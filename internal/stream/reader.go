package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
)

// reader cuts the inputs into blocks of whole records. It is used by one
// goroutine at a time.
type reader struct {
	in      *input.Files
	config  *Config
	framing framing
	seconds *seconds // nil without Config.Second

	file   *input.File // nil between files
	fresh  bool        // no block of the file has been made
	header bool        // its header has not been read
	key    *keyspec.Key
	time   *keyspec.Time
	carry  []byte       // read, but behind the last block
	pause  func() error // Config.Pause if the reader has to call it, else nil
}

var errOpenQuote = errors.New("a quoted csv column that starts here is not closed before the end of the file")

// fill makes the next block. It returns io.EOF behind the last one and the error
// of ctx; everything else that goes wrong is the failure of the block.
func (r *reader) fill(ctx context.Context, b *Block) error {
	for {
		if r.file == nil && !r.nextFile() {
			return io.EOF
		}
		b.reset(r.config.BlockSize)
		b.framing, b.seconds = &r.framing, r.seconds
		b.File = r.file.Name()
		b.fresh = r.fresh
		b.split = !r.framing.simple()
		b.keyless = r.config.Keyless
		if err := r.gather(ctx, b); err != nil {
			return err
		}
		b.key, b.time = r.key, r.time
		if len(b.Data) > 0 || b.failure != nil {
			r.fresh = false
			return nil
		}
	}
}

func (r *reader) nextFile() bool {
	var ok bool
	if r.file, ok = r.in.Next(); !ok {
		return false
	}
	r.fresh = true
	r.key, r.time = r.config.Key, r.config.Time
	r.header = r.key.NeedsHeader() || r.time.NeedsHeader()
	return true
}

// close gives up the file that is being read.
func (r *reader) close() {
	if r.file != nil {
		r.file.Close() // it was only read
		r.file = nil
	}
	r.carry = r.carry[:0]
}

// gather fills b with records of the current file: a block of them if it is a
// regular file, what is there if it is a pipe, the header alone if there is one.
func (r *reader) gather(ctx context.Context, b *Block) error {
	// Room for a terminator is kept free, in case the file ends without one.
	slack := len(r.framing.delimiter)
	limit := max(r.config.BlockSize, len(r.carry))
	data := b.Data
	if cap(data) < limit+slack {
		data = make([]byte, 0, limit+slack)
	}
	data = append(data, r.carry...)
	if r.carry = r.carry[:0]; cap(r.carry) > generous*r.config.BlockSize {
		r.carry = nil
	}
	ends := b.Offsets
	hasty := r.file.Live() || r.header
	c := cutter{begin: b.fresh && r.framing.isText()}
	for {
		if full := len(data) >= limit; full || hasty {
			if ends = c.scan(&r.framing, data, ends); c.cut > 0 {
				break
			}
			if full {
				if limit == MaxRecord-slack {
					r.close()
					b.failure, b.inner = fmt.Errorf("the record is longer than %d bytes; is the delimiter right?", MaxRecord), true
					return nil
				}
				limit = min(2*limit, MaxRecord-slack)
				data = append(make([]byte, 0, limit+slack), data...)
			}
		}
		if r.pause != nil && !r.file.Await(ctx, PauseTime) {
			if err := r.pause(); err != nil {
				return err
			}
		}
		n, err := r.file.ReadContext(ctx, data[len(data):limit])
		if err != nil {
			return r.endFile(b, data, ends, c, err)
		}
		data = data[:len(data)+n]
	}
	if r.header {
		ends = c.first(&r.framing, data, ends)
	}
	r.carry = append(r.carry, data[c.cut:]...)
	if !r.begin(b, &c, data) {
		return nil
	}
	return r.finish(b, data[:c.cut], ends)
}

// begin looks at data if b is the first block of its file. It returns false, and b is
// empty and has failed, if the file is refused.
func (r *reader) begin(b *Block, c *cutter, data []byte) bool {
	if !b.fresh || len(data) == 0 {
		return true
	}
	b.marked = c.begin && bytes.HasPrefix(data, utf8Mark)
	if r.config.Start == nil {
		return true
	}
	if b.failure = r.config.Start(b.File, data); b.failure == nil {
		return true
	}
	r.close()
	b.Data, b.Offsets = b.Data[:0], b.Offsets[:1]
	return false
}

// endFile makes the last block of a file from what was gathered before err.
func (r *reader) endFile(b *Block, data []byte, ends []uint32, c cutter, err error) error {
	ends = c.scan(&r.framing, data, ends)
	if !r.begin(b, &c, data) {
		return nil
	}
	switch {
	case err != io.EOF:
		var failed *input.Error
		if !errors.As(err, &failed) {
			return err // of the context
		}
		b.failure = err
		data = data[:c.cut]
	case c.state == quoted:
		b.failure, b.inner = errOpenQuote, true
		data = data[:c.cut]
	case b.marked && len(data) == len(utf8Mark):
		data = data[:0] // an empty text
	case c.cut < len(data):
		data = append(data, r.framing.delimiter...)
		if b.split {
			ends = append(ends, uint32(len(data)))
		}
	}
	r.close()
	if r.header && len(data) == 0 {
		return nil
	}
	return r.finish(b, data, ends)
}

// finish puts the records into b and, if they are the header, looks its columns up.
func (r *reader) finish(b *Block, data []byte, ends []uint32) error {
	b.Data, b.Offsets = data, ends
	if !r.header {
		return nil
	}
	r.header = false
	b.Header = true
	line := bytes.Clone(r.framing.trim(data))
	var err error
	if r.key, err = r.config.Key.WithHeader(line); err == nil {
		r.time, err = r.config.Time.WithHeader(line)
	}
	if err != nil {
		r.close()
		b.Data, b.Offsets = b.Data[:0], b.Offsets[:1]
		b.failure, b.inner = err, true
	}
	return nil
}
