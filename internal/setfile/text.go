package setfile

import (
	"bytes"
	"fmt"
	"slices"

	"seen/interop"
)

// controlByte returns the offset of the first byte of b that no text has, in any encoding
// that extends ASCII; -1 if there is none.
func controlByte(b []byte) int {
	control := func(c byte) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\x1b' }
	return slices.IndexFunc(b[:min(len(b), textHead)], control)
}

// TextError says that content is neither a known filter nor a text of keys.
type TextError struct {
	Name   string
	Err    error // what it looks like; nil if Byte at Offset is the reason
	Offset int   // of Byte
	Byte   byte
}

func (e *TextError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("%s is neither a text nor a known filter: byte %d is 0x%02x; it may be a filter that is truncated, damaged or in a format that cannot be detected", e.Name, e.Offset, e.Byte)
}

// Unwrap returns what the content looks like.
func (e *TextError) Unwrap() error { return e.Err }

// checkText refuses content that does not begin as a text. It is probably a filter that is
// damaged, or in a format that cannot be detected, and its lines would say no to every key.
func checkText(name string, start []byte, c *Config) error {
	if c.Records {
		return nil
	}
	if at := controlByte(start); at >= 0 {
		return &TextError{Name: name, Offset: at, Byte: start[at]}
	}
	return nil
}

// wideMarks are the byte order marks of encodings with several bytes per character. A mark
// comes before the marks that are its beginning.
var wideMarks = []struct{ mark, name, order string }{
	{"\xff\xfe\x00\x00", "UTF-32", "little-endian"}, {"\x00\x00\xfe\xff", "UTF-32", "big-endian"},
	{"\xff\xfe", "UTF-16", "little-endian"}, {"\xfe\xff", "UTF-16", "big-endian"},
}

// CheckEncoding refuses a text in UTF-16 or UTF-32, which cannot be split at newline bytes.
func CheckEncoding(name string, start []byte) error {
	for _, m := range wideMarks {
		if bytes.HasPrefix(start, []byte(m.mark)) {
			return fmt.Errorf("%s begins with the byte order mark of %s (%s) and cannot be split into lines; convert it to UTF-8, as with iconv -f %[2]s -t UTF-8", name, m.name, m.order)
		}
	}
	return nil
}

// checkResembles refuses a text that interop.Resembles refuses, or that is in UTF-16 or
// UTF-32.
func checkResembles(name string, b []byte) error {
	err := CheckEncoding(name, b)
	if err == nil {
		if err = interop.Resembles(b); err == nil {
			return nil
		}
		err = fmt.Errorf("%s: %w", name, err)
	}
	return &TextError{Name: name, Err: err}
}
