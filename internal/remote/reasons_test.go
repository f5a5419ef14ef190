package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"seen/cluster"
)

// What several calls and slices share is told once, and what it means for the keys is
// what it means for all of them.
func TestReasons(t *testing.T) {
	gone := errors.New("the connection broke")
	lost := func(keys ...string) error { return &cluster.KeyError{Keys: keys, Err: cluster.ErrMissingSlice} }
	full := fmt.Errorf("%q: %w", "crawl", cluster.ErrFull)
	call := func(notAdded bool, reasons ...error) error {
		return &cluster.UndecidedError{Keys: []int{0}, Reasons: reasons, NotAdded: notAdded}
	}
	for name, test := range map[string]struct {
		errs             []error
		want             []string
		isFull, notAdded bool
	}{
		"a deadline":   {[]error{context.DeadlineExceeded}, []string{"context deadline exceeded"}, false, false},
		"one twice":    {[]error{gone, call(true, gone)}, []string{"the connection broke"}, false, false},
		"slices":       {[]error{call(true, lost("b"), gone), call(true, lost("a", "b"))}, []string{`key "a" and 1 others: a slice of the filter is missing`, "the connection broke"}, false, true},
		"full":         {[]error{call(true, full), call(true, full)}, []string{`"crawl": filter is full`}, true, true},
		"full or lost": {[]error{call(true, full), call(false, lost("a"))}, []string{`"crawl": filter is full`, `key "a": a slice of the filter is missing`}, false, false},
	} {
		var got []string
		for _, err := range Reasons(test.errs) {
			got = append(got, err.Error())
		}
		if !slices.Equal(got, test.want) || IsFull(test.errs) != test.isFull || notAdded(test.errs) != test.notAdded {
			t.Errorf("%s: %q, full %v, not added %v", name, got, IsFull(test.errs), notAdded(test.errs))
		}
	}
	if IsFull(nil) {
		t.Error("no error, and the filter is full")
	}
}
