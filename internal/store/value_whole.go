package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
)

// whole is the base of values whose changes are not idempotent, so that their image is a
// copy of all of them at one position of the log. A change is decided, logged as it was
// asked for, and made by the same call of the value type that a replay makes.
type whole struct {
	base
	// Guarded by mu.
	content LSN     // the last change of the contents
	blank   bool    // the contents are what creation made
	file    fileRef // the newest that has the contents
	fileAt  LSN     // operations up to it are in the file
	asked   uint64  // bytes that ask was asked for, and that are not in memory yet
}

// start begins a new value without contents.
func (w *whole) start(s *Store, k kind) {
	w.store, w.kind, w.core, w.blank = s, k, new(core), true
}

// moveTo makes c the same value under another name, without the contents; mu is held.
func (w *whole) moveTo(c *whole) {
	w.copyTo(&c.base)
	c.content, c.blank, c.file, c.fileAt = w.content, w.blank, w.file, w.fileAt
}

// ask reserves bytes before they are allocated.
func (w *whole) ask(bytes uint64) error {
	err := w.store.memory.change(0, bytes)
	if err == nil {
		w.asked += bytes
	}
	return err
}

// settle brings the account of memory in line with what the contents take.
func (w *whole) settle(bytes uint64) {
	is := bytes + valueOverhead
	w.store.memory.force(w.memory.Swap(is)+w.asked, is)
	w.asked = 0
}

// log appends a change of the contents that is decided, before it is made.
func (w *whole) log(code opcode, body []byte) LSN {
	at := w.store.log.append(code, w.id, body)
	w.made(at)
	return at
}

// loadChunk logs a chunk of a dump and has load put it where it belongs.
func (w *whole) loadChunk(iterator int64, data []byte, load func(int64, []byte) error) (LSN, error) {
	if err := w.lock(); err != nil {
		return 0, err
	}
	defer w.mu.Unlock()
	// If this is refused, so is its replay.
	at := w.log(opLoad, append(binary.AppendVarint(nil, iterator), data...))
	return at, load(iterator, data)
}

// made notes the position of a change of the contents that is about to be made.
func (w *whole) made(at LSN) {
	w.changedAll(at)
	w.content, w.blank = at, false
}

// copied is a copy of contents.
type copied interface {
	WriteTo(io.Writer) (int64, error)
}

// captureWhole describes the value, whose contents take the given bytes; mu is held. A
// copy is written to the file, so that changes do not wait for the disk. If there is not
// enough memory for one, or clone is nil because contents never change, contents are
// written.
func (w *whole) captureWhole(meta []byte, bytes uint64, contents copied, clone func() (copied, error)) (*capture, error) {
	c := &capture{image: w.image(meta)}
	c.saved = func(im *image, at LSN) {
		if p := im.parts[0]; p.state == partFile {
			w.file, w.fileAt = p.file, at
		}
	}
	if w.file.number != 0 && w.content <= w.fileAt {
		c.parts = []part{{state: partFile, file: w.file}}
		return c, nil
	}
	if w.blank {
		c.parts = []part{{state: partEmpty}}
		return c, nil
	}
	if bytes > maxInline && clone != nil {
		if err := w.store.memory.change(0, bytes); err != nil {
			c.inPlace = true
		} else {
			c.release = func() { w.store.memory.force(bytes, 0) }
			v, err := clone()
			if err != nil {
				c.drop()
				c.inPlace = true
			} else {
				contents = v
			}
		}
	}
	return c, c.whole(contents, bytes)
}

// whole makes v, which takes about the given bytes, the one array of an image.
func (c *capture) whole(v copied, size uint64) error {
	if size > maxInline {
		c.parts = []part{{}}
		c.write = []func(io.Writer) error{func(to io.Writer) error {
			return summed(to, func(to io.Writer) error {
				_, err := v.WriteTo(to)
				return err
			})
		}}
		return nil
	}
	var b bytes.Buffer
	if _, err := v.WriteTo(&b); err != nil {
		return err
	}
	c.parts = []part{{state: partInline, inline: b.Bytes()}}
	return nil
}

// replaceWith logs that v, of about the given bytes, replaces the contents; mu is held.
// The caller replaces them.
func (w *whole) replaceWith(work *Work, meta []byte, v copied, size uint64) (LSN, error) {
	c := &capture{image: w.image(meta)}
	if err := c.whole(v, size); err != nil {
		return 0, err
	}
	if _, err := w.store.putParts(work, c); err != nil {
		return 0, err
	}
	at := w.log(opReplace, c.append(nil))
	c.at = at
	w.stored.add(c.files())
	if p := c.parts[0]; p.state == partFile {
		w.file, w.fileAt = p.file, at
	}
	return at, nil
}

// replaced returns the contents that an operation of replaceWith has, which the
// caller releases.
func (w *whole) replaced(op operation, at LSN) (c contents, err error) {
	im, err := parseImage(op.body)
	if err != nil {
		return c, err
	}
	im.at = at
	if c, err = w.store.loadWhole(im); err == nil {
		w.loaded(im, w.memory.Load()-valueOverhead)
	}
	return c, err
}

// loadWhole returns the contents that an image has, without bytes if there are none.
// The caller releases them.
func (s *Store) loadWhole(im *image) (c contents, err error) {
	if len(im.parts) != 1 {
		return c, fmt.Errorf("%d arrays for a value that has one", len(im.parts))
	}
	switch p := im.parts[0]; p.state {
	case partInline:
		return contents{bytes: p.inline}, nil
	case partFile:
		return s.files.readSummed(p.file)
	}
	return c, nil
}

// loaded notes where the contents, of the given bytes, came from.
func (w *whole) loaded(im *image, bytes uint64) {
	w.memory.Store(bytes + valueOverhead)
	w.content = im.at
	p := im.parts[0]
	w.blank = p.state == partEmpty
	if p.state == partFile {
		w.file, w.fileAt = p.file, im.at
	}
}

// held is the base of values whose contents are a T.
type held[T any, P interface {
	*T
	copied
	Bytes() uint64
	Clone() (*T, error)
}] struct {
	whole
	now atomic.Pointer[T]
}

// enter makes k, unless err says why there is none, the contents of v, whose base h is, and
// gives v a name, as Store.create does.
func (h *held[T, P]) enter(v settable[T], name []byte, k *T, err error, replace bool, first func()) (LSN, error) {
	if err != nil {
		h.store.memory.force(h.asked, 0)
		return 0, err
	}
	v.set(k)
	h.settle()
	return h.store.create(nil, name, v, replace, first)
}

// settable is a value whose contents are a T.
type settable[T any] interface {
	value
	set(*T)
}

// fill makes k, which an image describes, the contents of v, whose base h is.
func (h *held[T, P]) fill(v settable[T], im *image, k *T) value {
	v.set(k)
	h.loaded(im, P(k).Bytes())
	return v
}

// settle brings the account of memory in line with the contents.
func (h *held[T, P]) settle() { h.whole.settle(P(h.now.Load()).Bytes()) }

// captureHeld is captureWhole of the present contents.
func (h *held[T, P]) captureHeld(meta []byte) (*capture, error) {
	k := P(h.now.Load())
	return h.captureWhole(meta, k.Bytes(), k, func() (copied, error) {
		c, err := k.Clone()
		return P(c), err
	})
}
