package stream

import "bytes"

// framing is how records end.
type framing struct {
	delimiter []byte
	crlf      bool // a CR before the delimiter is not part of the record
	csv       bool // a delimiter inside a quoted column is a part of it
	separator byte // of CSV columns
}

// utf8Mark is the byte order mark of UTF-8.
var utf8Mark = []byte("\xef\xbb\xbf")

// isText reports whether a file can begin with a byte order mark.
func (f *framing) isText() bool { return string(f.delimiter) != "\x00" }

// simple reports whether every occurrence of one byte ends a record, so that
// the last one can be found from the end, and the others later.
func (f *framing) simple() bool { return len(f.delimiter) == 1 && !f.csv }

// trim returns a record without its terminator.
func (f *framing) trim(line []byte) []byte {
	line = line[:len(line)-len(f.delimiter)]
	if f.crlf {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	return line
}

// cutter finds the ends of records in a buffer that grows. It looks at no byte
// twice, whatever the length of the record.
type cutter struct {
	pos   int // all before it has been looked at
	cut   int // where the last complete record ends
	state csvState
	begin bool // the buffer begins where a text file does
}

// isStart reports whether a CSV record may begin at a position of data: behind the
// record before, or behind a byte order mark.
func (c *cutter) isStart(data []byte, at int) bool {
	return at == c.cut || c.begin && c.cut == 0 && at == len(utf8Mark) && bytes.HasPrefix(data, utf8Mark)
}

// csvState is where in a CSV record the cutter is.
type csvState uint8

const (
	outside       csvState = iota
	quoted                 // in a quoted column
	quoteInQuoted          // behind the end of the column, or the first of two quotes
)

// scan looks at what was added to data. It sets cut, and unless the framing is
// simple it appends the end of each record to ends.
func (c *cutter) scan(f *framing, data []byte, ends []uint32) []uint32 {
	switch {
	case f.csv:
		return c.scanCSV(f, data, ends)
	case len(f.delimiter) == 1:
		if i := bytes.LastIndexByte(data[c.pos:], f.delimiter[0]); i >= 0 {
			c.cut = c.pos + i + 1
		}
		c.pos = len(data)
		return ends
	}
	for {
		i := bytes.Index(data[c.pos:], f.delimiter)
		if i < 0 {
			// A delimiter may have begun with the last bytes.
			c.pos = max(c.pos, len(data)-len(f.delimiter)+1)
			return ends
		}
		c.pos += i + len(f.delimiter)
		c.cut = c.pos
		ends = append(ends, uint32(c.cut))
	}
}

// first cuts behind the first record, of which data has at least one. ends is what scan
// returned; it begins with a 0.
func (c *cutter) first(f *framing, data []byte, ends []uint32) []uint32 {
	if f.simple() {
		c.cut = bytes.IndexByte(data, f.delimiter[0]) + 1
		return ends
	}
	c.cut = int(ends[1])
	return ends[:2]
}

// scanCSV follows the quotes of RFC 4180. A quote inside a column that does not
// begin with one is an ordinary byte; what follows a closing quote up to the
// next separator belongs to the column. (Extracting such a column is an error;
// here the record only has to end somewhere.)
func (c *cutter) scanCSV(f *framing, data []byte, ends []uint32) []uint32 {
	end := -1 // the next delimiter behind pos, or len(data); -1: to be found
	for c.pos < len(data) {
		switch c.state {
		case quoted:
			i := bytes.IndexByte(data[c.pos:], '"')
			if i < 0 {
				c.pos = len(data)
				return ends
			}
			c.pos += i + 1
			c.state = quoteInQuoted
		case quoteInQuoted:
			c.state = outside
			if data[c.pos] == '"' {
				c.pos++
				c.state = quoted
			}
		default:
			if end < c.pos {
				end = len(data)
				if i := bytes.IndexByte(data[c.pos:], f.delimiter[0]); i >= 0 {
					end = c.pos + i
				}
			}
			if i := bytes.IndexByte(data[c.pos:end], '"'); i >= 0 {
				quote := c.pos + i
				if c.isStart(data, quote) || data[quote-1] == f.separator {
					c.state = quoted
				}
				c.pos = quote + 1
				continue
			}
			if c.pos = end; end < len(data) {
				c.pos++
				c.cut = c.pos
				ends = append(ends, uint32(c.cut))
			}
		}
	}
	return ends
}
