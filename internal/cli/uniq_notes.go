package cli

import (
	"fmt"

	"seen/bloom"
	"seen/internal/figure"
	"seen/sizing"
)

// uniqNotes is what a run has already said, or does not have to say.
type uniqNotes struct {
	switched bool // a filter has taken over
	grows    bool // memory has no limit any more
	full     bool // more and more new lines are dropped by error
}

// note prints each change once as the set fills: answers are no longer exact, memory is
// no longer bounded, the error rate rises.
func (u *uniqRun) note() {
	if u.records.quiet {
		return
	}
	switch set := u.set.(type) {
	case *bloom.Adaptive:
		u.noteAdaptive(set)
	case *bloom.Scalable:
		c := set.Config()
		if u.onFull.Value == "grow" && !u.notes.grows && set.Added() > c.Capacity {
			u.notes.grows = true
			u.app.say(u.cmd, "note: the filter has the %s distinct lines that it was made for; it %s",
				figure.Comma(c.Capacity), growing(sizing.Growth{First: c.Capacity, Factor: c.Growth, ErrorRate: c.ErrorRate}))
		}
	}
	if s, ok := u.set.(bloom.Growing); ok {
		u.noteFull(s.Capacity(), s.Added())
	}
}

func (u *uniqRun) noteAdaptive(set *bloom.Adaptive) {
	n := set.Added()
	lines := figure.Comma(n)
	grows := u.onFull.Value == "grow"
	switch {
	case set.Switched() && !u.notes.switched:
		u.notes.switched, u.notes.grows = true, true
		rate := set.Design().ErrorRate
		what := "at a rate that rises once it is full, within -m"
		switch {
		case grows:
			what = fmt.Sprintf("with probability %s at most, and %s", figure.Rate(rate), growing(sizing.Growth{First: n, Factor: sizing.DefaultGrowth, ErrorRate: rate}))
		case u.onFull.Value == "stop":
			what = fmt.Sprintf("with probability %s at most, within -m", figure.Rate(rate))
		}
		u.app.say(u.cmd, "note: -m %v is used up after %s distinct lines; from now on, a filter drops new lines by error, %s", &u.memory, lines, what)
	case set.Switched() && grows && !u.notes.grows && set.Bytes() > uint64(u.memory):
		u.notes.grows = true // the filter of an earlier run
		u.app.say(u.cmd, "note: the filter has more than -m %v after %s distinct lines; it %s",
			&u.memory, lines, growing(sizing.Growth{First: n, Factor: sizing.DefaultGrowth, ErrorRate: set.Design().ErrorRate}))
	case !set.Switched() && set.Err() != nil && !u.notes.grows:
		u.notes.grows = true
		u.app.say(u.cmd, "note: -m %v is used up after %s distinct lines, and a filter is not possible (%v); the run stays exact and needs 9 to 14 bytes for each further distinct line",
			&u.memory, lines, set.Err())
	}
}

// noteFull warns when a filter that does not grow has more keys than its capacity.
func (u *uniqRun) noteFull(capacity, added uint64) {
	if u.notes.full || u.onFull.Value != "warn" || capacity == 0 || added <= capacity {
		return
	}
	u.notes.full = true
	u.app.say(u.cmd, "warning: the filter has more than its %s lines; more and more new lines are dropped by error (see --stats; --on-full grow keeps the rate)",
		figure.Comma(capacity))
}

// growing returns a text that says how much memory a filter needs beyond its first
// layer, and how to limit that.
func growing(rule sizing.Growth) string {
	return fmt.Sprintf("grows by about %.0f bytes for each further distinct line, without a limit (--on-full stop, warn or rotate set one)", growthBytes(rule))
}

// growthBytes returns the memory that a Scalable needs for each key beyond its first n,
// on average up to ten times n keys. The newest layer is assumed to be half full.
func growthBytes(rule sizing.Growth) float64 {
	var bytes, keys, newest float64
	for i := 1; keys < 10*float64(rule.First); i++ {
		capacity := rule.Capacity(i)
		p, err := sizing.For(sizing.Blocked, capacity, rule.Rate(i))
		if err != nil {
			break // it ends there
		}
		newest = float64(capacity)
		bytes, keys = bytes+float64(p.Bytes()), keys+newest
	}
	return bytes / max(keys-newest/2, 1)
}
