package cluster

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

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
	// ErrNoBloom is matched when a [ServerFilter] is opened in an engine without the BF
	// commands.
	ErrNoBloom = errors.New("the server has no BF commands")
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
// seen. If [ErrFull] is all that Err has, the keys were not in the filter.
type UndecidedError struct {
	// Keys are the indices, ascending, of the keys in the call.
	Keys []int
	// Err is why: one reason, or several joined.
	Err error
	// NotAdded says that this call has recorded none of Keys: nothing was sent for
	// them, or the engine has refused it. Of a call of Has it says nothing.
	NotAdded bool
}

// Error names the number of keys and the reason.
func (e *UndecidedError) Error() string {
	return fmt.Sprintf("%d keys are undecided: %v", len(e.Keys), e.Err)
}

// Unwrap returns the reason.
func (e *UndecidedError) Unwrap() error { return e.Err }

// KeyError is an error about keys of the engine, such as slices. A reason that many
// slices share is told once.
type KeyError struct {
	// Keys are what it is about, at least one.
	Keys []string
	// Err is what is wrong with each of them.
	Err error
}

// Error names the first key and the number of the others.
func (e *KeyError) Error() string {
	if others := len(e.Keys) - 1; others > 0 {
		return fmt.Sprintf("key %q and %d others: %v", e.Keys[0], others, e.Err)
	}
	return fmt.Sprintf("key %q: %v", e.Keys[0], e.Err)
}

// Unwrap returns what is wrong.
func (e *KeyError) Unwrap() error { return e.Err }

// about returns err as one about a key of the engine.
func about(key string, err error) error { return &KeyError{Keys: []string{key}, Err: err} }

// unsent reports whether a command has failed before it was sent, since nobody was
// there to send it to.
func unsent(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && e.Op == "dial" || errors.Is(err, rueidis.ErrNoSlot)
}

// refused reports whether the engine has answered a command with an error: then it
// was not executed.
func refused(err error) bool {
	_, ok := refusal(err) // the error is err itself
	return ok
}

// refusal returns the error with which the engine has answered, if err is one, also
// within others.
func refusal(err error) (*rueidis.RedisError, bool) {
	var e *rueidis.RedisError
	ok := errors.As(err, &e)
	return e, ok && !rueidis.IsRedisNil(e)
}

// passing reports whether the engine has refused a command for a reason that goes
// away by itself, so that trying again makes sense.
func passing(err error) bool {
	e, ok := refusal(err)
	if !ok {
		return false
	}
	// Those who have a connection of their own are not redirected.
	return hasPrefix(e, "TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN", "MOVED", "ASK", "REDIRECT")
}

// outOfMemory reports whether the engine has refused to write for want of memory.
func outOfMemory(err error) bool {
	e, ok := refusal(err)
	return ok && hasPrefix(e, "OOM")
}

func hasPrefix(e *rueidis.RedisError, prefixes ...string) bool {
	// What a transaction is refused for stands behind this.
	text := strings.TrimPrefix(e.Error(), "EXECABORT Transaction discarded because of: ")
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// explain gives an answer of the engine the words that callers branch on.
func explain(key string, err error) error {
	if e, ok := refusal(err); ok && hasPrefix(e, "WRONGTYPE") {
		return about(key, fmt.Errorf("%w: %w; choose another name or delete it", ErrWrongType, err))
	}
	return about(key, err)
}

func missingSlice(key string) error {
	return about(key, fmt.Errorf("%w: evicted, deleted or lost with a node; clear the filter or drop it", ErrMissingSlice))
}
