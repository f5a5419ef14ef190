package cli

import (
	"io"
	"strings"
	"unicode/utf8"

	"seen/internal/figure"
)

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
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i > 0:
				b.WriteString("  " + space + cell)
			case len(row) > 1:
				b.WriteString(cell + space)
			default:
				b.WriteString(cell)
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// The numbers in reports, as the pages in a browser have them too.
var (
	comma          = figure.Comma
	formatBytes    = figure.Bytes
	formatRate     = figure.Rate
	formatEstimate = figure.Estimate
	digits         = figure.SixDigits
	threeDigits    = figure.ThreeDigits
	shortCount     = figure.Short
)
