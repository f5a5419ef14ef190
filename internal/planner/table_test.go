package planner

import (
	"math"
	"strings"
	"testing"

	"seen/internal/figure"
)

func TestTableGolden(t *testing.T) {
	for _, c := range []struct {
		bits, k int
		want    string
	}{
		{2, 1, "3.93e-1"}, {2, 2, "4.00e-1"}, {8, 6, "2.16e-2"}, {10, 7, "8.19e-3"},
		{16, 11, "4.59e-4"}, {20, 10, "8.89e-5"}, {22, 7, "1.12e-4"}, {23, 7, "8.56e-5"},
	} {
		if got := figure.Scientific(tableEntry(float64(c.bits), c.k)); got != c.want {
			t.Errorf("m/n = %d, k = %d: %s, want %s", c.bits, c.k, got, c.want)
		}
		if got := figure.Scientific(Table()[c.bits-TableMinBits][c.k-1]); got != c.want {
			t.Errorf("Table at m/n = %d, k = %d: %s, want %s", c.bits, c.k, got, c.want)
		}
	}
	for _, got := range []float64{tableEntry(0, 1), tableEntry(-1, 1), tableEntry(math.NaN(), 1), tableEntry(8, 0), tableEntry(8, -3)} {
		if !math.IsNaN(got) {
			t.Errorf("entry outside the table is %v, want NaN", got)
		}
	}
}

func TestFormatTable(t *testing.T) {
	table := FormatTable()
	if !strings.HasSuffix(table, "\n") {
		t.Error("the last line does not end")
	}
	lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	if len(lines) != 1+31 {
		t.Fatalf("%d lines, want a header and 31 rows", len(lines))
	}
	for i, line := range lines {
		if len(line) != len(lines[0]) {
			t.Errorf("line %d is %d characters wide, the header %d", i, len(line), len(lines[0]))
		}
	}
	if f := strings.Fields(lines[0]); f[0] != "m/n" || f[len(f)-1] != "k=16" {
		t.Errorf("header %q", lines[0])
	}
	for _, c := range []struct {
		line, field int
		want        string
	}{
		{1, 0, "2"}, {1, 1, "1"}, {1, 2, "3.93e-1"},
		{19, 0, "20"}, {19, 1, "14"}, {19, 11, "8.89e-5"},
		{31, 0, "32"}, {31, 1, "16"}, {31, 17, "3.30e-7"},
	} {
		if got := strings.Fields(lines[c.line])[c.field]; got != c.want {
			t.Errorf("line %d, field %d: %s, want %s", c.line, c.field, got, c.want)
		}
	}
}
