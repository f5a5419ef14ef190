package cli

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"seen/sizing"
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

// comma writes a number with commas between the thousands.
func comma(n uint64) string {
	if n > math.MaxInt64 {
		return strconv.FormatUint(n, 10)
	}
	return humanize.Comma(int64(n))
}

// formatBytes writes an amount of memory with three significant digits: 36.9 MiB.
func formatBytes(n uint64) string {
	v, unit := float64(n), 0
	for ; v >= 1023.5 && unit < len(byteUnits)-1; unit++ {
		v /= 1024
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return strconv.FormatFloat(v, 'f', max(0, 2-int(math.Log10(max(1, math.Round(v*10)/10)))), 64) + " " + byteUnits[unit]
}

var byteUnits = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// formatRate writes an error rate with three significant digits: 1e-6, 0.0213.
func formatRate(p float64) string {
	if p == 0 {
		return "0"
	}
	if p < 0.01 {
		m, e, _ := strings.Cut(sizing.FormatRate(p), "e")
		if strings.Contains(m, ".") {
			m = strings.TrimRight(strings.TrimRight(m, "0"), ".")
		}
		return m + "e" + e
	}
	return strconv.FormatFloat(p, 'g', 3, 64)
}

// formatEstimate writes a number of keys with its standard error, both without
// digits that mean nothing.
func formatEstimate(e sizing.Estimate) string {
	switch {
	case math.IsInf(e.Value, 1):
		return "full"
	case !e.Known():
		return "unknown"
	case e.StdErr == 0:
		return comma(uint64(math.Round(e.Value)))
	}
	return fmt.Sprintf("%s ± %s", comma(uint64(math.Round(e.Value))), comma(uint64(math.Ceil(e.StdErr))))
}

// digits rounds v to six significant digits, so that reports do not change with
// the last bit of a computation.
func digits(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64) // what was just formatted parses
	return r
}
