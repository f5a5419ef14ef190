//go:build unix

package kernel

import (
	"fmt"
	"syscall"
	"testing"
	"unsafe"
)

// lonePage returns a page between two that cannot be touched: an access outside it
// ends the test.
func lonePage(t *testing.T) []byte {
	page := syscall.Getpagesize()
	m, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	for _, outside := range [][]byte{m[:page], m[2*page:]} {
		if err := syscall.Mprotect(outside, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return m[page : 2*page : 2*page]
}

// TestPageBoundary works in an array that fills a page.
func TestPageBoundary(t *testing.T) {
	page := lonePage(t)
	all := unsafe.Slice((*uint64)(unsafe.Pointer(&page[0])), len(page)/8)
	ends := []uint64{0, 1, ^uint64(0), ^uint64(1), 1 << 63}
	for range 5 {
		ends = append(ends, ends...)
	}
	for lines := 1; lines <= 3; lines++ {
		for lanes := 1; lanes <= 8; lanes++ {
			l := Layout{RegionLines: uint64(len(page) / 64 / lines), Lines: lines, Lanes: lanes}
			for _, words := range [][]uint64{all[:l.Words()], all[uint64(len(all))-l.Words():]} {
				for _, impl := range implementations {
					t.Run(fmt.Sprintf("%s/%dx%d", impl.name, lines, lanes), func(t *testing.T) {
						clear(all)
						if impl.addBatch(l, words, nil, ends) == 0 || impl.hasBatch(l, words, nil, ends) != len(ends) {
							t.Error("hashes at the ends of the array are not kept")
						}
						if impl.add(l, words, ends[0]) || !impl.has(l, words, ends[0]) {
							t.Error("a hash at the end of the array is not kept")
						}
					})
				}
			}
		}
	}
}

// TestKeysAtPageBoundary has keys at both ends of a page.
func TestKeysAtPageBoundary(t *testing.T) {
	page := lonePage(t)
	l := Layout{RegionLines: 1000, Lines: 1, Lanes: 8}
	for name, prepare := range preparers {
		p := prepare(l, make([]uint64, l.Words()))
		for n := range 513 {
			for _, key := range [][]byte{page[:n:n], page[len(page)-n:]} {
				if p.AddKey(key); !p.HasKey(key) {
					t.Errorf("%s: %d bytes are not kept", name, n)
				}
			}
		}
	}
	for name, do := range keyBatches {
		words := make([]uint64, l.Words())
		var keys [][]byte
		for n := range 513 {
			keys = append(keys, page[:n:n], page[len(page)-n:])
		}
		if do.add(l, words, nil, keys); do.has(l, words, nil, keys) != len(keys) {
			t.Errorf("%s: keys of a batch are not kept", name)
		}
	}
}
