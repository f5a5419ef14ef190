package interop

import (
	"errors"
	"fmt"

	"seen/internal/rdb"
	"seen/internal/redisbloom"
)

// Errors that callers tell apart with errors.Is. The errors returned wrap them and say
// more.
var (
	// ErrUnknown says that content does not tell its format.
	ErrUnknown = errors.New("not a filter of any format that can be recognised by its content")
	// ErrBadData says that bytes are not what their format demands.
	ErrBadData = rdb.ErrBadData
	// ErrSpec says that a [Spec] has an unknown name or parameter, a bad value, or lacks a
	// parameter.
	ErrSpec = errors.New("bad format")
	// ErrNotConvertible says that two formats map a key to different bits, so that only
	// the keys can make the new filter.
	ErrNotConvertible = errors.New("cannot be converted without the keys")
	// ErrFull says that a filter which does not grow has reached its capacity.
	ErrFull = redisbloom.ErrFull
	// ErrReadOnly says that a filter refers to the bytes it was opened from; change its
	// [Clone].
	ErrReadOnly = errors.New("the filter is read-only: it refers to the bytes it was opened from")
)

// SpecError is an error of [Open], [Create] or [Rewrap] that another [Spec] avoids.
type SpecError struct {
	// Err is what is wrong. It may wrap ErrSpec or ErrNotConvertible.
	Err error
	// Try are the specifications to choose from. Words in capital letters are values that
	// only the user knows. If Err wraps ErrNotConvertible, it is what to [Create] and add
	// the keys to.
	Try []string
	// Target says that Try is for the filter to write, not for the bytes to read.
	Target bool
}

func (e *SpecError) Error() string { return e.Err.Error() }
func (e *SpecError) Unwrap() error { return e.Err }

// RefusedError is the error of [Open] for content that is recognised and not supported.
type RefusedError struct {
	System string // what the content is
	Reason string // why it cannot be opened, and what to do instead
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s: known, but not a format that can be opened: %s", e.System, e.Reason)
}
