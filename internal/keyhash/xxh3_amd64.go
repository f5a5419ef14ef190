//go:build !noasm

package keyhash

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The generator is that of package kernel, which also hashes and probes in one call.
//go:generate go run -C ../kernel/_asm . -of keyhash -out ../../keyhash/xxh3_amd64.s -stubs ../../keyhash/stubs_amd64.go -pkg keyhash

// inAssembly tells whether this processor runs the assembly.
var inAssembly = cpu.X86.HasBMI2

// manyKeys stores the hashes of the first keys in hs, which is as long as keys, and returns
// their number. The next key must be hashed in Go.
func manyKeys[T []byte | string](hs []uint64, keys []T) int {
	if !inAssembly || len(keys) == 0 {
		return 0
	}
	return sumMany(&hs[:len(keys)][0], (*byte)(unsafe.Pointer(&keys[0])), int(unsafe.Sizeof(keys[0])), len(keys))
}
