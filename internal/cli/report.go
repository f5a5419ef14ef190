package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// table prints reports of names and values, one pair a line, in columns.
type table struct {
	w  *bytes.Buffer
	to io.Writer
}

func newTable(to io.Writer) table { return table{new(bytes.Buffer), to} }

func (t table) row(name, format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	fmt.Fprintf(t.w, "%s\t%s\n", name, format)
}

func (t table) flush() error {
	columns := tabwriter.NewWriter(t.to, 0, 8, 2, ' ', 0)
	if _, err := columns.Write(t.w.Bytes()); err != nil {
		return err
	}
	return columns.Flush()
}

// printLine prints v as JSON in one line.
func printLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printJSON prints v as one indented JSON document.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
