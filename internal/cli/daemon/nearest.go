package daemon

import (
	"slices"
	"strings"
)

// nearest returns the known name that is the fewest edits away from name.
func nearest(name string, known []string) string {
	distance := func(k string) int { return edits(strings.ToLower(name), strings.ToLower(k)) }
	return slices.MinFunc(known, func(a, b string) int { return distance(a) - distance(b) })
}

// edits returns how many letters have to be inserted, deleted or changed to turn one
// word into the other.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
