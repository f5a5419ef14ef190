package pages

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// wantHugePages asks for pages of 2 MiB. It is advice: without them the array
// works as well, only slower.
func wantHugePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }

// populatePart makes the pages of words, which begin at a page. A system that
// cannot (Linux before 5.14) makes them at their first use.
func populatePart(words []uint64) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
	_ = unix.Madvise(b, unix.MADV_POPULATE_WRITE)
}
