package resp

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A Kind is the kind of a reply: its first byte.
type Kind byte

// The kinds of replies. Null has three forms in the protocol; a BulkError is an error.
const (
	Simple    Kind = '+'
	Error     Kind = '-'
	Int       Kind = ':'
	Bulk      Kind = '$'
	Null      Kind = '_'
	Array     Kind = '*'
	Map       Kind = '%'
	Set       Kind = '~'
	Push      Kind = '>'
	Double    Kind = ','
	Bool      Kind = '#'
	BigNumber Kind = '('
	Verbatim  Kind = '='
	BulkError Kind = '!'
)

// A Value is a reply as a client sees it.
type Value struct {
	Kind  Kind
	Text  string  // of kinds with a text; that of a Verbatim begins with its format
	Int   int64   // of Int; 1 or 0 of Bool
	Float float64 // of Double
	Elems []Value // of aggregates; a Map alternates names and values
}

// maxDepth is the largest depth of nested replies.
const maxDepth = 32

// ParseReply reads the reply at the beginning of buf and returns its length, 0 if it is
// incomplete. The value does not refer to buf.
func ParseReply(buf []byte) (v Value, n int, err error) {
	return parseReply(buf, 0)
}

func parseReply(buf []byte, depth int) (Value, int, error) {
	if depth > maxDepth {
		return Value{}, 0, fmt.Errorf("a reply is nested more than %d levels deep", maxDepth)
	}
	text, n, err := firstLine(buf)
	if n == 0 {
		return Value{}, 0, err
	}
	v := Value{Kind: Kind(buf[0])}
	bad := func() (Value, int, error) {
		return Value{}, 0, fmt.Errorf("%.40q is not a reply of kind %c", text, v.Kind)
	}
	switch v.Kind {
	case Simple, Error:
		v.Text = string(text)
	case Int:
		var ok bool
		if v.Int, ok = ParseInt(text); !ok {
			return bad()
		}
	case Null:
		if len(text) != 0 {
			return bad()
		}
	case Bool:
		switch string(text) {
		case "t":
			v.Int = 1
		case "f":
		default:
			return bad()
		}
	case Double:
		if v.Float, err = strconv.ParseFloat(string(text), 64); err != nil {
			return bad()
		}
	case BigNumber:
		if _, ok := new(big.Int).SetString(string(text), 10); !ok || len(text) > 4096 {
			return bad()
		}
		v.Text = string(text)
	case Bulk, Verbatim, BulkError:
		size, ok := ParseInt(text)
		if ok && size == -1 && v.Kind == Bulk {
			return Value{Kind: Null}, n, nil
		}
		if !ok || size < 0 || size > math.MaxInt32 || v.Kind == Verbatim && size < 4 {
			return bad()
		}
		if int64(len(buf)-n) < size+2 {
			return Value{}, 0, nil
		}
		v.Text = string(buf[n : n+int(size)])
		n += int(size) + 2
		if buf[n-2] != '\r' || buf[n-1] != '\n' {
			return Value{}, 0, fmt.Errorf("a string of %d bytes is longer than announced", size)
		}
	case Array, Map, Set, Push:
		count, ok := ParseInt(text)
		if ok && count == -1 && v.Kind == Array {
			return Value{Kind: Null}, n, nil
		}
		if !ok || count < 0 || count > math.MaxInt32 {
			return bad()
		}
		if v.Kind == Map {
			count *= 2
		}
		if count > int64(len(buf)-n)/3 {
			return Value{}, 0, nil // no reply has less than three bytes
		}
		v.Elems = make([]Value, 0, count)
		for range count {
			elem, size, err := parseReply(buf[n:], depth+1)
			if size == 0 {
				return Value{}, 0, err
			}
			v.Elems = append(v.Elems, elem)
			n += size
		}
	default:
		return Value{}, 0, fmt.Errorf("a reply cannot begin with %q", buf[0])
	}
	return v, n, nil
}

// firstLine returns the text after the first byte of a reply up to the end of the line,
// and the length of the line, 0 if it is incomplete.
func firstLine(buf []byte) (text []byte, n int, err error) {
	end := bytes.IndexByte(buf, '\r')
	if end < 0 || end+1 == len(buf) {
		return nil, 0, nil
	}
	if end == 0 || buf[end+1] != '\n' || bytes.IndexByte(buf[:end], '\n') >= 0 {
		return nil, 0, fmt.Errorf("a reply cannot begin with the line %.40q", buf[:end])
	}
	return buf[1:end], end + 2, nil
}

// String formats the reply on one line for transcripts. It loses only the difference
// between the forms of null.
func (v Value) String() string {
	var b strings.Builder
	v.render(&b)
	return b.String()
}

func (v Value) render(b *strings.Builder) {
	list := func(open, between string, end byte) {
		b.WriteString(open)
		for i, elem := range v.Elems {
			switch {
			case i == 0:
			case v.Kind == Map && i%2 == 1:
				b.WriteString(between)
			default:
				b.WriteString(", ")
			}
			elem.render(b)
		}
		b.WriteByte(end)
	}
	switch v.Kind {
	case Simple, Error, BigNumber:
		b.WriteByte(byte(v.Kind))
		b.WriteString(v.Text)
	case Int:
		fmt.Fprintf(b, ":%d", v.Int)
	case Bulk:
		b.WriteString(strconv.Quote(v.Text))
	case Verbatim, BulkError:
		fmt.Fprintf(b, "%c%q", v.Kind, v.Text)
	case Bool:
		b.WriteString([]string{"#f", "#t"}[v.Int])
	case Double:
		b.WriteByte(',')
		b.Write(appendDouble(nil, v.Float))
	case Array:
		list("[", ", ", ']')
	case Map:
		list("{", ": ", '}')
	case Set:
		list("~[", ", ", ']')
	case Push:
		list(">[", ", ", ']')
	default:
		b.WriteString("null")
	}
}

// AppendCommand appends a command in the form that clients send.
func AppendCommand[T string | []byte](b []byte, args ...T) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(len(args)), 10)
	b = append(b, '\r', '\n')
	for _, arg := range args {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(arg)), 10)
		b = append(b, '\r', '\n')
		b = append(b, arg...)
		b = append(b, '\r', '\n')
	}
	return b
}
