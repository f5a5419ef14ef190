//go:build unix

package keyhash

import (
	"syscall"
	"testing"

	"github.com/zeebo/xxh3"
)

// TestPageBoundary hashes keys at both ends of a page between two that cannot be
// touched: a read outside a key ends the test.
func TestPageBoundary(t *testing.T) {
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
	all := m[page : 2*page : 2*page]
	for i := range all {
		all[i] = byte(i * 7)
	}
	for n := range 513 {
		for _, key := range [][]byte{all[:n:n], all[page-n:]} {
			// many hashes copies too; the keys themselves are what counts here.
			hs := make([]uint64, 2)
			var h Hash
			h.SumKeys(hs[:1], [][]byte{key})
			hs[1] = h.Sum(key)
			for i, got := range hs {
				if got != xxh3.Hash(key) {
					t.Errorf("way %d: %d bytes hash to %x, want %x", i, n, got, xxh3.Hash(key))
				}
			}
		}
	}
}
