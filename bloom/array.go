package bloom

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"

	"seen/internal/frame"
	"seen/internal/pages"
	"seen/sizing"
)

// array is what the filters with one array of bits share: memory, counts, set operations
// and statistics. The filter decides where the bits of a key are.
//
// Large arrays are outside the Go heap and are released when mem is collected. Code that
// works on words must therefore end with runtime.KeepAlive of the filter.
type array struct {
	storedSet
	params   sizing.Params
	capacity uint64  // as asked; 0 when the parameters were explicit
	rate     float64 // as asked; 0 likewise
	words    []uint64
	mem      *pages.Array // what words is a part of; nil if that is a slice or a mapped file
	added    uint64
	// touch, when not nil, is called before the n bytes at offset off are read or
	// written; a mapped file verifies its checksums there.
	touch func(off, n uint64)
}

// newArray makes the zeroed array for c.
func newArray(c Config, shape sizing.Shape) (array, error) {
	p, err := c.resolve(shape)
	if err != nil {
		return array{}, err
	}
	a := array{params: p, capacity: c.Capacity, rate: c.ErrorRate}
	if a.mem, err = pages.New((p.Bytes() + 7) / 8); err != nil {
		return array{}, fmt.Errorf("%w; raise the error rate or lower the capacity", err)
	}
	a.words = a.mem.Words()
	return a, nil
}

// Release returns the memory of the filter to the system at once, instead of when the
// filter is collected. The filter must not be used afterwards: calls panic.
func (a *array) Release() {
	a.words = nil
	if a.mem != nil {
		a.mem.Release()
	}
}

// newWords returns n zero words, for callers that cannot return an error: if there is no
// other memory, they are on the heap.
func newWords(n int) ([]uint64, *pages.Array) {
	mem, err := pages.New(uint64(n))
	if err != nil {
		return make([]uint64, n), nil
	}
	return mem.Words(), mem
}

// touchWord announces an access to the word at index i.
func (a *array) touchWord(i uint64) {
	if a.touch != nil {
		a.touch(i*8, 8)
	}
}

// Params returns the layout of the array.
func (a *array) Params() sizing.Params { return a.params }

// Added returns the number of calls of Add that returned true.
func (a *array) Added() uint64 { return a.added }

// Clear forgets all keys. The memory stays.
func (a *array) Clear() {
	clear(a.words)
	a.added = 0
	runtime.KeepAlive(a)
}

// checkAlike returns an error that names the first difference that makes bits of
// a and b incomparable.
func (a *array) checkAlike(b *array) error {
	if err := a.checkHash(&b.lookup); err != nil {
		return err
	}
	if a.params != b.params {
		return difference(a.params, b.params)
	}
	return nil
}

// difference names the first difference of two layouts.
func difference(p, q sizing.Params) error {
	switch {
	case p.Shape != q.Shape:
		return &IncompatibleError{"shapes", p.Shape, q.Shape}
	case p.M != q.M:
		return &IncompatibleError{"lengths m", p.M, q.M}
	case p.CounterBits != q.CounterBits:
		return &IncompatibleError{"bits per counter", p.CounterBits, q.CounterBits}
	case p.Lines != q.Lines:
		return &IncompatibleError{"lines per key", p.Lines, q.Lines}
	}
	return &IncompatibleError{"probes k", p.K, q.K}
}

// checkHash returns an error if the two filters prepare or hash keys differently.
func (l *lookup) checkHash(m *lookup) error {
	if l.hash.Algorithm != m.hash.Algorithm || l.hash.Seed != m.hash.Seed || l.keyID != m.keyID {
		return &IncompatibleError{"key hashes", l.describeHash(), m.describeHash()}
	}
	if l.rules != m.rules {
		return &IncompatibleError{"rules of keys", fmt.Sprintf("%q", l.rules), fmt.Sprintf("%q", m.rules)}
	}
	return nil
}

func (l *lookup) describeHash() string {
	if l.hash.Algorithm.HasSecret() {
		return fmt.Sprintf("%v with key id %016x", l.hash.Algorithm, l.keyID)
	}
	return l.hash.String()
}

