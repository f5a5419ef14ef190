package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// table prints rows as a Markdown table.
type table struct {
	w      io.Writer
	rows   [][]string
	widths []int
}

func newTable(w io.Writer, heads ...string) *table {
	t := &table{w: w, widths: make([]int, len(heads))}
	t.add(heads)
	return t
}

func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	t.add(texts)
}

func (t *table) add(texts []string) {
	for i, text := range texts {
		t.widths[i] = max(t.widths[i], len(text))
	}
	t.rows = append(t.rows, texts)
}

func (t *table) flush() error {
	for i, texts := range t.rows {
		for j, text := range texts {
			format := "| %*s "
			width := t.widths[j]
			if j == 0 {
				width = -width
			}
			if _, err := fmt.Fprintf(t.w, format, width, text); err != nil {
				return err
			}
		}
		fmt.Fprintln(t.w, "|")
		if i == 0 {
			fmt.Fprint(t.w, "|---|")
			fmt.Fprintln(t.w, strings.Repeat("---:|", len(texts)-1))
		}
	}
	return nil
}

func rate(r float64) string  { return fmt.Sprintf("%.0f k/s", r/1e3) }
func times(r float64) string { return fmt.Sprintf("%.2fx", r) }
func nanos(s float64) string { return fmt.Sprintf("%.0f ns", s*1e9) }

// middle returns the medians of some runs.
func middle(all []outcome) outcome {
	return outcome{
		rate: median(all, func(o outcome) float64 { return o.rate }),
		cpu:  median(all, func(o outcome) float64 { return o.cpu }),
	}
}

// median returns the median of the values that the function of returns: for an even
// number of values, the mean of the middle two.
func median[T any](all []T, of func(T) float64) float64 {
	values := make([]float64, len(all))
	for i, v := range all {
		values[i] = of(v)
	}
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return 0
	}
	return (values[(n-1)/2] + values[n/2]) / 2
}
