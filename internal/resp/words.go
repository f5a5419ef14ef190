package resp

import "encoding/hex"

// splitWords splits an inline command into words at blanks and appends them to args. In
// double quotes \n \r \t \b \a, \xHH and \ before any other byte are escapes; in single
// quotes only \' is. It reports false if a quote is not closed, or closes in the middle
// of a word. It resolves quotes in place: the write position never passes the read
// position.
func splitWords(line []byte, args [][]byte) ([][]byte, bool) {
	for at := 0; ; {
		for at < len(line) && blank(line[at]) {
			at++
		}
		if at == len(line) {
			return args, true
		}
		from, to := at, at
		for at < len(line) && !blank(line[at]) {
			switch quote := line[at]; quote {
			case '"', '\'':
				var ok bool
				if at, to, ok = unquote(line, at, to); !ok {
					return args, false
				}
			default:
				line[to] = quote
				at, to = at+1, to+1
			}
		}
		args = append(args, line[from:to:to])
	}
}

// unquote resolves the quoted part at position at, writes it to position to, and returns
// the positions after both.
func unquote(line []byte, at, to int) (_, _ int, ok bool) {
	quote := line[at]
	for at++; at < len(line); {
		c := line[at]
		switch {
		case c == quote:
			// A closing quote ends the word.
			at++
			return at, to, at == len(line) || blank(line[at])
		case c == '\\' && quote == '"' && at+3 < len(line) && line[at+1] == 'x' && unhex(line[to:], line[at+2:at+4]):
			at += 4
		case c == '\\' && quote == '"' && at+1 < len(line):
			line[to] = unescape(line[at+1])
			at += 2
		case c == '\\' && quote == '\'' && at+1 < len(line) && line[at+1] == '\'':
			line[to] = '\''
			at += 2
		default:
			line[to] = c
			at++
		}
		to++
	}
	return at, to, false
}

// blank reports what C calls a space.
func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

// unhex writes the byte of two hexadecimal digits. If they are none, it writes nothing and
// reports false.
func unhex(to, digits []byte) bool {
	_, err := hex.Decode(to, digits)
	return err == nil
}
