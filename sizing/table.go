package sizing

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The extent of [Table].
const (
	TableMinBits   = 2  // least m/n
	TableMaxBits   = 32 // largest m/n
	TableMaxProbes = 16 // largest k; the least is 1
)

// TableEntry returns the error rate of a large classic filter with the given
// bits per key (m/n) and k probes, (1 - e^(-k n/m))^k. This is the formula of the
// tables that textbooks print; for a filter of given size use [Params.ErrorRate].
// The answer is NaN unless bitsPerKey > 0 and k >= 1.
func TableEntry(bitsPerKey float64, k int) float64 {
	if !(bitsPerKey > 0) || k < 1 {
		return math.NaN()
	}
	return math.Pow(-math.Expm1(-float64(k)/bitsPerKey), float64(k))
}

// Table returns [TableEntry] for k = 1 to [TableMaxProbes] (the index of the
// inner slice plus 1) and for each m/n from [TableMinBits] to [TableMaxBits] (the
// index of the outer slice plus TableMinBits).
func Table() [][]float64 {
	rows := make([][]float64, 0, TableMaxBits-TableMinBits+1)
	for b := TableMinBits; b <= TableMaxBits; b++ {
		row := make([]float64, TableMaxProbes)
		for i := range row {
			row[i] = TableEntry(float64(b), i+1)
		}
		rows = append(rows, row)
	}
	return rows
}

// FormatTable returns [Table] as text: a header line, then a line for each m/n
// with the k that is best for it among those of the table and the rates in the
// form of [FormatRate]. Every line ends in a newline.
func FormatTable() string {
	var b strings.Builder
	b.WriteString(" m/n best k")
	for k := 1; k <= TableMaxProbes; k++ {
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
			fmt.Fprintf(&b, "%9s", FormatRate(p))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// FormatRate returns p with three significant digits in scientific notation and
// without padding of the exponent, for example 8.89e-5.
func FormatRate(p float64) string {
	s := strconv.FormatFloat(p, 'e', 2, 64)
	mantissa, exponent, ok := strings.Cut(s, "e")
	if !ok {
		return s // NaN, Inf
	}
	sign := exponent[:1]
	if sign == "+" {
		sign = ""
	}
	digits := strings.TrimLeft(exponent[1:], "0")
	if digits == "" {
		digits = "0"
	}
	return mantissa + "e" + sign + digits
}
