package cli

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"seen/bloom"
	"seen/internal/cli/flagvalue"
	"seen/internal/figure"
	"seen/sizing"
)

// newFilter creates the set of a run without a window, according to -n, -p, -m and
// --on-full. capacity is 0 if -n was not given.
func (u *uniqRun) newFilter(capacity uint64, rate float64, hash bloom.Hash) (bloom.Set, error) {
	changed := u.cmd.Flags().Changed
	memory := uint64(u.memory)
	if !changed("capacity") && !changed("error-rate") && u.onFull.Value != "rotate" {
		return bloom.NewAdaptive(bloom.AdaptiveConfig{ErrorRate: rate, MaxBytes: memory, Hash: hash})
	}
	first := arrays{of: 1, parts: 1}
	if u.onFull.Value == "rotate" {
		first = arrays{of: 8, parts: 7}
	}
	var err error
	switch {
	case capacity == 0 && (changed("memory") || u.onFull.Value != "grow"):
		capacity, err = first.capacityWithin(memory, rate)
	case capacity == 0:
		capacity = defaultCapacity
	case changed("memory"):
		rate, err = u.rateWithin(first, capacity, memory, rate)
	}
	if err != nil {
		return nil, err
	}
	if u.onFull.Value == "rotate" {
		return bloom.NewWindow(bloom.WindowConfig{SpanKeys: capacity, CountNew: true, Generations: int(first.of), ErrorRate: rate, Hash: hash})
	}
	return bloom.NewScalable(bloom.ScalableConfig{Capacity: capacity, ErrorRate: rate, Hash: hash})
}

// arrays are the arrays of a filter that is full for the first time; they have to fit
// into -m. A Scalable has one layer. A window has generations: one is being filled, the
// others have the lines.
type arrays struct{ of, parts uint64 }

// rate returns the error rate of each array, for a filter with the rate.
func (a arrays) rate(of float64) float64 { return sizing.Growth{ErrorRate: of / float64(a.of)}.Rate(0) }

// lines returns the capacity of each array, for a filter with the capacity.
func (a arrays) lines(of uint64) uint64 { return (of + a.parts - 1) / a.parts }

// capacityWithin returns how many lines fit into a filter with the memory and the error
// rate.
func (a arrays) capacityWithin(memory uint64, rate float64) (uint64, error) {
	n, _, err := sizing.CapacityWithin(sizing.Blocked, memory/a.of, a.rate(rate))
	return n * a.parts, err
}

// limit applies -m and --on-full of this run to the set, which may come from a state.
func (u *uniqRun) limit() error {
	var most uint64
	overfill := u.onFull.Value == "warn"
	if u.onFull.Value == "stop" || overfill {
		most = uint64(u.memory)
	}
	switch set := u.set.(type) {
	case *bloom.Adaptive:
		u.notes.switched = set.Switched()
		if u.exact || set.Design().ErrorRate == 0 { // a state made with --exact stays so
			return set.SetLimits(0, 0, false)
		}
		return set.SetLimits(uint64(u.memory), most, overfill)
	case *bloom.Scalable:
		if most != 0 {
			most = set.Bytes() // as large as it is, and no larger
		}
		set.SetLimits(most, overfill)
		u.notes.grows = set.Added() > set.Design().Capacity // it was said when it began
	default:
		if u.cmd.Flags().Changed("on-full") && u.onFull.Value != "rotate" {
			return fmt.Errorf("--on-full %s is not for a %s filter", u.onFull.Value, describeSet(u.set))
		}
	}
	return nil
}

// rateWithin returns the error rate for capacity lines within the memory: the one of -p
// if it fits, or the best without -p.
func (u *uniqRun) rateWithin(first arrays, capacity, memory uint64, rate float64) (float64, error) {
	lines := first.lines(capacity)
	p, err := sizing.For(sizing.Blocked, lines, first.rate(rate))
	if err == nil && p.Bytes()*first.of <= memory {
		return rate, nil
	}
	if u.cmd.Flags().Changed("error-rate") {
		if err != nil {
			return 0, err
		}
		return 0, usagef("-n %d with -p %g needs %s, more than -m %s; leave one of them out",
			capacity, rate, figure.Bytes(p.Bytes()*first.of), figure.Size(memory))
	}
	if p, err = sizing.Within(sizing.Blocked, lines, memory/first.of); err != nil {
		return 0, err
	}
	if rate = p.ErrorRate(lines) / first.rate(1); rate >= 1 {
		return 0, usagef("-m %s is too small for -n %d: every line would be dropped as seen; give more memory or fewer lines",
			figure.Size(memory), capacity)
	}
	return rate, nil
}

