package keyspec

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"

	"seen/keys"
)

// decode returns the bytes that text stands for. They are in s, unless they are text
// itself.
func decode(e keys.Encoding, text []byte, s *Scratch) ([]byte, error) {
	switch e {
	case keys.Hex:
		b, err := hex.AppendDecode(s.decoded[:0], text)
		if err != nil {
			return nil, fmt.Errorf("the key %q is not written in hexadecimal digits, two a byte", clip(text))
		}
		s.decoded = b
		return b, nil
	case keys.Decimal:
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the key %q is not a whole number from -2^63 to 2^63-1", clip(text))
		}
		s.decoded = binary.LittleEndian.AppendUint64(s.decoded[:0], uint64(n))
		return s.decoded, nil
	}
	return text, nil
}

// clip shortens text for a message.
func clip(text []byte) []byte {
	const enough = 80
	if len(text) > enough {
		return append(text[:enough:enough], "..."...)
	}
	return text
}
