//go:build !linux

package spill

import "os"

// unnamed is 0 where every file has a name.
const unnamed = 0

// isMemory reports whether dir is known to be in memory.
func isMemory(string) bool { return false }

func adviseWillNeed(*os.File, int64, int64) {}
