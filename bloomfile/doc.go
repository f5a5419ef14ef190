// Package bloomfile keeps filters in files: it replaces them atomically, locks
// them against a second writer, and opens them as mapped memory, so that a filter
// of 100 GB answers within milliseconds of opening and its pages are shared by
// all processes that ask it.
//
// It is for programs whose filters outlive them. It is no database: a file is one
// filter, and what a mapped filter was told since the last Sync may be lost with
// the machine, though not with the process. The bytes are those of package bloom
// (docs/FORMAT.md); what is written here may be read there and the other way round.
//
// Each 64 KiB of a file has a checksum, which is verified when a question first
// touches them. Damage is therefore found where it would make a wrong "no", at the
// cost of the pages a program really uses, and is returned as a *[CorruptError]
// that names the offset. A file that is truncated while it is mapped, or whose disk
// fails, makes errors of the questions that meet it, where other programs die of
// such a fault.
//
// Any number of goroutines may ask a [File] at the same time, as long as none
// adds, syncs or closes.
package bloomfile

import (
	"bytes"
	"errors"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/vfs"
)

// Errors to be tested with errors.Is. All errors of this package name the file.
var (
	// ErrLocked says that another process, or another part of this one, has the
	// file's lock.
	ErrLocked = vfs.ErrLocked
	// ErrDirty says that the file was being changed in place when the machine
	// went down, so that its checksums do not hold; see Rebuild. It is also what a
	// reader gets while another process is changing the file; then ErrLocked holds
	// besides, or a later attempt succeeds.
	ErrDirty = frame.ErrDirty
	// ErrTruncated says that the end of the file is missing.
	ErrTruncated = frame.ErrTruncated
	// ErrOversized says that something follows the end of the file.
	ErrOversized = frame.ErrOversized
	// ErrNotFrame says that the file is something else.
	ErrNotFrame = frame.ErrNotFrame
	// ErrVersion says that a newer program has written the file.
	ErrVersion = frame.ErrVersion
)

// Detect reports whether a file that begins with start is one of this package, also one
// that was cut short within its first bytes or damaged by a transfer as text. No bytes are
// a file of nothing.
func Detect(start []byte) bool {
	name := frame.Magic()[:len("\x89SEEN")]
	return len(start) > 0 && bytes.HasPrefix(start, name[:min(len(start), len(name))])
}

// CorruptError reports damage and its offset in the file.
type CorruptError = bloom.CorruptError

// IsDamage reports whether an error says that a file is one of this package, but is not
// whole.
func IsDamage(err error) bool {
	var corrupt *CorruptError
	return errors.As(err, &corrupt) || errors.Is(err, ErrTruncated) || errors.Is(err, ErrOversized)
}
