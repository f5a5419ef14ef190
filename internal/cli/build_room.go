package cli

import (
	"fmt"
	"math"
	"strings"

	"seen/internal/figure"
	"seen/internal/setfile"
	"seen/keys"
)

// A filter that is sized for exactly its keys errs a thousand times as often a few keys
// later, and has the layout of no other. So build leaves room, up to one of a few steps of
// capacity that filters of about as many keys share: these can be merged.

// steps are the steps of capacity between one power of ten and the next, in hundredths.
// Neighbours differ by a quarter or a little more.
var steps = []uint64{100, 125, 160, 200, 250, 320, 400, 500, 640, 800}

// leastRoom is the least capacity. A file for fewer keys is not smaller.
const leastRoom = 1000

// roomFor returns the step of capacity with room for n keys and a tenth more.
func roomFor(n uint64) uint64 {
	if n > math.MaxUint64/10 {
		return n // no memory holds it
	}
	want := max(n+(n+9)/10, leastRoom)
	for power := uint64(leastRoom / 100); ; power *= 10 {
		for _, step := range steps {
			if step*power >= want {
				return step * power
			}
		}
	}
}

// buildCommand returns the command that makes a filter with room for n keys.
func buildCommand(kind string, n uint64, rate float64, rules string) string {
	parts := []string{"seen build -n", fmt.Sprint(roomFor(n))}
	if rate > 0 {
		parts = append(parts, "-p "+figure.Rate(rate))
	}
	if kind != "" && kind != "blocked" {
		parts = append(parts, "--type", kind)
	}
	if r, err := keys.ParseRules(rules); err == nil && rules != "" {
		parts = append(parts, optionsOf(r))
	}
	return strings.Join(parts, " ")
}

// sayHowToUnite adds to an error about filters that cannot be united the command that builds
// filters that can.
func sayHowToUnite(e *setfile.UnlikeError) error {
	if e.Keys == 0 || e.Type == "" {
		return e
	}
	if e.DifferentRules {
		return fmt.Errorf("%w; build both with the same options about keys", e)
	}
	return fmt.Errorf("%w; build each from its keys with %s -o OUT KEYS", e, buildCommand(e.Type, e.Keys, e.ErrorRate, e.Rules))
}
