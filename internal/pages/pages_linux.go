package pages

import "golang.org/x/sys/unix"

// wantHugePages asks for pages of 2 MiB. It is advice: without them the array
// works as well, only slower.
func wantHugePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
