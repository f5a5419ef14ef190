package bloom

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"time"

	"seen/internal/bridge"
	"seen/internal/frame"
	"seen/internal/keyhash"
	"seen/sizing"
)

// LoadOptions says how to read an encoded filter. The zero value reads every filter whose
// keys are hashed without a secret.
type LoadOptions struct {
	// Secret is the secret of a SipHash filter, which its encoding does not contain. Other
	// filters ignore it.
	Secret [16]byte
	// Inspect reads a SipHash filter without its secret, for Stats, Union, or questions for
	// hashes. The answers of calls that take keys are then wrong.
	Inspect bool
	// Clock replaces time.Now for a Window.
	Clock func() time.Time
}

// encoder is a filter that can describe itself as a frame.
type encoder interface {
	encode() (*frame.Header, [][]byte, error)
}

func appendBinary(f hashView, b []byte) ([]byte, error) {
	h, parts, err := f.(encoder).encode()
	if err != nil {
		return nil, err
	}
	b, err = frame.Append(b, h, parts)
	runtime.KeepAlive(f) // parts are its memory
	return b, err
}

func writeTo(f hashView, w io.Writer) (int64, error) {
	h, parts, err := f.(encoder).encode()
	if err != nil {
		return 0, err
	}
	n, err := frame.Write(w, h, parts)
	runtime.KeepAlive(f) // parts are its memory
	return n, err
}

// header starts the header of a filter.
func (l *lookup) header(t frame.Type, capacity uint64, rate float64) *frame.Header {
	h := &frame.Header{Type: t, Capacity: capacity, ErrorRate: rate}
	h.SetHash(l.hash, l.keyID)
	h.Fields[tagField], h.Rules = l.tag, l.rules
	return h
}

// tagField is the field of the header in which filters of all types keep their tag.
const tagField = 15

// arrayHeader is the header of a filter that is one array.
func (a *array) arrayHeader() *frame.Header {
	h := frame.ArrayHeader(a.params, a.capacity, a.rate)
	h.SetHash(a.hash, a.keyID)
	h.Fields[tagField], h.Rules = a.tag, a.rules
	h.Parts[0].Added = a.added
	return h
}

func (a *array) encode() (*frame.Header, [][]byte, error) {
	return a.arrayHeader(), [][]byte{frame.Bytes(a.all())}, nil
}

// storedView is a lookup whose view is an encoder.
type storedView struct{ lookup }

// AppendBinary appends the filter in the format of docs/FORMAT.md to b.
func (s *storedView) AppendBinary(b []byte) ([]byte, error) { return appendBinary(s.view, b) }

// MarshalBinary returns the filter in the format of docs/FORMAT.md.
func (s *storedView) MarshalBinary() ([]byte, error) { return appendBinary(s.view, nil) }

// WriteTo writes what AppendBinary appends, with little memory of its own.
func (s *storedView) WriteTo(w io.Writer) (int64, error) { return writeTo(s.view, w) }

// storedSet is a keyed whose set is an encoder.
type storedSet struct{ keyed }

// AppendBinary appends the filter in the format of docs/FORMAT.md to b.
func (s *storedSet) AppendBinary(b []byte) ([]byte, error) { return appendBinary(s.view, b) }

// MarshalBinary returns the filter in the format of docs/FORMAT.md.
func (s *storedSet) MarshalBinary() ([]byte, error) { return appendBinary(s.view, nil) }

// WriteTo writes what AppendBinary appends, with little memory of its own.
func (s *storedSet) WriteTo(w io.Writer) (int64, error) { return writeTo(s.view, w) }

// Decode returns the filter in b, of any type. It checks all of b: damaged, truncated,
// foreign or newer input is an error that says which. The filter does not refer to b.
func Decode(b []byte, o LoadOptions) (View, error) {
	h, parts, err := frame.Parse(b)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		parts[i] = bytes.Clone(parts[i])
	}
	return fromFrame(h, parts, o, nil)
}

// Read returns the filter in r, which it reads to the end; see [Decode]. It allocates
// memory as the bytes arrive, never only because a header announces them.
func Read(r io.Reader, o LoadOptions) (View, error) {
	v, _, err := readView(r, o)
	return v, err
}

func readView(r io.Reader, o LoadOptions) (View, int64, error) {
	h, parts, n, err := frame.ReadAll(r)
	if err != nil {
		return nil, 0, err
	}
	v, err := fromFrame(h, parts, o, nil)
	return v, n, err
}

// loader turns the parts of one frame into filters.
type loader struct {
	h     *frame.Header
	parts [][]byte
	hash  keyhash.Hash
	keyID uint64
	clock func() time.Time
	touch func(part int, off, n uint64)
}

func init() { bridge.FromFrame = fromFrame }

