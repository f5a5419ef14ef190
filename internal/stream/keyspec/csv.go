package keyspec

import (
	"bytes"
	"errors"
	"fmt"
)

// CSV records follow RFC 4180: columns are separated by one byte; a column that
// begins with a quote ends at the next quote that is not doubled, and may hold
// separators and line ends. A quote inside a column that does not begin with
// one is an ordinary byte, as most programs read it. A CR at the end of a
// record belongs to the line end.

var (
	errOpenQuote  = errors.New("a quoted csv column is not closed")
	errAfterQuote = errors.New("a csv column goes on after its closing quote")
)

// compileCSV parses the text behind "csv:".
func compileCSV(text string, sep []byte) (finder, error) {
	separator, err := oneByte(sep)
	if err != nil {
		return nil, err
	}
	column, name, err := parseColumn("csv", text)
	if err != nil {
		return nil, err
	}
	if name != "" {
		return csvName{name, separator}, nil
	}
	return newCSVColumn(column, separator), nil
}

// csvName is a column whose place is known once the header was read.
type csvName struct {
	name      string
	separator byte
}

func (c csvName) find([]byte, *Scratch) ([]byte, error) { return nil, notLookedUp("csv", c.name) }

// resolve finds the column in the header line of a file.
func (c csvName) resolve(header []byte) (finder, error) {
	header = trimHeader(header)
	var names []string
	var scratch []byte
	for at := 0; at <= len(header); {
		name, next, err := csvField(header, at, c.separator, &scratch)
		if err != nil {
			return nil, fmt.Errorf("%w in the header", err)
		}
		names = append(names, string(name))
		at = next
	}
	column, err := columnNamed("csv", c.name, names)
	if err != nil {
		return nil, err
	}
	return newCSVColumn(column, c.separator), nil
}

// csvColumn is the column with a number, from 0.
type csvColumn struct {
	column    int
	separator byte
	missing   error
}

func newCSVColumn(column int, separator byte) csvColumn {
	return csvColumn{column, separator, noColumn("csv", column)}
}

func (c csvColumn) find(record []byte, s *Scratch) ([]byte, error) {
	record = bytes.TrimSuffix(record, []byte{'\r'})
	at := 0
	for range c.column {
		if at < len(record) && record[at] != '"' {
			// The common case needs no look at the bytes of the column.
			i := bytes.IndexByte(record[at:], c.separator)
			if i < 0 {
				return nil, c.missing
			}
			at += i + 1
			continue
		}
		_, next, err := csvField(record, at, c.separator, &s.value)
		if err != nil {
			return nil, err
		}
		if next > len(record) {
			return nil, c.missing
		}
		at = next
	}
	field, _, err := csvField(record, at, c.separator, &s.value)
	return field, err
}

// csvField returns the column that starts at at, without its quotes, and where
// the next one starts: behind the end of the record when this was the last one.
// The column aliases the record or, if it held doubled quotes, *scratch.
func csvField(record []byte, at int, sep byte, scratch *[]byte) (field []byte, next int, err error) {
	if at == len(record) || record[at] != '"' {
		if i := bytes.IndexByte(record[at:], sep); i >= 0 {
			return record[at : at+i], at + i + 1, nil
		}
		return record[at:], len(record) + 1, nil
	}
	at++
	start := at
	doubled := false
	for {
		i := bytes.IndexByte(record[at:], '"')
		if i < 0 {
			return nil, 0, errOpenQuote
		}
		end := at + i
		at = end + 1
		switch {
		case at == len(record), record[at] == sep:
			field = record[start:end]
			if doubled {
				*scratch = undouble((*scratch)[:0], field)
				field = *scratch
			}
			return field, at + 1, nil
		case record[at] == '"':
			doubled = true
			at++
		default:
			return nil, 0, errAfterQuote
		}
	}
}

// undouble appends b to dst with each pair of quotes made one.
func undouble(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '"')
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i+1]...)
		b = b[i+2:]
	}
}
