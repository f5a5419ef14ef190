//go:build !noasm

package split

import "golang.org/x/sys/cpu"

//go:generate go run -C _asm . -out ../split_amd64.s -stubs ../stubs_amd64.go -pkg split

// implementation names a way to find ends. Each is tested equal to the others.
type implementation uint8

const (
	reference implementation = iota
	avx2
	avx512
)

var (
	hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT
	// VBMI2 came years after the first AVX-512 and with processors that do not
	// slow down for it.
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI2
)

// chosen is the implementation in use.
var chosen = best(hasAVX2, hasAVX512)

// best returns the fastest implementation that a processor has.
func best(hasAVX2, hasAVX512 bool) implementation {
	switch {
	case hasAVX512:
		return avx512
	case hasAVX2:
		return avx2
	}
	return reference
}

func find(ends []uint32, data []byte, from int, delimiter byte) (count, scanned int) {
	return findBy(chosen, ends, data, from, delimiter)
}

func findBy(by implementation, ends []uint32, data []byte, from int, delimiter byte) (count, scanned int) {
	if len(ends) < chunk || len(data) < chunk {
		return 0, from
	}
	switch by {
	case avx512:
		return endsAVX512(&ends[0], len(ends), &data[0], from, len(data), delimiter)
	case avx2:
		return endsAVX2(&ends[0], len(ends), &data[0], from, len(data), delimiter)
	}
	return findRef(ends, data, from, delimiter)
}

func nth(data []byte, delimiter byte, number int) int {
	if chosen == avx512 && len(data) > 0 {
		return nthAVX512(&data[0], len(data), delimiter, number)
	}
	return nthRef(data, delimiter, number)
}