// fromFrame is [bridge.FromFrame].
func fromFrame(h *frame.Header, parts [][]byte, o LoadOptions, touch func(part int, off, n uint64)) (View, error) {
	l := &loader{h: h, parts: parts, hash: h.Hash(), keyID: h.HashKeyID, clock: o.Clock, touch: touch}
	if l.hash.Algorithm == keyhash.SipHash {
		l.hash.Secret = o.Secret
		given := o.Secret != [16]byte{}
		if (given || !o.Inspect) && (!given || l.hash.KeyID() != l.keyID) {
			return nil, &SecretError{KeyID: l.keyID, Given: given}
		}
	} else if err := l.hash.Validate(); err != nil {
		return nil, err
	}
	v, err := l.load()
	if err != nil {
		return nil, err
	}
	v.SetTag(h.Fields[tagField])
	return v, v.SetRules(h.Rules)
}

// load returns the filter of the frame, without its tag and rules.
func (l *loader) load() (View, error) {
	switch l.h.Type {
	case frame.TypeFilter:
		return loadArray(l, sizing.Classic, asClassic)
	case frame.TypeBlocked:
		return loadArray(l, sizing.Blocked, asFilter)
	case frame.TypePartitioned:
		return loadArray(l, sizing.Partitioned, asPartitioned)
	case frame.TypeCounting:
		return loadArray(l, sizing.Counting, asCounting)
	case frame.TypeScalable:
		return l.scalable()
	case frame.TypeWindow:
		return l.window()
	case frame.TypeCascade:
		return l.cascade()
	case frame.TypeAdaptive:
		return l.adaptive()
	case frame.TypeStatic:
		return l.static()
	case frame.TypeCuckoo:
		return l.cuckoo()
	}
	return nil, fmt.Errorf("the file holds a %v, which is not a filter of this package", l.h.Type)
}

func loadArray[F View](l *loader, shape sizing.Shape, as func(array, keyhash.Hash, uint64) F) (View, error) {
	if err := l.noFields(0); err != nil {
		return nil, err
	}
	a, err := l.array(0, shape)
	if err != nil {
		return nil, err
	}
	a.capacity, a.rate = l.h.Capacity, l.h.ErrorRate
	return as(a, l.hash, l.keyID), nil
}

// bad reports a header that is self-consistent but impossible for its type.
func (l *loader) bad(format string, args ...any) error {
	return &CorruptError{Reason: fmt.Sprintf("impossible %v filter: ", l.h.Type) + fmt.Sprintf(format, args...)}
}

// noFields refuses fields of the header, from the given one on, that the type does not use.
func (l *loader) noFields(from int) error {
	for i, f := range l.h.Fields[from:tagField] {
		if f != 0 {
			return l.bad("field %d is %#x, which means nothing", from+i, f)
		}
	}
	return nil
}

// array returns part i as an array of the given shape, not yet bound.
func (l *loader) array(i int, shape sizing.Shape) (array, error) {
	p := &l.h.Parts[i]
	params, ok := p.Params()
	if !ok || params.Shape != shape {
		return array{}, l.bad("part %d holds %v instead of the bits or counters of a %v array", i, p.Kind, shape)
	}
	a := array{params: params, capacity: p.Capacity, rate: p.ErrorRate, added: p.Added}
	if err := a.params.Validate(); err != nil {
		return a, l.bad("part %d: %v", i, err)
	}
	a.words, _ = frame.Words(l.parts[i])
	if want := (a.params.Bytes() + 7) / 8; uint64(len(a.words)) != want {
		return a, l.bad("part %d has %d words instead of %d", i, len(a.words), want)
	}
	if l.touch != nil {
		a.touch = func(off, n uint64) { l.touch(i, off, n) }
		return a, nil
	}
	return a, a.checkTail(l, i)
}

// checkTail refuses bits beyond the last: they would be counted as ones.
func (a *array) checkTail(l *loader, part int) error {
	bits := a.params.M
	if a.params.Shape == sizing.Counting {
		bits *= uint64(a.params.CounterBits)
	}
	if used := bits % 64; used != 0 && a.words[len(a.words)-1]>>used != 0 {
		return l.bad("part %d has bits set beyond its last, number %d", part, bits-1)
	}
	return nil
}

// decodable is a filter that can be replaced by a decoded one of its type.
type decodable[F any] interface {
	Hash() Hash
	replace(F)
}

// become makes f the filter g, which must not be used afterwards.
func become[F any, P interface {
	*F
	rebind(f hashView)
}](f, g P) {
	*f = *g
	f.rebind(any(f).(hashView))
}

// decodeInto replaces f by the filter of its own type that b holds.
func decodeInto[F View](f decodable[F], b []byte) error {
	v, err := Decode(b, LoadOptions{Secret: f.Hash().Secret})
	if err != nil {
		return err
	}
	return replace(f, v)
}

// readInto replaces f by the filter of its own type that r holds.
func readInto[F View](f decodable[F], r io.Reader) (int64, error) {
	v, n, err := readView(r, LoadOptions{Secret: f.Hash().Secret})
	if err != nil {
		return n, err
	}
	return n, replace(f, v)
}

func replace[F View](f decodable[F], v View) error {
	g, ok := v.(F)
	if !ok {
		return fmt.Errorf("the bytes hold a %T, not a %T; use Decode or Read for filters of any type", v, g)
	}
	f.replace(g)
	return nil
}
