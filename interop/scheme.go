package interop

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"sync"
	"unicode/utf8"

	"seen/bloom"
)

// ln2 is a variable, so its products are rounded at run time as in the other systems,
// whose sizes must match to the bit.
var ln2 = math.Log(2)

// scheme is how a system maps a key to bits, as a struct of all that the mapping
// depends on: two filters can be united if and only if their schemes are equal.
type scheme interface {
	// positions appends the bits of key to dst, each below the length. Its error says why
	// such a filter cannot have key.
	positions(dst []uint64, key []byte) ([]uint64, error)
	// size returns the number of bits, and of probes of a key.
	size() (m, k uint64)
	keyKind() KeyKind
	// params lists what the scheme depends on, for a user.
	params() []Field
}

// plain is the common part of filters that are an array of bits in which each key sets k.
// Any number of goroutines may ask, as long as none changes it.
type plain struct {
	bits   bitArray
	scheme scheme
	// What the file says, or what the filter was made for; 0 if that is not known.
	capacity, added uint64
	rate            float64
}

// scratch holds slices for positions. The compiler cannot see that a scheme does not keep
// its slice, and would allocate one for each key.
var scratch = sync.Pool{New: func() any { return new([]uint64) }}

// Has reports whether key may have been added, as the system itself answers. What cannot
// be a key there was never added.
func (p *plain) Has(key []byte) bool {
	buf := scratch.Get().(*[]uint64)
	defer scratch.Put(buf)
	positions, err := p.scheme.positions((*buf)[:0], key)
	if err != nil {
		return false
	}
	*buf = positions
	return p.bits.hasAll(positions)
}

// beyond counts the bits that are set from bit m on.
func (a *bitArray) beyond(m uint64) uint64 {
	from := min(m/64*8, uint64(len(a.b)))
	tail := bitArray{order: a.order, b: a.b[from:]}
	n := onesOf(tail.b) - tail.ones(m%64)
	runtime.KeepAlive(a)
	return n
}

// hasAll reports whether all of the bits are set.
func (a *bitArray) hasAll(positions []uint64) bool {
	for _, i := range positions {
		if !a.has(i) {
			return false
		}
	}
	return true
}

// setAll sets all of the bits, in memory of its own, and reports whether one was 0.
func (a *bitArray) setAll(positions []uint64) bool {
	changed := false
	for _, i := range positions {
		changed = a.set(i) || changed
	}
	return changed
}

// Add adds key and reports whether it was certainly not there before. It fails for what
// cannot be a key of the system, and with [ErrReadOnly] if the filter was opened from
// bytes.
func (p *plain) Add(key []byte) (bool, error) {
	isNew, err := p.set(key)
	if isNew {
		p.added++
	}
	return isNew, err
}

// set is Add without counting.
func (p *plain) set(key []byte) (bool, error) {
	if err := p.bits.mayChange(); err != nil {
		return false, err
	}
	buf := scratch.Get().(*[]uint64)
	defer scratch.Put(buf)
	positions, err := p.scheme.positions((*buf)[:0], key)
	if err != nil {
		return false, err
	}
	*buf = positions
	return p.bits.setAll(positions), nil
}

// unite makes p the OR of both. The numbers of added keys are summed up, so keys in both
// count twice.
func (p *plain) unite(o *plain) error {
	if p.scheme != o.scheme {
		return schemeDifference(p.scheme, o.scheme)
	}
	if err := p.bits.mayChange(); err != nil {
		return err
	}
	p.bits.or(&o.bits)
	p.added += min(o.added, math.MaxUint64-p.added)
	return nil
}

// schemeDifference names the first parameter in which two schemes differ.
func schemeDifference(a, b scheme) error {
	x, y := a.params(), b.params()
	for i := range x {
		if i < len(y) && x[i].Name == y[i].Name && x[i].Value != y[i].Value {
			return &bloom.IncompatibleError{What: x[i].Name, Want: x[i].Value, Have: y[i].Value}
		}
	}
	return fmt.Errorf("%w: they map keys to bits in different ways", bloom.ErrIncompatible)
}

// errUnlike says that a filter of one system cannot be united with another.
func errUnlike(into Foreign, other Reader) error {
	return fmt.Errorf("%w: %q and %q", bloom.ErrIncompatible, into.Describe().System, systemOf(other))
}

// systemOf names the system that a filter is of.
func systemOf(r Reader) string {
	if f, ok := r.(Foreign); ok {
		return f.Describe().System
	}
	return "seen, " + r.Stats().Type + " filter"
}

// KeyKind returns what the bytes of a key are.
func (p *plain) KeyKind() KeyKind { return p.scheme.keyKind() }

// stats describes p; name is that of the system.
func (p *plain) stats(name string) bloom.Stats {
	m, k := p.scheme.size()
	s := plainStats(name, m, k, p.bits.ones(m))
	if u, ok := p.scheme.(uneven); ok {
		if parts := u.parts(); len(parts) != 0 && s.Ones != 0 && s.Ones < m {
			s.Cardinality = partsCardinality(parts, m, s.Ones)
			s.Cardinality.StdErr = math.Hypot(s.Cardinality.StdErr, u.doubt()*s.Cardinality.Value)
		}
	}
	s.Bytes = uint64(len(p.bits.b))
	s.Capacity, s.Added, s.AskedErrorRate = p.capacity, p.added, p.rate
	if p.capacity != 0 {
		s.ErrorRateAtCapacity = s.Params.ErrorRate(p.capacity)
	}
	return s
}

// notes says what a user should know about bits beyond the filter.
func (p *plain) notes() []string {
	m, _ := p.scheme.size()
	return noteBeyond(&p.bits, m)
}

// runes are the code points of text in UTF-8. Ranging over string(text) would copy it.
func runes(text []byte) iter.Seq[rune] {
	return func(yield func(rune) bool) {
		for len(text) > 0 {
			r, size := utf8.DecodeRune(text)
			if !yield(r) {
				return
			}
			text = text[size:]
		}
	}
}

// bytesOf returns the number of bytes that hold so many bits.
func bytesOf(bits uint64) uint64 {
	n := bits / 8
	if bits%8 != 0 {
		n++
	}
	return n
}

// parseAs returns the filter that parse finds in b. Its error names the system that b is
// not a filter of.
func parseAs[F any](system string, b []byte, parse func(b []byte) (*F, error)) (*F, error) {
	f, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", system, ErrBadData, err)
	}
	return f, nil
}

// foreign returns f as an interface, which is nil if there is an error.
func foreign[F Foreign](f F, err error) (Foreign, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
