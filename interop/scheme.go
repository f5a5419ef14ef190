package interop

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"sync"
	"unicode/utf8"

	"seen/bloom"
	"seen/internal/frame"
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
	name() string // of the format
	// describe says what a filter is, without what only its file tells.
	describe() Description
}

// plain is the common part of filters that are an array of bits in which each key sets k.
// Any number of goroutines may ask, as long as none changes it. The hashes are public, so
// an attacker can choose keys that collide. It must not be copied.
type plain[S scheme] struct {
	bits   bitArray
	scheme S
	// What the file says, or what the filter was made for; 0 if that is not known.
	capacity, added uint64
	rate            float64
}

// specOf returns the specification of a format whose parameters are those of its scheme.
func specOf(s scheme) string {
	spec := Spec{Name: s.name()}
	for _, p := range s.params() {
		spec = spec.with(p.Name, p.Value)
	}
	return spec.String()
}

// newPlain returns an empty filter with an array of so many bytes. Capacity and error rate
// are what the system was asked for, or 0.
func newPlain[S scheme](s S, order bitOrder, bytes, capacity uint64, rate float64) (plain[S], error) {
	b, err := newBitArray(order, bytes)
	if err != nil {
		return plain[S]{}, fmt.Errorf("%s: %w", s.name(), err)
	}
	return plain[S]{bits: b, scheme: s, capacity: capacity, rate: rate}, nil
}

// opened returns a filter whose bits are b, to which it refers.
func opened[S scheme](s S, order bitOrder, b []byte) plain[S] {
	return plain[S]{bits: bitArray{order: order, b: b}, scheme: s}
}

// array returns p also for a type that p is a part of.
func (p *plain[S]) array() *plain[S] { return p }

// memory returns what a copy of the filter needs a copy of.
func (p *plain[S]) memory() *bitArray { return &p.bits }

// scratch holds slices for positions. The compiler cannot see that a scheme does not keep
// its slice, and would allocate one for each key.
var scratch = sync.Pool{New: func() any { return new([]uint64) }}

// Has reports whether key may have been added, as the system itself answers. What cannot
// be a key there was never added.
func (p *plain[S]) Has(key []byte) bool {
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
	n := frame.Ones(tail.b) - tail.ones(m%64)
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
func (p *plain[S]) Add(key []byte) (bool, error) {
	isNew, err := p.set(key)
	if isNew {
		p.added++
	}
	return isNew, err
}

// set is Add without counting.
func (p *plain[S]) set(key []byte) (bool, error) {
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

// Union makes p the OR of p and other, which must be a filter of the same system and
// parameters; otherwise the error wraps [bloom.ErrIncompatible]. The numbers of added keys
// are summed up, so keys in both count twice.
func (p *plain[S]) Union(other Reader) error {
	o, err := p.alike(other)
	if err != nil {
		return err
	}
	p.bits.or(&o.bits)
	p.added += min(o.added, math.MaxUint64-p.added)
	return nil
}

// alike returns the array of other if it can be merged into p.
func (p *plain[S]) alike(other Reader) (*plain[S], error) {
	if err := p.bits.mayChange(); err != nil {
		return nil, err
	}
	f, ok := other.(interface{ array() *plain[S] })
	if !ok || f.array().scheme.name() != p.scheme.name() {
		return nil, errUnlike(p.scheme.describe().System, other)
	}
	o := f.array()
	x, y := p.scheme.params(), o.scheme.params()
	for i := range min(len(x), len(y)) {
		if x[i].Name == y[i].Name && x[i].Value != y[i].Value {
			return nil, &bloom.IncompatibleError{What: x[i].Name, Want: x[i].Value, Have: y[i].Value}
		}
	}
	if any(p.scheme) != any(o.scheme) {
		return nil, fmt.Errorf("%w: they map keys to bits in different ways", bloom.ErrIncompatible)
	}
	return o, nil
}

// errUnlike says that a filter of one system cannot be united with another.
func errUnlike(system string, other Reader) error {
	return fmt.Errorf("%w: %q and %q", bloom.ErrIncompatible, system, systemOf(other))
}

// systemOf names the system that a filter is of.
func systemOf(r Reader) string {
	if f, ok := r.(Foreign); ok {
		return f.Describe().System
	}
	return "seen, " + r.Stats().Type + " filter"
}

// KeyKind returns what the bytes of a key are.
func (p *plain[S]) KeyKind() KeyKind { return p.scheme.keyKind() }

// Stats describes the filter. It reads all bits.
func (p *plain[S]) Stats() bloom.Stats {
	m, k := p.scheme.size()
	s := plainStats(p.scheme.name(), m, k, p.bits.ones(m))
	if u, ok := any(p.scheme).(uneven); ok {
		if parts := u.parts(); len(parts) != 0 && s.Ones != 0 && s.Ones < m {
			s.Cardinality = partsCardinality(parts, m, s.Ones)
			s.Cardinality.StdErr = math.Hypot(s.Cardinality.StdErr, u.doubt()*s.Cardinality.Value)
		}
	}
	s.Bytes = uint64(len(p.bits.b))
	s.Capacity, s.Added, s.AskedErrorRate = p.capacity, p.added, p.rate
	if p.capacity != 0 && s.Params.M != 0 {
		s.ErrorRateAtCapacity = s.Params.ErrorRate(p.capacity)
	}
	return s
}

// Describe says what the filter is, and what a user should know about bits beyond it.
func (p *plain[S]) Describe() Description {
	d := p.scheme.describe()
	m, _ := p.scheme.size()
	d.Notes = append(d.Notes, noteBeyond(&p.bits, m)...)
	return d
}

// noteBeyond says what a user should know about bits beyond the m of a filter.
func noteBeyond(a *bitArray, m uint64) []string {
	n := a.beyond(m)
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d bits beyond the %d of the filter are set; they have no effect and are kept", n, m)}
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

// parseAs is the open function of files that parse reads. Its errors name the system that
// the bytes are not a filter of.
func parseAs[F Foreign](system string, parse func(b []byte, s Spec) (F, error)) func(b []byte, s Spec) (Foreign, error) {
	return func(b []byte, s Spec) (Foreign, error) {
		f, err := parse(b, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", system, ErrBadData, err)
		}
		return f, nil
	}
}

// parsed reports whether content was parsed.
func parsed(_ Foreign, err error) bool { return err == nil }

// foreign returns f as an interface, which is nil if there is an error.
func foreign[F Foreign](f F, err error) (Foreign, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
