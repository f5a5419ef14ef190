package cli

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
)

// topLines are the most frequent lines of -c --top. Of lines with the same count, the one
// that was seen first comes first.
type topLines struct {
	most  int
	heap  topHeap
	lines []topLine
}

// topLine is a line with its count.
type topLine struct {
	count    uint64
	position uint64
	text     []byte
}

// compare orders lines from the most frequent one.
func (a topLine) compare(b topLine) int {
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.position, b.position))
}

func newTopLines(most int) *topLines { return &topLines{most: most} }

// offer enters a line if it is one of the most frequent ones so far.
func (t *topLines) offer(count, position uint64) {
	line := topLine{count: count, position: position}
	switch {
	case len(t.heap) < t.most:
		heap.Push(&t.heap, line)
	case line.compare(t.heap[0]) < 0:
		t.heap[0] = line
		heap.Fix(&t.heap, 0)
	}
}

// each calls visit with the position and the count of every line.
func (t *topLines) each(visit func(position, count uint64) error) error {
	for _, line := range t.heap {
		if err := visit(line.position, line.count); err != nil {
			return err
		}
	}
	t.heap = nil
	return nil
}

// take copies the selected lines of a second pass.
func (t *topLines) take(b *replayed) error {
	for i, is := range b.keep {
		if is {
			// Positions ascend: their order is as good as the positions.
			t.lines = append(t.lines, topLine{count: b.values[i], position: uint64(len(t.lines)), text: bytes.Clone(b.Line(i))})
		}
	}
	return nil
}

// sorted returns the lines, the most frequent one first.
func (t *topLines) sorted() []topLine {
	slices.SortFunc(t.lines, topLine.compare)
	return t.lines
}

// topHeap has the least frequent line at its root.
type topHeap []topLine

func (h topHeap) Len() int           { return len(h) }
func (h topHeap) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h topHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *topHeap) Push(x any)        { *h = append(*h, x.(topLine)) }
func (h *topHeap) Pop() any          { panic("nothing is taken out of the heap") }
