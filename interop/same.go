package interop

import (
	"fmt"

	"seen/bloom"
)

// same is a property that two filters must have in common to be merged.
type same struct {
	name string
	a, b any
}

// checkSame returns an error that wraps bloom.ErrIncompatible and names the first
// property that differs.
func checkSame(all ...same) error {
	for _, s := range all {
		if s.a != s.b {
			return fmt.Errorf("interop: %w: %s is %v and %v", bloom.ErrIncompatible, s.name, s.a, s.b)
		}
	}
	return nil
}

// sameSystem returns other as a filter of the type that it is to be merged into, or an
// error that wraps bloom.ErrIncompatible.
func sameSystem[F Reader](into F, other Reader) (F, error) {
	g, ok := other.(F)
	if !ok {
		return g, errUnlike(fmt.Sprintf("%T", into), other)
	}
	return g, nil
}

// noteBeyond is what a user should know of bits behind the m of a filter.
func noteBeyond(a *bitArray, m uint64) []string {
	n := a.beyond(m)
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d bits beyond the %d of the filter are set; they are kept, and mean nothing", n, m)}
}
