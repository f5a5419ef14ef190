// Package pages makes large zeroed arrays outside the Go heap, on pages of 2 MiB
// where the system grants them. It is for the bit arrays of filters: memory that
// is large, lives long, holds no pointers and is accessed at random, where the
// address translation of small pages costs as much as the access itself.
//
// Outside the heap the arrays do not delay the garbage collector until the heap has
// doubled, their memory goes back to the system as soon as they are released, and a size
// that is not available is an error instead of the end of the process. An array takes
// addresses when it is made, and memory only where it is written to.
//
// An unreachable Array releases itself. Code that works on its words must keep the Array
// itself alive until the last access, with runtime.KeepAlive: the words alone do not.
//
// Small arrays, and all arrays on systems other than Unix, are ordinary slices.
// Functions are safe for concurrent use; an Array is as safe as a slice.
package pages

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	// Least is the size in bytes from which an array gets pages of its own.
	Least = 1 << 20

	hugePage = 2 << 20
	// block is the number of bytes that Copy looks at together: a page of memory.
	block = 4096
)

// Array is a zeroed array of 64-bit words.
type Array struct {
	words   []uint64
	mapped  []byte // nil if words is an ordinary slice
	cleanup runtime.Cleanup
}

// New returns an array of n zero words. The error says how much memory was not available.
func New(n uint64) (*Array, error) {
	if n > math.MaxInt/8 {
		return nil, fmt.Errorf("%d words do not fit the address space", n)
	}
	size := int(n) * 8
	if size < Least || !canMap {
		return &Array{words: make([]uint64, n)}, nil
	}
	if have := Machine(); have != 0 && uint64(size) > have {
		return nil, fmt.Errorf("%d bytes of memory are not available: this process may use %d", size, have)
	}
	collect(size)
	words, mapped, err := mapWords(size)
	if err != nil {
		return nil, fmt.Errorf("%d bytes of memory are not available: %w", size, err)
	}
	a := &Array{words: words, mapped: mapped}
	a.cleanup = runtime.AddCleanup(a, unmap, mapped)
	return a, nil
}

// Words returns the array. It is valid as long as a is alive and not released.
func (a *Array) Words() []uint64 { return a.words }

// Bytes returns the same memory as bytes. What they are as words depends on the
// order of the machine: an array is used as the one or as the other.
func (a *Array) Bytes() []byte { return bytesOf(a.words) }

func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// Release returns the memory to the system at once. The words must not be used
// any more; Words returns nil. Further calls do nothing.
func (a *Array) Release() {
	mapped := a.mapped
	a.words, a.mapped = nil, nil
	if mapped != nil {
		a.cleanup.Stop()
		unmap(mapped)
	}
}

// Copy copies src to dst, which has the same length and is all zero. It writes only
// where src is not zero, so that dst takes no more memory than src.
func Copy(dst, src []uint64) { CopyBytes(bytesOf(dst), bytesOf(src)) }

// CopyBytes is Copy for bytes.
func CopyBytes(dst, src []byte) {
	for at := 0; at < len(src); at += block {
		end := min(at+block, len(src))
		if piece := src[at:end]; !Zero(piece) {
			copy(dst[at:end], piece)
		}
	}
}

// Zero reports whether all bytes are zero.
func Zero(b []byte) bool {
	// Each byte equals the one before it, and the first is zero.
	return len(b) == 0 || b[0] == 0 && bytes.Equal(b[1:], b[:len(b)-1])
}

// The garbage collector does not see the memory of arrays, and would leave any number of
// unreachable ones mapped. So a collection starts when as many bytes have been made since
// the last one as were alive after it.
var (
	live      atomic.Int64 // bytes mapped now
	collectMu sync.Mutex
	made      int64 // bytes since the last collection
	alive     int64 // bytes after it
)

const leastGarbage = 256 << 20

func collect(size int) {
	collectMu.Lock()
	defer collectMu.Unlock()
	if made += int64(size); made <= max(leastGarbage, alive) {
		return
	}
	runtime.GC()
	// A goroutine unmaps the unreachable arrays soon after. Those that it has not reached
	// yet must not count as alive, or each round would allow twice as much.
	for range 100 {
		before := live.Load()
		time.Sleep(time.Millisecond)
		if live.Load() == before {
			break
		}
	}
	made, alive = int64(size), live.Load()
}

// Live returns the bytes that arrays have mapped outside the heap.
func Live() int64 { return live.Load() }
