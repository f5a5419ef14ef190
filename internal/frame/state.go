package frame

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Where the state area is. It fits in one disk sector, so that a power loss leaves the
// former state or the new one.
const (
	StateOffset = 256
	StateSize   = 64
)

// Mark says what happened to a frame after it was written as a whole.
type Mark uint32

// The marks. Their numbers are part of the format.
const (
	MarkPristine Mark = 0 // nothing
	MarkDirty    Mark = 1 // a writer is changing it in place, or was killed while it did
	MarkChanged  Mark = 2 // it was changed in place, and its checksums are valid again
)

// State is what the state area says. It changes without the rest of the header, so
// that a power loss in the middle of a change cannot leave half a header. The zero
// State is all zero bytes, so that equal contents make equal frames. Others have
// this form:
//
//	0    4   mark
//	4    4   zero
//	8    16  dirty: boot id of the machine at the time the writer began; else zero
//	24   8   changed: the number that replaces "added" of the only part; else zero
//	32   28  zero
//	60   4   CRC-32 of the 60 bytes before
type State struct {
	Mark   Mark
	BootID [16]byte
	Added  uint64
}

// AppendState appends the StateSize bytes of s to dst.
func AppendState(dst []byte, s State) []byte {
	var b [StateSize]byte
	if s.Mark != MarkPristine {
		binary.LittleEndian.PutUint32(b[0:], uint32(s.Mark))
		if s.Mark == MarkDirty {
			copy(b[8:], s.BootID[:])
		} else {
			binary.LittleEndian.PutUint64(b[24:], s.Added)
		}
		binary.LittleEndian.PutUint32(b[60:], crc32.ChecksumIEEE(b[:60]))
	}
	return append(dst, b[:]...)
}

// ParseState reads the state area of a header, or of anything that starts with one.
func ParseState(header []byte) (State, error) {
	if len(header) < StateOffset+StateSize {
		return State{}, truncated(uint64(len(header)), PageSize)
	}
	b := header[StateOffset : StateOffset+StateSize]
	s := State{
		Mark:   Mark(binary.LittleEndian.Uint32(b)),
		BootID: [16]byte(b[8:24]),
		Added:  binary.LittleEndian.Uint64(b[24:]),
	}
	if s.Mark > MarkChanged || string(AppendState(nil, s)) != string(b) {
		return State{}, corrupt(StateOffset, "the state area is neither empty nor a mark with its checksum")
	}
	return s, nil
}

// Apply adds to h what the state says. A dirty frame is an error: its checksums do not
// match its contents.
func (h *Header) Apply(s State) error {
	switch s.Mark {
	case MarkDirty:
		return fmt.Errorf("%w: it is being changed, or its writer was killed", ErrDirty)
	case MarkChanged:
		if len(h.Parts) != 1 {
			return corrupt(StateOffset, "it has the mark of a change in place, which is not possible with %d parts", len(h.Parts))
		}
		h.Parts[0].Added = s.Added
	}
	return nil
}

// applyState is Apply with the state area of an encoded header.
func (h *Header) applyState(header []byte) error {
	s, err := ParseState(header)
	if err != nil {
		return err
	}
	return h.Apply(s)
}
