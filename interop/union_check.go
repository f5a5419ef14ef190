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

// checkSame returns a [bloom.IncompatibleError] with the first property that differs.
func checkSame(all ...same) error {
	for _, s := range all {
		if s.a != s.b {
			return &bloom.IncompatibleError{What: s.name, Want: s.a, Have: s.b}
		}
	}
	return nil
}

// sameSystem returns other as a filter of the type that it is to be merged into, or an
// error that wraps bloom.ErrIncompatible.
func sameSystem[F Foreign](into F, other Reader) (F, error) {
	g, ok := other.(F)
	if !ok {
		return g, errUnlike(into, other)
	}
	return g, nil
}

// unite sets the bits of other in to, the array of into. match returns the array of a
// filter of the same type, or an error that names the difference.
func unite[F Foreign](to *bitArray, into F, other Reader, match func(g F) (*bitArray, error)) error {
	if err := to.mayChange(); err != nil {
		return err
	}
	g, err := sameSystem(into, other)
	if err != nil {
		return err
	}
	from, err := match(g)
	if err != nil {
		return err
	}
	to.or(from)
	return nil
}

// noteBeyond says what a user should know about bits beyond the m of a filter.
func noteBeyond(a *bitArray, m uint64) []string {
	n := a.beyond(m)
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d bits beyond the %d of the filter are set; they have no effect and are kept", n, m)}
}
