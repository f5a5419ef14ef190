package stream

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"net"
	"syscall"
	"unsafe"
)

const (
	// gatherSize is how many bytes of small runs are gathered into one write.
	gatherSize = 128 << 10
	// directSize is the length from which a run of records is written from the
	// block itself, without being copied.
	directSize = 32 << 10
)

// WriterOptions says how records are written.
type WriterOptions struct {
	// LineBuffered writes everything out at the end of each call, so that with
	// an input that is a pipe a record comes out as soon as it came in.
	LineBuffered bool
	// Counters, when not nil, has its Kept and Dropped kept up to date.
	Counters *Counters
}

// Writer writes the kept records of blocks. Adjacent ones are written as one
// run: long runs straight from the block, short ones gathered. An error stays;
// later calls return it and write nothing. Of a block it uses Data, Offsets and
// Header, so that held copies of records can be written too. A Writer is for one
// goroutine.
type Writer struct {
	w       io.Writer
	options WriterOptions
	pending []byte
	taken   uint64
	err     error
}

// NewWriter returns a Writer to w. Flush must be called at the end.
func NewWriter(w io.Writer, o WriterOptions) *Writer {
	return &Writer{w: w, options: o, pending: make([]byte, 0, gatherSize)}
}

// Write writes the records of b for which keep is true, all of them if keep is
// nil. keep has one element per record.
func (w *Writer) Write(b *Block, keep []bool) error {
	n := b.Len()
	kept := 0
	if keep == nil {
		w.put(b.Data)
		kept = n
	} else {
		kept = w.putRuns(b, keep[:n])
	}
	return w.done(b, kept)
}

// putRuns writes the records of b for which keep is true, and returns their
// number. Which record is kept cannot be predicted, so that the loop has a step
// for each run of kept records and none for each record.
func (w *Writer) putRuns(b *Block, keep []bool) (kept int) {
	from := -1        // where the present run begins, if there is one
	last := uint64(0) // 1 if the record before this group is kept
	for at := 0; at < len(keep); at += group {
		is := bitsOf(keep[at:])
		kept += bits.OnesCount64(is)
		for turns := is ^ (is<<1 | last); turns != 0; turns &= turns - 1 {
			i := at + bits.TrailingZeros64(turns)
			if from < 0 {
				from = i
				continue
			}
			w.put(b.Data[b.Offsets[from]:b.Offsets[i]])
			from = -1
		}
		last = is >> (group - 1)
	}
	if from >= 0 {
		w.put(b.Data[b.Offsets[from]:b.Offsets[len(keep)]])
	}
	return kept
}

// group is how many records putRuns looks at together.
const group = 64

// bitsOf returns the first group of keep, bit by bit; what it does not have is 0.
func bitsOf(keep []bool) (is uint64) {
	if len(keep) < group {
		for i, k := range keep {
			if k {
				is |= 1 << i
			}
		}
		return is
	}
	p := unsafe.Pointer(&keep[:group][0])
	for i := 0; i < group; i += 8 {
		// A bool is a byte, 0 or 1. The product has byte j at bit 56 + j, and
		// nothing else from there on.
		eight := *(*[8]byte)(unsafe.Add(p, i))
		is |= binary.LittleEndian.Uint64(eight[:]) * 0x0102040810204080 >> 56 << i
	}
	return is
}

// WritePrefixed is Write with something before each record, such as a mark or a
// tag; prefix returns it for record i and may reuse its memory.
func (w *Writer) WritePrefixed(b *Block, keep []bool, prefix func(i int) []byte) error {
	kept := 0
	for i := range b.Len() {
		if keep == nil || keep[i] {
			kept++
			w.put(prefix(i))
			w.put(b.Line(i))
		}
	}
	return w.done(b, kept)
}

// done ends a call: it counts, and flushes if that is due.
func (w *Writer) done(b *Block, kept int) error {
	if c := w.options.Counters; c != nil && !b.Header {
		c.Kept.Add(uint64(kept))
		c.Dropped.Add(uint64(b.Len() - kept))
	}
	if w.options.LineBuffered {
		return w.Flush()
	}
	return w.err
}

// Taken returns how many bytes of records were given to w so far, written or not.
func (w *Writer) Taken() uint64 { return w.taken }

// put writes p or gathers it.
func (w *Writer) put(p []byte) {
	w.taken += uint64(len(p))
	if len(p) >= directSize {
		if w.Flush() == nil {
			w.write(p)
		}
		return
	}
	if len(w.pending)+len(p) > cap(w.pending) {
		w.Flush() // it stays in w.err
	}
	w.pending = append(w.pending, p...)
}

// Flush writes out what was gathered.
func (w *Writer) Flush() error {
	if len(w.pending) > 0 {
		w.write(w.pending)
		w.pending = w.pending[:0]
	}
	return w.err
}

func (w *Writer) write(p []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(p)
	}
}

// IsBrokenPipe reports whether err says that the reader of the output has gone. For
// standard output the system sends SIGPIPE instead, which ends the program unless it
// ignores that signal. A network connection that breaks gives the same number, but is not
// an output.
func IsBrokenPipe(err error) bool {
	var network *net.OpError
	if errors.As(err, &network) {
		return false
	}
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
