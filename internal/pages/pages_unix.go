//go:build unix

package pages

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const canMap = true

// mapWords maps memory for size bytes, aligned to a huge page, and returns it as
// words along with the whole mapping.
func mapWords(size int) ([]uint64, []byte, error) {
	length := size + hugePage // room to align
	if length < size {
		return nil, nil, unix.ENOMEM
	}
	mapped, err := unix.Mmap(-1, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, err
	}
	base := unsafe.Pointer(unsafe.SliceData(mapped))
	skip := int(-uintptr(base) & (hugePage - 1))
	wantHugePages(mapped[skip:])
	live.Add(int64(length))
	return unsafe.Slice((*uint64)(unsafe.Add(base, skip)), size/8), mapped, nil
}

func unmap(mapped []byte) {
	live.Add(-int64(len(mapped)))
	// The only errors are of arguments that mmap did not return.
	_ = unix.Munmap(mapped)
}
