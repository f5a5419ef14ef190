package pages

import (
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func machine() uint64 {
	n := memoryOf(os.DirFS("/"))
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err == nil && limit.Cur > 0 {
		n = min(n, limit.Cur)
	}
	if n == math.MaxUint64 {
		return 0
	}
	return n
}

// memoryOf returns the least of what the files of a system say about its memory and the
// limits of the control groups of this process; math.MaxUint64 if they say nothing. What
// cannot be read sets no limit.
func memoryOf(root fs.FS) uint64 {
	least := uint64(math.MaxUint64)
	if b, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
				if kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 54); err == nil && kib > 0 {
					least = kib << 10
				}
			}
		}
	}
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "": // version 2
			least = min(least, limitOf(root, "sys/fs/cgroup", parts[2], "memory.max"))
		case strings.Contains(","+parts[1]+",", ",memory,"):
			least = min(least, limitOf(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	return least
}

// limitOf returns the least limit of a control group and the groups around it. In a
// container the path of the group may be that of the host, and not below the mount: the
// group is then the mount itself.
func limitOf(root fs.FS, mount, group, name string) uint64 {
	least := uint64(math.MaxUint64)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		if b, err := fs.ReadFile(root, path.Join(mount, at, name)); err == nil {
			// "max", or more than any machine has, is not a limit.
			if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 && n < math.MaxInt64/2 {
				least = min(least, n)
			}
		}
		if at == "/" {
			return least
		}
	}
}
