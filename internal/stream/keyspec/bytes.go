package keyspec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseBytes decodes a separator or a delimiter from the command line, where
// some bytes are hard to type: \t, \n, \r, \0, \\ and \xHH stand for one byte
// each, everything else for itself.
func ParseBytes(s string) ([]byte, error) {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		i++
		if i == len(s) {
			return nil, fmt.Errorf("%q ends with a lone backslash; write \\\\ for a backslash", s)
		}
		if at := strings.IndexByte(`tnr0\`, s[i]); at >= 0 {
			b = append(b, "\t\n\r\x00\\"[at])
			continue
		}
		if s[i] != 'x' {
			return nil, fmt.Errorf("unknown escape \\%c in %q; known are \\t \\n \\r \\0 \\\\ \\xHH", s[i], s)
		}
		v, err := strconv.ParseUint(s[i+1:min(i+3, len(s))], 16, 8)
		if err != nil || i+2 >= len(s) {
			return nil, fmt.Errorf("\\x in %q needs two hexadecimal digits", s)
		}
		b = append(b, byte(v))
		i += 2
	}
	return b, nil
}

// oneByte returns the byte that CSV columns are separated by.
func oneByte(sep []byte) (byte, error) {
	switch {
	case len(sep) == 0:
		return ',', nil
	case len(sep) > 1:
		return 0, fmt.Errorf("csv columns are separated by one byte, not by the %d of %q", len(sep), sep)
	case sep[0] == '"' || sep[0] == '\n' || sep[0] == '\r':
		return 0, errors.New("csv columns cannot be separated by a quote or a line end")
	}
	return sep[0], nil
}
