//go:build !race

package cli

// raceEnabled says that the race detector slows everything down.
const raceEnabled = false
