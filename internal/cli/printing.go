package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table prints names and values in two columns, one pair per line.
type table struct {
	w  *bytes.Buffer
	to io.Writer
}

func newTable(to io.Writer) table { return table{new(bytes.Buffer), to} }

// newSection returns a table below a title, after an empty line if it is not the first.
func newSection(to io.Writer, title string, another bool) table {
	t := newTable(to)
	if another {
		fmt.Fprintln(t.w)
	}
	fmt.Fprintln(t.w, title)
	return t
}

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

// printLine prints v as JSON on one line.
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

// printColumns prints rows of cells in columns two blanks apart, the first column
// flush left, the others flush right. Each line begins with indent.
func printColumns(w io.Writer, indent string, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(indent)
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(&b, "%-*s", widths[i], cell)
			} else {
				fmt.Fprintf(&b, "  %*s", widths[i], cell)
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
