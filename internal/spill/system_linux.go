package spill

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamed is the flag that makes a file without a name.
const unnamed = unix.O_TMPFILE

// isMemory reports whether dir is on a file system that is in memory.
func isMemory(dir string) bool {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil { // what is wrong with dir, its user will find
		return false
	}
	kind := uint32(s.Type) // which has another type on each architecture
	return kind == unix.TMPFS_MAGIC || kind == unix.RAMFS_MAGIC
}

func adviseWillNeed(f *os.File, at, n int64) {
	_ = unix.Fadvise(int(f.Fd()), at, n, unix.FADV_WILLNEED) // it is only advice
}
