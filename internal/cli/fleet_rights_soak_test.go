//go:build soak

package cli

import (
	"testing"

	"seen/cluster"
)

// As TestFleetWithoutACommand, with each command on each engine and for each filter.
func TestSoakFleetWithoutACommand(t *testing.T) {
	var cases []lacking
	for engine := range lackingEngines(t) {
		for _, c := range cluster.Commands(cluster.UseAdd) {
			for _, kind := range lackingKinds {
				cases = append(cases, lacking{engine, c.Name, kind})
			}
		}
	}
	testLacking(t, cases)
}
