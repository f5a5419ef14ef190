package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// table prints reports of names and values, one pair a line, in columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) table {
	return table{tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
}

func (t table) row(name, format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	fmt.Fprintf(t.w, "%s\t%s\n", name, format)
}

func (t table) flush() error { return t.w.Flush() }

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
