package exact

import (
	"math/bits"
	"unsafe"

	"seen/internal/kernel"
	"seen/internal/pages"
)

// group is how many keys are looked up together, while their lines come into the cache of
// the processor.
const group = 32

// recent is a cache of keys that were seen lately: it has the second hashes of eight keys in
// a line that the first hash chooses, the latest first. What is in it was printed or is a
// doubt.
type recent struct {
	memory *pages.Array
	lines  []kernel.Slots
	// The lines of the keys that are not fresh, of the group that is handled and of the next
	// one, in turns.
	homes [2][group]*kernel.Slots
	turn  int // of the group that is handled
	next  int // of its homes
}

func newRecent(bytes uint64) (recent, error) {
	n := max(bytes/lineBytes, 1)
	memory, err := pages.New(n * kernel.LineWords)
	if err != nil {
		return recent{}, err
	}
	return recent{memory: memory, lines: asLines(memory.Words())}, nil
}

const lineBytes = kernel.LineWords * 8

// asLines returns words as lines.
func asLines(words []uint64) []kernel.Slots {
	return unsafe.Slice((*kernel.Slots)(unsafe.Pointer(unsafe.SliceData(words))), len(words)/kernel.LineWords)
}

func (r *recent) bytes() uint64 { return uint64(len(r.lines)) * lineBytes }

// advance goes on with the group that was fetched last.
func (r *recent) advance() { r.turn, r.next = 1-r.turn, 0 }

// fetch brings the lines of the keys of the next group that are not fresh into the cache of
// the processor.
func (r *recent) fetch(fresh []bool, hashes []uint64) {
	n, homes := 0, &r.homes[1-r.turn]
	fresh = fresh[:len(hashes)]
	for i, h := range hashes {
		if fresh[i] {
			continue
		}
		line, _ := bits.Mul64(h, uint64(len(r.lines)))
		homes[n&(group-1)] = &r.lines[line]
		n++
	}
	kernel.Fetch(homes[:n])
}

// filled makes a word of a hash: 0 means that there is none.
func filled(h uint64) uint64 {
	if h == 0 {
		return 1
	}
	return h
}

// pass leaves the next key of the group that is not fresh out.
func (r *recent) pass() { r.next++ }

// use reports whether the next key of the group that is not fresh is there. Either way it is
// the latest then.
func (r *recent) use(second uint64) bool {
	l, w := r.homes[r.turn][r.next&(group-1)], filled(second)
	r.next++
	for at := range l {
		if l[at] == w {
			copy(l[1:at+1], l[:at])
			l[0] = w
			return true
		}
	}
	copy(l[1:], l[:])
	l[0] = w
	return false
}

func (r *recent) release() {
	if r.memory != nil {
		r.memory.Release()
	}
	r.memory, r.lines = nil, nil
}

// lately is a small cache of new keys, for repetitions that follow soon: it has the second
// hash of a key at a place that the first hash chooses. It fits into the second-level cache
// of the processor.
type lately struct{ seconds []uint64 }

const mostLately = 32 << 10

func newLately(bytes uint64) lately {
	n := uint64(1)
	for n < mostLately && 2*n*8 <= bytes {
		n *= 2
	}
	return lately{make([]uint64, n)}
}

func (l *lately) bytes() uint64 { return uint64(len(l.seconds)) * 8 }

func (l *lately) place(hash uint64) *uint64 {
	return &l.seconds[hash&uint64(len(l.seconds)-1)]
}

func (l *lately) enter(hash, second uint64) { *l.place(hash) = second }

// has reports whether a key was entered and not replaced since. One whose second hash is 0
// is never there.
func (l *lately) has(hash, second uint64) bool {
	return second != 0 && *l.place(hash) == second
}
