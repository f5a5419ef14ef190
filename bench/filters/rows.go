package main

import (
	"regexp"
	"runtime/debug"
)

// row is one filter with one way to use it.
type row struct {
	name   string
	module string // import path prefix; the report shows its version
	build  func(n int, rate float64) (filter, error)
}

// filter is what a row builds. add and has process a whole set of keys, so that the
// measuring program makes no call between two keys.
type filter struct {
	add  func(s keySet)
	has  func(s keySet) int // number of keys that may be in the filter
	done func() error       // called and timed after the last add; nil if nothing is left to do
	bits func() uint64      // memory in bits
	free func()             // frees memory that the collector does not free; nil if there is none
}

// reference is the row that the ratios refer to: the fastest peer in single look-ups.
const reference = "parquet-go + xxh3"

// rows returns the rows of this module and of the peers, without those that only
// excludes.
func rows(only *regexp.Regexp) []row {
	var all []row
	for _, r := range append(ours(), peers()...) {
		if r.name == reference || r.name == "Filter" || only.MatchString(r.name) {
			all = append(all, r)
		}
	}
	return all
}

// left lists the peers that cannot be compared, with the reasons.
var left = map[string]string{
	"github.com/panmari/cuckoofilter": "its module was not available; seiflotfy/cuckoofilter is the cuckoo filter of the tables",
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
