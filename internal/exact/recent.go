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

// recent is a cache of keys that were handled lately: it has the second hashes of eight keys
// in a line that the first hash chooses, the latest first. What is in it was printed or is
// a doubt.
type recent struct {
	memory *pages.Array
	lines  []kernel.Slots
	homes  [group]*kernel.Slots // of the present group
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

// fetch brings the lines of the keys into the cache of the processor.
func (r *recent) fetch(hashes []uint64) {
	for i, h := range hashes {
		line, _ := bits.Mul64(h, uint64(len(r.lines)))
		r.homes[i&(group-1)] = &r.lines[line]
	}
	kernel.Fetch(r.homes[:len(hashes)])
}

// filled makes a word of a hash: 0 means that there is none.
func filled(h uint64) uint64 {
	if h == 0 {
		return 1
	}
	return h
}

// use reports whether key i of the group is there. Either way it is the latest then.
func (r *recent) use(i int, second uint64) bool {
	l, w := r.homes[i&(group-1)], filled(second)
	for at := range l {
		if l[at] == w {
			copy(l[1:at+1], l[:at])
			l[0] = w
			return true
		}
	}
	r.enter(i, second)
	return false
}

// enter makes key i of the group, which is not there, the latest.
func (r *recent) enter(i int, second uint64) {
	l := r.homes[i&(group-1)]
	copy(l[1:], l[:])
	l[0] = filled(second)
}

func (r *recent) release() {
	if r.memory != nil {
		r.memory.Release()
	}
	r.memory, r.lines = nil, nil
}
