package resp

import (
	"math"
	"strconv"
)

// A Writer appends replies to a buffer in version 2 of the protocol, or in version 3 if
// Proto is 3. Types that version 2 does not have take the form that Redis uses. The zero
// value is ready.
//
// Arrays, maps and sets are announced with the number of their members; write
// the members next.
type Writer struct {
	Proto int
	buf   []byte
}

// Bytes returns what was written since the last Reset. It is valid until the
// next call.
func (w *Writer) Bytes() []byte { return w.buf }

// Len returns the number of bytes written since the last Reset.
func (w *Writer) Len() int { return len(w.buf) }

// Reset empties the buffer and releases it if it is larger than keep.
func (w *Writer) Reset(keep int) {
	w.buf = w.buf[:0]
	if cap(w.buf) > keep {
		w.buf = nil
	}
}

// Truncate drops what was written after the first n bytes.
func (w *Writer) Truncate(n int) { w.buf = w.buf[:n] }

// Append appends replies that another Writer of the same version has written.
func (w *Writer) Append(replies []byte) { w.buf = append(w.buf, replies...) }

// Simple writes a status, such as OK. Ends of lines become blanks.
func (w *Writer) Simple(s string) {
	w.buf = append(w.buf, '+')
	w.line(s)
}

// OK writes the status OK.
func (w *Writer) OK() { w.buf = append(w.buf, "+OK\r\n"...) }

// Error writes an error, a text that usually begins with a code: "ERR no such key". Ends
// of lines become blanks.
func (w *Writer) Error(s string) {
	w.buf = append(w.buf, '-')
	w.line(s)
}

func (w *Writer) line(s string) {
	at := len(w.buf)
	w.buf = append(w.buf, s...)
	for i, c := range w.buf[at:] {
		if c == '\r' || c == '\n' {
			w.buf[at+i] = ' '
		}
	}
	w.buf = append(w.buf, '\r', '\n')
}

// Int writes an integer.
func (w *Writer) Int(n int64) { w.number(':', n) }

// Bulk writes a string of any bytes.
func (w *Writer) Bulk(b []byte) {
	w.number('$', int64(len(b)))
	w.buf = append(w.buf, b...)
	w.buf = append(w.buf, '\r', '\n')
}

// BulkString writes a string of any bytes.
func (w *Writer) BulkString(s string) {
	w.number('$', int64(len(s)))
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '\r', '\n')
}

// Null writes the null of a string.
func (w *Writer) Null() {
	if w.Proto == 3 {
		w.buf = append(w.buf, "_\r\n"...)
	} else {
		w.buf = append(w.buf, "$-1\r\n"...)
	}
}

// NullArray writes the null of an array.
func (w *Writer) NullArray() {
	if w.Proto == 3 {
		w.buf = append(w.buf, "_\r\n"...)
	} else {
		w.buf = append(w.buf, "*-1\r\n"...)
	}
}

// Array announces n values.
func (w *Writer) Array(n int) { w.number('*', int64(n)) }

// Map announces n pairs of a name and a value; in version 2 an array of 2n values.
func (w *Writer) Map(n int) { w.aggregate('%', n, 2*n) }

// Set announces an unordered set of n values; in version 2 an array.
func (w *Writer) Set(n int) { w.aggregate('~', n, n) }

func (w *Writer) aggregate(kind byte, n3, n2 int) {
	if w.Proto == 3 {
		w.number(kind, int64(n3))
	} else {
		w.number('*', int64(n2))
	}
}

// Bool writes a boolean; in version 2 the integer 1 or 0.
func (w *Writer) Bool(b bool) {
	switch {
	case w.Proto == 3 && b:
		w.buf = append(w.buf, "#t\r\n"...)
	case w.Proto == 3:
		w.buf = append(w.buf, "#f\r\n"...)
	case b:
		w.buf = append(w.buf, ":1\r\n"...)
	default:
		w.buf = append(w.buf, ":0\r\n"...)
	}
}

// Double writes a floating-point number in the fewest digits that identify it, as Redis
// does since 7.2; in version 2 a string.
func (w *Writer) Double(f float64) {
	var digits [32]byte
	text := appendDouble(digits[:0], f)
	if w.Proto != 3 {
		w.Bulk(text)
		return
	}
	w.buf = append(w.buf, ',')
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\r', '\n')
}

func appendDouble(b []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	case f != f:
		return append(b, "nan"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// Verbatim writes a text with its format, three letters such as txt; in version
// 2 a string without the format.
func (w *Writer) Verbatim(format, text string) {
	if w.Proto != 3 {
		w.BulkString(text)
		return
	}
	w.number('=', int64(len(text)+4))
	w.buf = append(w.buf, (format + "   ")[:3]...)
	w.buf = append(w.buf, ':')
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\r', '\n')
}

func (w *Writer) number(kind byte, n int64) {
	w.buf = append(w.buf, kind)
	if n >= 0 && n < 10 {
		w.buf = append(w.buf, byte('0'+n), '\r', '\n')
		return
	}
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.buf = append(w.buf, '\r', '\n')
}
