//go:build unix

package split

import (
	"slices"
	"syscall"
	"testing"
)

// TestPageEnd reads texts that end with a page behind which nothing can be read,
// and begin with one before which nothing can.
func TestPageEnd(t *testing.T) {
	page := syscall.Getpagesize()
	m, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(m)
	for _, outside := range [][]byte{m[:page], m[2*page:]} {
		if err := syscall.Mprotect(outside, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	text := m[page : 2*page]
	for i := range text {
		text[i] = byte(i % 11)
	}
	for _, f := range finders {
		for n := range 4 * chunk {
			for _, data := range [][]byte{text[:n], text[page-n:]} {
				ends := make([]uint32, n+chunk)
				count, scanned := f.find(ends, data, 0, 3)
				if scanned != n/chunk*chunk || !slices.Equal(ends[:count], want(nil, data[:scanned], 3)) {
					t.Fatalf("%s: %d bytes: looked at %d", f.name, n, scanned)
				}
			}
		}
	}
	for n := range 3 * chunk {
		checkNth(t, text[page-n:], 3)
		checkNth(t, text[:n], 3)
	}
	check(t, text, 3)
}
