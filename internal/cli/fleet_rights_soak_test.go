//go:build soak

package cli

import (
	"testing"
)

// As TestFleetWithoutACommand, with each command on each engine and for each filter.
func TestSoakFleetWithoutACommand(t *testing.T) {
	var cases []lacking
	for engine := range lackingEngines(t) {
		for _, command := range commandsToAdd() {
			for _, kind := range lackingKinds {
				cases = append(cases, lacking{engine, command, kind})
			}
		}
	}
	testLacking(t, cases)
}
