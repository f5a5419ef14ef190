package resp

import (
	"bytes"
	"fmt"
	"math"
)

// Limits limit the memory that one command may need.
type Limits struct {
	Args   int // arguments of a command, its name included
	Bulk   int // bytes of an argument
	Inline int // bytes of an inline command, and of a line that announces a length
	Total  int // bytes of a command with everything that belongs to it
}

// DefaultLimits are those of Redis, except that Redis allows 2^31-1 arguments.
var DefaultLimits = Limits{Args: 1 << 20, Bulk: 512 << 20, Inline: 64 << 10, Total: 1 << 30}

// Strangers are the limits for clients that have not logged in.
var Strangers = Limits{Args: 10, Bulk: 16 << 10, Inline: 64 << 10, Total: 10 * (16<<10 + 32)}

// A ProtocolError says that the bytes of a client are not a command. The bytes after it
// cannot be parsed either: close the connection after the reply.
type ProtocolError string

// Error returns the text for the client, without the code ERR.
func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// A Parser finds commands at the beginning of a buffer that grows. The zero
// value, with Limits set, is ready.
type Parser struct {
	Limits Limits
	// Stranger adds the limits of Strangers, which have their own error texts.
	Stranger bool

	// The state of an incomplete command. Positions count from the beginning of the
	// command, because the buffer may move.
	left  int    // arguments still to come; 0: between commands
	pos   int    // the first byte that is not parsed
	seen  int    // the bytes from pos on that hold no end of line
	bulk  int    // the length of the argument that comes next; -1: not known yet
	spans []span // the arguments found
}

// span is an argument by its position.
type span struct{ from, to int }

// Next finds the command at the beginning of buf and appends its arguments, slices of
// buf, to args. It returns the length of the command, 0 if it is incomplete: then call
// Next with the same bytes and more after them. A command without arguments has no
// reply.
//
// Quotes of an inline command are resolved in place, which changes buf.
func (p *Parser) Next(buf []byte, args [][]byte) (all [][]byte, n int, err error) {
	if p.left == 0 {
		if len(buf) == 0 {
			return args, 0, nil
		}
		if buf[0] != '*' {
			return p.inline(buf, args)
		}
		end, err := p.line(buf, 0, "too big mbulk count string")
		if end < 0 {
			return args, 0, err
		}
		count, ok := ParseInt(buf[1:end])
		switch {
		case !ok || count > math.MaxInt32 || count > int64(p.Limits.Args):
			return args, 0, ProtocolError("invalid multibulk length")
		case count > int64(Strangers.Args) && p.Stranger:
			return args, 0, ProtocolError("unauthenticated multibulk length")
		case count <= 0:
			return args, end + 2, nil
		}
		p.left, p.pos, p.bulk, p.spans = int(count), end+2, -1, p.spans[:0]
	}
	for p.left > 0 {
		if p.bulk < 0 {
			done, err := p.header(buf)
			if !done {
				return args, 0, err
			}
		}
		if len(buf)-p.pos < p.bulk+2 {
			return args, 0, nil
		}
		p.spans = append(p.spans, span{p.pos, p.pos + p.bulk})
		p.pos += p.bulk + 2
		p.bulk = -1
		p.left--
	}
	for _, s := range p.spans {
		args = append(args, buf[s.from:s.to:s.to])
	}
	if cap(p.spans) > 1024 {
		p.spans = nil
	}
	return args, p.pos, nil
}

// header parses the line before an argument.
func (p *Parser) header(buf []byte) (done bool, err error) {
	end, err := p.line(buf, p.pos, "too big bulk count string")
	if end < 0 {
		return false, err
	}
	if buf[p.pos] != '$' {
		return false, ProtocolError(fmt.Sprintf("expected '$', got '%s'", buf[p.pos:p.pos+1]))
	}
	size, ok := ParseInt(buf[p.pos+1 : end])
	switch {
	case !ok || size < 0 || size > int64(p.Limits.Bulk):
		return false, ProtocolError("invalid bulk length")
	case size > int64(Strangers.Bulk) && p.Stranger:
		return false, ProtocolError("unauthenticated bulk length")
	case int64(end)+4+size > int64(p.Limits.Total):
		return false, ProtocolError("too big command")
	}
	p.pos, p.bulk = end+2, int(size)
	return true, nil
}

// line returns the position of the CR that ends the line at from, -1 while the CR or the
// LF after it is missing. It reads each byte once, even if the line arrives in pieces.
func (p *Parser) line(buf []byte, from int, tooLong ProtocolError) (end int, err error) {
	// Lines that announce a length are short: a plain loop beats the call.
	at := from + p.seen
	for at < len(buf) && at < from+16 && buf[at] != '\r' {
		at++
	}
	if at < len(buf) && buf[at] != '\r' {
		if i := bytes.IndexByte(buf[at:], '\r'); i >= 0 {
			at += i
		} else {
			at = len(buf)
		}
	}
	p.seen = at - from
	if p.seen > p.Limits.Inline {
		return -1, tooLong
	}
	if at+1 >= len(buf) {
		return -1, nil
	}
	p.seen = 0
	return at, nil
}

// inline parses a command that is one line of words.
func (p *Parser) inline(buf []byte, args [][]byte) ([][]byte, int, error) {
	end := len(buf)
	if i := bytes.IndexByte(buf[p.seen:], '\n'); i >= 0 {
		end = p.seen + i
	}
	p.seen = end
	if end > p.Limits.Inline {
		return args, 0, ProtocolError("too big inline request")
	}
	if end == len(buf) {
		return args, 0, nil
	}
	p.seen = 0
	line := buf[:end]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	args, ok := splitWords(line, args)
	if !ok {
		return args, 0, ProtocolError("unbalanced quotes in request")
	}
	return args, end + 1, nil
}
