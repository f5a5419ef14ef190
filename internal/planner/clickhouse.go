package planner

import (
	"fmt"
	"strconv"
)

// ClickHouseChoice is the size of a bloom_filter index of ClickHouse for a
// wanted error rate: bits for each distinct value of a granule ("row"), and
// probes.
type ClickHouseChoice struct {
	// BitsPerRow and K are what serves the wanted rate. They differ from the
	// server's choice only where that one misses the rate or wastes memory.
	BitsPerRow, K int
	// ErrorRate is the rate of (BitsPerRow, K) by ClickHouse's own table.
	ErrorRate float64
	// ServerBitsPerRow and ServerK are what the server makes of the wanted rate,
	// and ServerErrorRate the rate that results by its table.
	ServerBitsPerRow, ServerK int
	ServerErrorRate           float64
	// Note says in one sentence what to do where the server's choice misses the
	// wanted rate or wastes memory. It is empty otherwise.
	Note string
}

// ClickHouse returns what ClickHouse makes of bloom_filter(p), and what one would
// rather have. The server looks for the smallest entry of a table with 1 to 19
// bits per row that meets p, but its rule has three holes, which Note reports:
//
//   - For 0.221 <= p < 0.237 the rule finds nothing, as every k at 4 bits per row
//     meets p, and the server falls back on its largest entry, 19 bits and 13
//     probes. ClickHouse returns 4 bits and 1 probe, the least that meets p.
//   - For 0.283 <= p < 0.4 the server takes 2 bits and 2 probes, whose rate of 0.4
//     misses p. ClickHouse returns the smallest entry that meets p.
//   - Below p = 0.000109 nothing in the table meets p, and both answers are the
//     largest entry.
//
// It is an error if p does not lie strictly between 0 and 1.
func ClickHouse(p float64) (ClickHouseChoice, error) {
	if !(p > 0 && p < 1) {
		return ClickHouseChoice{}, fmt.Errorf("error rate is %v; it must be above 0 and below 1, for example 0.025", p)
	}
	bits, k := clickHouseServer(p)
	c := ClickHouseChoice{
		BitsPerRow: bits, K: k, ErrorRate: clickHouseRate(bits, k),
		ServerBitsPerRow: bits, ServerK: k, ServerErrorRate: clickHouseRate(bits, k),
	}
	if better, probes, ok := clickHouseLeast(p); ok && (c.ErrorRate > p || better < bits) {
		c.BitsPerRow, c.K, c.ErrorRate = better, probes, clickHouseRate(better, probes)
	}
	switch {
	case c.ErrorRate > p:
		c.Note = fmt.Sprintf("ClickHouse has no choice below an error rate of %.3g: at %.3g it takes %d bits per row and %d probes and misses the rate",
			c.ErrorRate, p, bits, k)
	case c.ServerErrorRate > p:
		c.Note = fmt.Sprintf("at %.3g ClickHouse takes %d bits per row and %d probes, whose error rate is %.3g; ask it for 0.282 to get 3 bits and an error rate of 0.237",
			p, bits, k, c.ServerErrorRate)
	case c.BitsPerRow != bits:
		c.Note = fmt.Sprintf("from 0.221 to 0.237 ClickHouse falls back on its largest choice, %d bits per row and %d probes; ask it for 0.22 (4 bits) or 0.237 (3 bits) instead of %.3g",
			bits, k, p)
	}
	return c, nil
}

// clickHouseMaxBits is the last row of the table that the server uses.
const clickHouseMaxBits = 19

// clickHouseBest is the best k of each row, by bits per row.
var clickHouseBest = [clickHouseMaxBits + 1]int{0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 8, 9, 10, 10, 11, 12, 12, 13}

// clickHouseRate returns an entry of the server's table: the usual formula to
// three significant digits, except for one entry that was rounded twice.
func clickHouseRate(bits, k int) float64 {
	switch {
	case k == 0:
		return 1
	case bits == 5 && k == 3:
		return 0.092
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(tableEntry(float64(bits), k), 'e', 2, 64), 64) // what was just formatted parses
	return r
}

// clickHouseServer is the server's rule (calculationBestPractices).
func clickHouseServer(p float64) (bits, k int) {
	if p >= 0.283 {
		return 2, 2
	}
	for bits := 1; bits <= clickHouseMaxBits; bits++ {
		best := clickHouseBest[bits]
		if clickHouseRate(bits, best) > p {
			continue
		}
		for k := best; k >= 1; k-- {
			if clickHouseRate(bits, k) > p {
				return bits, k + 1
			}
		}
	}
	return clickHouseMaxBits, clickHouseBest[clickHouseMaxBits]
}

// clickHouseLeast returns the least bits per row that meet p, and for them the
// least k.
func clickHouseLeast(p float64) (bits, k int, ok bool) {
	for bits := 2; bits <= clickHouseMaxBits; bits++ {
		for k := 1; k <= clickHouseBest[bits]; k++ {
			if clickHouseRate(bits, k) <= p {
				return bits, k, true
			}
		}
	}
	return 0, 0, false
}
