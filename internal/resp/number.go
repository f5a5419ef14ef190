package resp

import (
	"bytes"
	"math"
	"strconv"
)

// ParseInt reads a decimal integer as strictly as Redis does: an optional minus,
// digits without leading zeros, 64 bits.
func ParseInt(b []byte) (n int64, ok bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	var u uint64 // 19 digits always fit
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	if len(digits) < len(b) {
		return -int64(u), u <= -math.MinInt64
	}
	return int64(u), u <= math.MaxInt64
}

// ParseFloat reads a number as C's strtod does. It refuses leading blanks, trailing
// bytes, NaN and numbers that are too large.
func ParseFloat(b []byte) (f float64, ok bool) {
	if len(b) > 256 || bytes.IndexByte(b, '_') >= 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(b), 64)
	return f, err == nil && f == f
}