// checkState compares the loaded state with the flags that were given: they have to
// agree.
func (u *uniqRun) checkState() error {
	changed := u.cmd.Flags().Changed
	design := u.set.Design()
	differ := func(what string, asked, is any) error {
		return fmt.Errorf("%s was made with %s %v, not with %v; leave the option out, or use another state",
			u.uniqFlags.state, what, is, asked)
	}
	w, isWindow := u.set.(*bloom.Window)
	switch {
	case changed("error-rate") && design.ErrorRate != float64(u.rate):
		return differ("error rate", float64(u.rate), design.ErrorRate)
	case changed("capacity") && design.Capacity != uint64(u.capacity):
		return differ("capacity", uint64(u.capacity), describeCapacity(u.set))
	case changed("seed") && u.set.Hash() != bloom.Hash{Seed: u.hashing.seed}:
		return differ("hash", bloom.Hash{Seed: u.hashing.seed}, u.set.Hash())
	case u.hashing.secret != "" && u.set.Hash().Algorithm != bloom.SipHash:
		return differ("hash", "a secret", u.set.Hash())
	case u.window.IsSet() && (!isWindow || w.Config().Span != u.window.Time || w.Config().SpanKeys != u.window.Lines):
		return differ("type", "window "+u.window.String(), describeSet(u.set))
	case isWindow && w.Config().NoClock != (u.timeKey != ""):
		return differ("time", map[bool]string{true: "--time-key", false: "the clock"}[u.timeKey != ""],
			map[bool]string{true: "--time-key", false: "the clock"}[w.Config().NoClock])
	case isWindow && changed("no-refresh") && w.Config().NoRefresh != u.noRefresh:
		return differ("--no-refresh", u.noRefresh, w.Config().NoRefresh)
	case u.onFull.Value == "rotate" && !(isWindow && w.Config().CountNew):
		return differ("type", "--on-full rotate", describeSet(u.set))
	case u.exact && !u.set.Stats().Exact:
		return differ("type", "--exact", describeSet(u.set))
	case u.timeKey != "" && !isWindow:
		return differ("type", "--time-key", describeSet(u.set))
	}
	if tag := u.set.Tag(); tag != 0 && tag != u.records.tag() {
		return u.records.otherTag(u.uniqFlags.state, tag, u.set.Rules())
	}
	if u.records.quiet || design.ErrorRate == 0 || u.hasRoom() {
		return nil
	}
	if st := u.set.Stats(); st.ErrorRate > 1.1*st.AskedErrorRate {
		u.app.say(u.cmd, "warning: %s has more lines than it was made for: it drops a new line by error with probability %s instead of %s",
			u.uniqFlags.state, figure.Rate(st.ErrorRate), figure.Rate(st.AskedErrorRate))
	}
	return nil
}

// hasRoom reports whether the set is known to have no more keys than it has room for,
// so that its error rate is not above the one asked for. Stats would read all of it.
func (u *uniqRun) hasRoom() bool {
	s, ok := u.set.(bloom.Growing)
	return ok && (s.Capacity() == 0 || s.Added() <= s.Capacity())
}

// describeCapacity says what -n a set was made with.
func describeCapacity(s bloom.Set) string {
	if n := s.Design().Capacity; n != 0 {
		return fmt.Sprint(n)
	}
	return "none (no -n)"
}

func describeSet(s bloom.Set) string {
	if w, ok := s.(*bloom.Window); ok {
		return fmt.Sprintf("window %v", &flagvalue.Span{Time: w.Config().Span, Lines: w.Config().SpanKeys})
	}
	return s.Design().Type
}

// fillText describes how full a set is, in a few words.
func fillText(set bloom.Set) string {
	switch s := set.(type) {
	case *bloom.Adaptive:
		if !s.Switched() {
			return fmt.Sprintf("exact, %s", humanize.IBytes(s.Bytes()))
		}
		return fmt.Sprintf("filter, %s", humanize.IBytes(s.Bytes()))
	case *bloom.Scalable:
		return fmt.Sprintf("%.0f %% full, %s", 100*float64(s.Added())/float64(s.Capacity()), humanize.IBytes(s.Bytes()))
	}
	return ""
}
