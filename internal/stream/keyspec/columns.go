package keyspec

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What columns of CSV and of TSV have in common: they are named by a header or counted.

// named is a part of a key that is found once the header of a file is known.
type named interface {
	finder
	resolve(header []byte) (finder, error)
}

// parseColumn parses the text behind "csv:" or "tsv:": a number from 1, or a name. A name
// that is a number is written in quotes. It returns the number from 0, or the name.
func parseColumn(kind, text string) (column int, name string, err error) {
	if text == "" {
		return 0, "", fmt.Errorf("the %s column has no name or number", kind)
	}
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		if n == 0 {
			return 0, "", fmt.Errorf("%s columns are counted from 1", kind)
		}
		return int(n) - 1, "", nil
	}
	if inner, ok := strings.CutPrefix(text, `"`); ok && len(inner) > 1 && strings.HasSuffix(inner, `"`) {
		text = strings.ReplaceAll(inner[:len(inner)-1], `""`, `"`)
	}
	return 0, text, nil
}

// trimHeader returns a header line without what spreadsheets put around it.
func trimHeader(header []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimPrefix(header, []byte("\ufeff")), []byte{'\r'})
}

// columnNamed returns the column, from 0, that has the name.
func columnNamed(kind, name string, names []string) (int, error) {
	found := slices.Index(names, name)
	if found < 0 {
		const enough = 20
		more := ""
		if len(names) > enough {
			names, more = names[:enough], ", …"
		}
		return 0, fmt.Errorf("no %s column %q in the header, which has %q%s", kind, name, names, more)
	}
	if again := slices.Index(names[found+1:], name); again >= 0 {
		return 0, fmt.Errorf("the header has the %s column %q twice, as %d and %d; use its number", kind, name, found+1, found+again+2)
	}
	return found, nil
}

func noColumn(kind string, column int) error {
	return fmt.Errorf("the record has no %s column %d", kind, column+1)
}

func notLookedUp(kind, name string) error {
	return fmt.Errorf("%s column %q was not looked up in a header", kind, name)
}

// TSV records are those of the IANA type text/tab-separated-values: columns are separated by
// tabs and cannot hold one, nor a line end. A quote is a byte like others, and so is a
// backslash. A CR at the end of a record belongs to the line end.

var errTabs = errors.New("tsv columns are separated by tabs; other columns are csv")

// compileTSV parses the text behind "tsv:".
func compileTSV(text string, sep []byte) (finder, error) {
	if len(sep) > 0 && string(sep) != "\t" {
		return nil, errTabs
	}
	column, name, err := parseColumn("tsv", text)
	if err != nil {
		return nil, err
	}
	if name != "" {
		return tsvName(name), nil
	}
	return newTSVColumn(column), nil
}

// tsvName is a column whose place is known once the header was read.
type tsvName string

func (c tsvName) find([]byte, *Scratch) ([]byte, error) { return nil, notLookedUp("tsv", string(c)) }

// resolve finds the column in the header line of a file.
func (c tsvName) resolve(header []byte) (finder, error) {
	column, err := columnNamed("tsv", string(c), strings.Split(string(trimHeader(header)), "\t"))
	if err != nil {
		return nil, err
	}
	return newTSVColumn(column), nil
}

// tsvColumn is a column with a number, which is a field between tabs.
type tsvColumn struct{ field sortField }

func newTSVColumn(column int) *tsvColumn {
	return &tsvColumn{sortField{separator: []byte{'\t'}, startField: column, endField: column, missing: noColumn("tsv", column)}}
}

func (c *tsvColumn) find(record []byte, _ *Scratch) ([]byte, error) {
	return c.field.findPlain(bytes.TrimSuffix(record, []byte{'\r'}))
}
