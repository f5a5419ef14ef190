//go:build !amd64 || noasm

package split

func find(ends []uint32, data []byte, from int, delimiter byte) (count, scanned int) {
	return findRef(ends, data, from, delimiter)
}

func nth(data []byte, delimiter byte, number int) int { return nthRef(data, delimiter, number) }
