package planner

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"seen/internal/figure"
)

// TableMinBits is the least m/n of [Table].
const TableMinBits = 2

const (
	tableMaxBits   = 32 // largest m/n
	tableMaxProbes = 16 // largest k; the least is 1
)

// tableEntry returns the error rate of a large classic filter with the given
// bits per key (m/n) and k probes, (1 - e^(-k n/m))^k. This is the formula of the
// tables that textbooks print; for a filter of given size use sizing.Params.ErrorRate.
// The answer is NaN unless bitsPerKey > 0 and k >= 1.
func tableEntry(bitsPerKey float64, k int) float64 {
	if !(bitsPerKey > 0) || k < 1 {
		return math.NaN()
	}
	return math.Pow(-math.Expm1(-float64(k)/bitsPerKey), float64(k))
}

// Table returns the error rates that textbooks print: for each m/n from TableMinBits
// to 32 (the index of the outer slice plus TableMinBits), the rates for k = 1 to 16 (the
// index of the inner slice plus 1).
func Table() [][]float64 {
	rows := make([][]float64, 0, tableMaxBits-TableMinBits+1)
	for b := TableMinBits; b <= tableMaxBits; b++ {
		row := make([]float64, tableMaxProbes)
		for i := range row {
			row[i] = tableEntry(float64(b), i+1)
		}
		rows = append(rows, row)
	}
	return rows
}

// FormatTable returns [Table] as text: a header line, then a line for each m/n
// with the k that is best for it among those of the table and the rates in the
// form of [figure.Scientific]. Every line ends in a newline.
func FormatTable() string {
	var b strings.Builder
	b.WriteString(" m/n best k")
	for k := 1; k <= tableMaxProbes; k++ {
		fmt.Fprintf(&b, "%9s", "k="+strconv.Itoa(k))
	}
	b.WriteByte('\n')
	for i, row := range Table() {
		best := 0
		for k, p := range row {
			if p < row[best] {
				best = k
			}
		}
		fmt.Fprintf(&b, "%4d %6d", i+TableMinBits, best+1)
		for _, p := range row {
			fmt.Fprintf(&b, "%9s", figure.Scientific(p))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
