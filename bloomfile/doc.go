// Package bloomfile keeps filters in files. It replaces files atomically, locks them
// against a second writer, and maps them into memory: a filter of 100 GB answers
// milliseconds after it is opened, and all processes that use it share its pages.
//
// It is for programs that keep a filter between runs. It is not a database: a file is one
// filter, and keys that were added in place since the last Sync may be lost if the machine
// goes down, though not if the process ends. The format is that of package bloom
// (docs/FORMAT.md): each package reads what the other writes.
//
// Each 64 KiB of a file has a checksum, which is verified when a call first reads them. So
// a program verifies only the pages that it uses, and damage is found before it causes a
// wrong "no": the call returns a *[CorruptError] with the offset. If a mapped file is
// truncated or its disk fails, calls that read the lost part return an error; the program
// does not crash.
//
// Any number of goroutines may ask a [File] at the same time, as long as none adds, syncs
// or closes.
package bloomfile

import (
	"bytes"
	"errors"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/vfs"
)

// Errors to test for with errors.Is. All errors of this package name the file.
var (
	// ErrLocked says that another process, or another part of this one, has the
	// file's lock.
	ErrLocked = vfs.ErrLocked
	// ErrDirty says that the file was being changed in place when the machine went
	// down, so its checksums are not valid; see Rebuild. A reader also gets it while
	// another process is changing the file: then the error matches ErrLocked too, or a
	// later attempt succeeds.
	ErrDirty = frame.ErrDirty
	// ErrTruncated says that the end of the file is missing.
	ErrTruncated = frame.ErrTruncated
	// ErrOversized says that bytes follow the end of the filter.
	ErrOversized = frame.ErrOversized
	// ErrNotFrame says that the file is not in this format.
	ErrNotFrame = frame.ErrNotFrame
	// ErrVersion says that the file is in a newer version of the format.
	ErrVersion = frame.ErrVersion
)

// Detect reports whether a file that begins with start is in the format of this package,
// even if the file is cut short within its first bytes or was damaged by a transfer as
// text. An empty start is not.
func Detect(start []byte) bool {
	name := frame.Magic()[:len("\x89SEEN")]
	return len(start) > 0 && bytes.HasPrefix(start, name[:min(len(start), len(name))])
}

// CorruptError reports damage, with its offset in the file.
type CorruptError = bloom.CorruptError

// IsDamage reports whether an error says that a file in this format is damaged.
func IsDamage(err error) bool {
	var corrupt *CorruptError
	return errors.As(err, &corrupt) || errors.Is(err, ErrTruncated) || errors.Is(err, ErrOversized)
}
