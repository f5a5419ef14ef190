package cluster

import (
	"errors"
	"fmt"
)

var (
	// ErrMissingSlice is matched by errors about a slice that is not there, is
	// shorter than it was made or is not of this filter: evicted, deleted, or lost
	// with a node. Keys may be forgotten, so no answer is given; [Filter.Clear] makes
	// the filter whole, and empty. A [KeyError] around it names the slices.
	ErrMissingSlice = errors.New("a slice of the filter is missing")
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

// ParameterError says that a filter exists with another parameter than was asked for.
type ParameterError struct {
	// Filter is the name of the filter, or of the string of a [RecipeFilter].
	Filter string
	// Parameter is the first that differs: the name of a field of [Config],
	// [WindowConfig], [ServerConfig] or [RecipeConfig], or Kind, which is a filter or a
	// window.
	Parameter string
	// Have is what the filter has, Want what was asked for.
	Have, Want any
}

// Error names the parameter and both values.
func (e *ParameterError) Error() string {
	name, ok := map[string]string{
		"Kind": "kind", "Capacity": "capacity", "ErrorRate": "error rate", "SliceBytes": "largest slice", "Fixed": "fixed",
		"Hash": "hash", "Span": "span", "Generations": "generations", "NoRefresh": "no refresh", "Bits": "length",
	}[e.Parameter]
	if !ok {
		name = e.Parameter
	}
	return fmt.Sprintf("%q: the filter has other parameters: %s is %v, not %v", e.Filter, name, e.Have, e.Want)
}

// NotFilterError says that a key of the engine holds something else than the filter, or
// the part of one, that was looked for.
type NotFilterError struct {
	// Key is the key of the engine.
	Key string
	// Holds is what it holds instead.
	Holds string
	// Record says that this is the record of a filter, which is damaged or of another
	// version, and Newer that its version is newer than this program.
	Record, Newer bool
}

// Error names the key and what it holds.
func (e *NotFilterError) Error() string {
	return fmt.Sprintf("key %q cannot be used as a filter: it holds %s", e.Key, e.Holds)
}

// UndecidedError says for which keys of a call there is no answer. The answers of
// the others are valid.
//
// An undecided key of Add may or may not have been recorded: if the connection broke
// after the command was sent, it is impossible to know. Adding it again then answers
// false if the first attempt has arrived. So a crawler that must not lose a page treats
// undecided keys as new, and one that must not fetch twice treats them as seen. If every
// reason is [ErrFull], the keys were not in the filter.
type UndecidedError struct {
	// Keys are the indices, ascending, of the keys in the call.
	Keys []int
	// Reasons are why, at least one.
	Reasons []error
	// NotAdded says that this call has recorded none of Keys: nothing was sent for
	// them, or the engine has refused it. Of a call of Has it says nothing.
	NotAdded bool
}

// Error names the number of keys and the reasons.
func (e *UndecidedError) Error() string {
	return fmt.Sprintf("%d keys are undecided: %v", len(e.Keys), errors.Join(e.Reasons...))
}

// Unwrap returns the reasons.
func (e *UndecidedError) Unwrap() []error { return e.Reasons }

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

func missingSlice(key string) error {
	return about(key, fmt.Errorf("%w: it was evicted, deleted or lost with a node", ErrMissingSlice))
}