// union ORs b's bits into a.
func (a *array) union(b *array) error {
	if err := a.checkAlike(b); err != nil {
		return err
	}
	for i, w := range b.all() {
		a.words[i] |= w
	}
	runtime.KeepAlive(b)
	a.recount()
	a.capacity = max(a.capacity, b.capacity)
	return nil
}

// lossyAnd ANDs b's bits into a.
func (a *array) lossyAnd(b *array) error {
	if err := a.checkAlike(b); err != nil {
		return err
	}
	for i, w := range b.all() {
		a.words[i] &= w
	}
	runtime.KeepAlive(b)
	a.recount()
	return nil
}

// all announces an access to the whole array and returns it.
func (a *array) all() []uint64 {
	if a.touch != nil {
		a.touch(0, uint64(len(a.words))*8)
	}
	return a.words
}

// recount sets added to the estimated cardinality, after an operation that
// leaves no exact count.
func (a *array) recount() {
	c := a.params.Cardinality(a.ones()).Value
	if math.IsInf(c, 1) || math.IsNaN(c) {
		c = float64(a.params.M)
	}
	a.added = uint64(math.Round(c))
}

// ones counts the one bits.
func (a *array) ones() uint64 {
	n := 0
	for _, w := range a.all() {
		n += bits.OnesCount64(w)
	}
	runtime.KeepAlive(a)
	return uint64(n)
}

// equal reports whether a and b have the same parameters, hash and bits.
func (a *array) equal(b *array) bool {
	is := a.checkAlike(b) == nil && slices.Equal(a.all(), b.all())
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	return is
}

// clone returns a copy that shares nothing with a; it is not yet bound.
func (a *array) clone() array {
	c := *a
	c.words, c.mem = newWords(len(a.words))
	pages.Copy(c.words, a.all())
	c.touch = nil
	runtime.KeepAlive(a)
	return c
}

// Stats describes the filter; it reads the whole array.
func (a *array) Stats() Stats { return a.statsOf(a.ones()) }

// statsOf is Stats for a known number of ones.
func (a *array) statsOf(ones uint64) Stats {
	s := Stats{
		Type: a.params.Shape.String(), Params: a.params, Bits: a.params.M, Probes: a.params.K, Layers: 1,
		Bytes: a.params.Bytes(), Capacity: a.capacity, Added: a.added,
		Ones: ones, Fill: float64(ones) / float64(a.params.M),
		Cardinality:    a.params.Cardinality(ones),
		AskedErrorRate: a.rate,
	}
	s.ErrorRate = rateAt(a.params, s.Cardinality.Value)
	if a.capacity != 0 {
		s.ErrorRateAtCapacity = a.params.ErrorRate(a.capacity)
	}
	return s
}

// rateAt is the error rate at an estimated number of keys.
func rateAt(p sizing.Params, n float64) float64 {
	if math.IsInf(n, 1) || math.IsNaN(n) {
		return 1
	}
	return p.ErrorRate(uint64(math.Round(n)))
}

// part describes the array in a file. The bytes are those of the array, which must
// be kept alive for them.
func (a *array) part() (frame.Part, []byte) {
	p := frame.ArrayPart(a.params, a.capacity, a.rate)
	p.Added = a.added
	return p, frame.Bytes(a.all())
}

// probeStep advances the classic probe sequence: position i of a key is the high
// 64 bits of x_i * m, where x_0 is its hash and x_(i+1) = x_i * probeMul + probeAdd.
//
// A full-period linear congruential step keeps all 64 bits of the hash in play at
// every probe. Plain and enhanced double hashing reduce a key to two positions
// modulo m, which shows as an excess error rate of about n/m^2 in small filters.
func probeStep(x uint64) uint64 { return x*probeMul + probeAdd }

const (
	probeMul = 0xd1342543de82ef95 // Steele and Vigna 2021, table of 64-bit LCG multipliers
	probeAdd = 0x9e3779b97f4a7c15 // any odd number gives the full period
)

func position(x, m uint64) uint64 {
	hi, _ := bits.Mul64(x, m)
	return hi
}
