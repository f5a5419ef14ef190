package remote

import (
	"errors"
	"slices"

	"seen/cluster"
)

// Reasons returns why keys are undecided, given the errors of one or several calls: what
// several slices or batches share is told once.
func Reasons(errs []error) []error {
	var all []error
	for _, err := range errs {
		reasons := []error{err}
		if u, ok := err.(*cluster.UndecidedError); ok {
			reasons = u.Reasons
		}
		for _, reason := range reasons {
			all = withReason(all, reason)
		}
	}
	return all
}

// withReason appends a reason to those known, unless it is among them. Of one that is
// about other keys of the engine the keys are added.
func withReason(all []error, err error) []error {
	k, isKey := err.(*cluster.KeyError)
	for i, have := range all {
		other, ok := have.(*cluster.KeyError)
		switch {
		case ok && isKey && other.Err.Error() == k.Err.Error():
			keys := slices.Concat(other.Keys, k.Keys)
			slices.Sort(keys)
			all[i] = &cluster.KeyError{Keys: slices.Compact(keys), Err: k.Err}
			return all
		case !isKey && have.Error() == err.Error():
			return all
		}
	}
	return append(all, err)
}

// IsFull reports whether nothing but a full filter keeps keys from being decided.
func IsFull(errs []error) bool {
	return len(errs) > 0 && !slices.ContainsFunc(Reasons(errs), func(e error) bool { return !errors.Is(e, cluster.ErrFull) })
}

// notAdded reports whether the keys that the calls leave undecided are certainly not in
// the filter because of them.
func notAdded(errs []error) bool {
	return !slices.ContainsFunc(errs, func(err error) bool {
		u, ok := err.(*cluster.UndecidedError)
		return !ok || !u.NotAdded
	})
}
