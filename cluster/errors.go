package cluster

import (
	"errors"
	"fmt"

	"github.com/redis/rueidis"
)

var (
	// ErrMissingSlice is matched by errors about a slice that is not there, is
	// shorter than it was made or is not of this filter: evicted, deleted, or lost
	// with a node. Keys may be forgotten, so no answer is given; [Filter.Clear] makes
	// the filter whole, and empty.
	ErrMissingSlice = errors.New("a slice of the filter is missing")
	// ErrOtherParameters is matched when a filter of the name exists with other
	// parameters than those asked for. The text names the difference.
	ErrOtherParameters = errors.New("the filter has other parameters")
	// ErrWrongType is matched when a key of the filter holds something else.
	ErrWrongType = errors.New("the key holds something else")
	// ErrNotFound is matched when there is no filter of the name, or no longer.
	ErrNotFound = errors.New("there is no such filter")
	// ErrFull is matched when a filter that is Fixed has reached its capacity, or
	// when growth has come to its end. The key is certainly not in the filter.
	ErrFull = errors.New("filter is full")
	// ErrReplicas is matched when fewer replicas than [Wait] asks for have confirmed
	// a write in time.
	ErrReplicas = errors.New("not enough replicas have confirmed")
)

// UndecidedError says for which keys of a call there is no answer. The answers of
// the others stand.
//
// An undecided key of Add may or may not have been recorded: if the connection
// broke after the command was sent, nobody can know. Adding it again then answers
// false if the first attempt has arrived, so a crawler that must not lose a page
// takes undecided keys for new, and one that must not fetch twice takes them for
// seen. If Err matches [ErrFull] the key was not in the filter.
type UndecidedError struct {
	// Keys are the indices, ascending, of the keys in the call.
	Keys []int
	// Err is why: one reason, or several joined.
	Err error
}

// Error names the number of keys and the reason.
func (e *UndecidedError) Error() string {
	return fmt.Sprintf("cluster: %d keys are undecided: %v", len(e.Keys), e.Err)
}

// Unwrap returns the reason.
func (e *UndecidedError) Unwrap() error { return e.Err }

// refused reports whether the engine has answered a command with an error: then it
// was not executed.
func refused(err error) bool {
	_, ok := rueidis.IsRedisErr(err)
	return ok
}

// passing reports whether the engine has refused a command for a reason that goes
// away by itself, so that trying again makes sense.
func passing(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	if !ok {
		return false
	}
	if _, redirect := e.IsRedirect(); redirect {
		return true
	}
	return e.IsTryAgain() || e.IsClusterDown() || e.IsLoading() || hasPrefix(e, "READONLY", "MASTERDOWN")
}

func hasPrefix(e *rueidis.RedisError, prefixes ...string) bool {
	text := e.Error()
	for _, p := range prefixes {
		if len(text) >= len(p) && text[:len(p)] == p {
			return true
		}
	}
	return false
}

// explain gives an answer of the engine the words that callers branch on.
func explain(key string, err error) error {
	if e, ok := rueidis.IsRedisErr(err); ok && hasPrefix(e, "WRONGTYPE") {
		return fmt.Errorf("key %q: %w: %w; choose another name or delete it", key, ErrWrongType, err)
	}
	return fmt.Errorf("key %q: %w", key, err)
}

func missingSlice(key string) error {
	return fmt.Errorf("key %q: %w: evicted, deleted or lost with a node; Clear or Drop the filter", key, ErrMissingSlice)
}
