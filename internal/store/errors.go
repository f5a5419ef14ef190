package store

import (
	"errors"

	"seen/bloom"
)

// Errors that callers tell apart with errors.Is. The errors returned wrap them and
// say more.
var (
	// ErrExists says that the name has a value already.
	ErrExists = errors.New("the name is taken")
	// ErrNotFound says that there is no value of that name.
	ErrNotFound = errors.New("there is no value of that name")
	// ErrWrongType says that the name has a value of another type.
	ErrWrongType = errors.New("the name has a value of another type")
	// ErrGone says that the value was deleted or renamed after it was looked up,
	// and that nothing was changed: look it up again and repeat the call.
	ErrGone = errors.New("the value was deleted or renamed meanwhile; look it up again")
	// ErrFull says that a filter that does not grow, or cannot grow any further,
	// takes no more keys.
	ErrFull = errors.New("the filter is full")
	// ErrExpansions says that a cuckoo filter has as many sub-filters as it may
	// have. It is matched by ErrFull too.
	ErrExpansions error = &fullError{"the filter has reached its largest number of expansions"}
	// ErrMemory says that the limit of memory, or the memory of the machine, does
	// not allow a creation or growth. Nothing was changed.
	ErrMemory = errors.New("not enough memory")
	// ErrDiskFull says that the disk has too little room for another change. Questions
	// are still answered, and changes are accepted again when there is room.
	ErrDiskFull = errors.New("the disk is full")
	// ErrFailed says that the disk could not be written, so that what is not durable yet
	// will not become so. Questions about what was durable are still answered.
	ErrFailed = errors.New("the log cannot be written")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("closed")
	// ErrLocked says that another process uses the data directory.
	ErrLocked = errors.New("the data directory is in use")
	// ErrData says that what is to be loaded is not a dump, or does not fit the value it
	// is loaded into.
	ErrData = errors.New("bad data")
	// ErrPayload says that the checksum or the version of a payload is wrong. It is matched
	// by ErrData too.
	ErrPayload error = &dataError{"the payload cannot be read"}
	// ErrSecret says that a payload is for a server with another secret. It is matched by
	// ErrData too.
	ErrSecret error = &dataError{"a payload for another secret"}
	// ErrOffset says that the position at which a dump is to continue, or a chunk to be
	// loaded, does not exist.
	ErrOffset = errors.New("there is nothing at that position")
	// ErrChunk says that a chunk reaches beyond the array it belongs to.
	ErrChunk = errors.New("the chunk is too long for the filter")
	// ErrOverflow says that a sum of counters is outside of what a counter holds.
	// Nothing was changed.
	ErrOverflow = errors.New("a counter would overflow")
	// ErrReadOnly says that a filter is of another system and never changes.
	ErrReadOnly = errors.New("the filter is of another system and can only be asked")
	// ErrUnlike is matched by errors about values that cannot be merged because
	// their parameters differ; the text names the difference.
	ErrUnlike = bloom.ErrIncompatible
)

// dataError is an error that is also an ErrData.
type dataError struct{ text string }

func (e *dataError) Error() string        { return e.text }
func (e *dataError) Is(target error) bool { return target == ErrData }

// fullError is an error that is also an ErrFull.
type fullError struct{ text string }

func (e *fullError) Error() string        { return e.text }
func (e *fullError) Is(target error) bool { return target == ErrFull }
