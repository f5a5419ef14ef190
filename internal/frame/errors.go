package frame

import (
	"errors"
	"fmt"
)

// Errors to test for with errors.Is. The errors that are returned wrap them and say
// the sizes.
var (
	// ErrNotFrame says that the bytes are not a frame.
	ErrNotFrame = errors.New("not a seen file")
	// ErrTruncated says that the frame ends before the length in its header.
	ErrTruncated = errors.New("truncated")
	// ErrOversized says that bytes follow the end of the frame.
	ErrOversized = errors.New("oversized")
	// ErrVersion says that the frame was written in a newer format version.
	ErrVersion = errors.New("newer format version")
	// ErrDirty says that the frame is being changed in place, or that its writer was
	// killed while it did, so its checksums are not valid.
	ErrDirty = errors.New("marked dirty")
)

// CorruptError reports bytes that no writer writes.
type CorruptError struct {
	Offset int64 // of the damaged field, chunk or byte in the frame
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("damaged at byte %d: %s", e.Offset, e.Reason)
}

// AsPublic stores e in target if that is a pointer to the type that users know the error
// by. Package bloom sets it.
var AsPublic = func(e *CorruptError, target any) bool { return false }

// As lets errors.As find the public form of e.
func (e *CorruptError) As(target any) bool { return AsPublic(e, target) }

func corrupt(offset uint64, format string, args ...any) *CorruptError {
	return &CorruptError{Offset: int64(offset), Reason: fmt.Sprintf(format, args...)}
}

func truncated(have, want uint64) error {
	return fmt.Errorf("%w: %d bytes of %d; restore the file from a copy", ErrTruncated, have, want)
}
