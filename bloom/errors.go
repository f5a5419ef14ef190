package bloom

import (
	"errors"
	"fmt"

	"seen/internal/frame"
)

var (
	// ErrFull is matched by errors about a filter that has reached its limit of memory
	// and takes no more keys.
	ErrFull = errors.New("filter is full")
	// ErrMaxFilters is matched by errors about a [Cuckoo] that must grow to take a key
	// and has as many sub-filters as it may have.
	ErrMaxFilters = errors.New("filter has its largest number of sub-filters")
	// ErrIncompatible is matched by errors about filters that cannot be combined
	// because their type, parameters or hash differ. Most are an [*IncompatibleError].
	ErrIncompatible = errors.New("filters are not alike")
)

// IncompatibleError names the first difference of two filters that cannot be combined.
type IncompatibleError struct {
	What string // what differs, in the plural: "key hashes", "error rates"
	Want any    // that of the filter that was to take the keys
	Have any    // that of the other
}

func (e *IncompatibleError) Error() string {
	return fmt.Sprintf("%v: different %s: %v and %v", ErrIncompatible, e.What, e.Want, e.Have)
}

// Is makes [ErrIncompatible] match e.
func (e *IncompatibleError) Is(target error) bool { return target == ErrIncompatible }

// SecretError reports that keys are hashed with a secret that was not given, or not the
// right one.
type SecretError struct {
	KeyID uint64 // of the secret that is needed; see [Hash.KeyID]
	Given bool   // another secret was given
}

func (e *SecretError) Error() string {
	if e.Given {
		return fmt.Sprintf("the keys are hashed with another secret (key id %016x); give that one", e.KeyID)
	}
	return fmt.Sprintf("the keys are hashed with a secret (key id %016x); give it", e.KeyID)
}

// CorruptError reports bytes of an encoded filter or sketch that no writer of this
// module produces. Find it with errors.As.
type CorruptError struct {
	Offset int64 // of the damaged field, block or byte
	Reason string
}

func (e *CorruptError) Error() string { return (*frame.CorruptError)(e).Error() }

func init() {
	frame.AsPublic = func(e *frame.CorruptError, target any) bool {
		p, ok := target.(**CorruptError)
		if ok {
			*p = (*CorruptError)(e)
		}
		return ok
	}
}
