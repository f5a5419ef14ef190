//go:build soak

package server

import (
	"slices"
	"testing"
	"time"
)

// TestSoakQuestionsBesideCostlyCommands asks for keys beside costly commands on filters
// of hundreds of megabytes, and prints the rows of the table in docs/OPERATIONS.md. At
// most one question in a thousand may take 20 ms, or, on a machine that has much else to
// do, ten times what it takes there with nothing beside it.
func TestSoakQuestionsBesideCostlyCommands(t *testing.T) {
	// The machine's own value, with no costly command.
	alone := 2 * time.Millisecond
	s := start(t)
	c := s.dial(t)
	c.do("BF.ADD", "asked", "key")
	var waited []time.Duration
	for range 20_000 {
		began := time.Now()
		c.do("BF.EXISTS", "asked", "key")
		waited = append(waited, time.Since(began))
	}
	slices.Sort(waited)
	alone = max(alone, waited[len(waited)*999/1000])
	t.Logf("alone, one question in a thousand takes %v", alone)
	besideCostly(t, 100_000_000, 10_000, 2000, func(family, command string, took, slowest time.Duration) {
		t.Logf("| %s | `%s` | %.2f s | %.1f ms |", family, command, took.Seconds(), slowest.Seconds()*1e3)
		if slowest > max(20*time.Millisecond, 10*alone) {
			t.Errorf("beside %s, which took %v, one question in a thousand took %v", command, took, slowest)
		}
	})
}
