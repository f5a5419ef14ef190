package main

import (
	"regexp"
	"runtime/debug"
)

// row is one filter, used in one way.
type row struct {
	name   string
	module string // import path prefix; its version goes into the report
	build  func(n int, rate float64) (filter, error)
}

// filter is what a row builds. add and has work through a whole set of keys by
// themselves, so that no call of the measuring program stands between two keys.
type filter struct {
	add  func(s keySet)
	has  func(s keySet) int // how many may be there
	done func() error       // after the last add, nil if nothing is left to do; timed with it
	bits func() uint64      // memory in bits
	free func()             // gives memory back that the collector does not, nil if there is none
}

// reference is the row that the ratios refer to: the strongest peer of a single
// question.
const reference = "parquet-go + xxh3"

// rows returns ours and the peers, without those that only excludes.
func rows(only *regexp.Regexp) []row {
	var all []row
	for _, r := range append(ours(), peers()...) {
		if r.name == reference || r.name == "Filter" || only.MatchString(r.name) {
			all = append(all, r)
		}
	}
	return all
}

// left names the peers that the comparison has to do without.
var left = map[string]string{
	"github.com/panmari/cuckoofilter": "its module was not available; seiflotfy/cuckoofilter represents the cuckoo filters",
}

// version returns the version of a module in this program.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version
		}
	}
	return ""
}
