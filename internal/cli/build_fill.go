package cli

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/internal/figure"
	"seen/internal/stream"
	"seen/internal/stream/input"
)

// readKeys passes the hashes of all keys of the input to add.
func (a *app) readKeys(r *recordFlags, in *input.Files, c stream.Config, add func(hs []uint64, times []int64) error) error {
	return r.run(a.ctx, a, in, c, nil, func(b *stream.Block) error {
		for lo, hi := range b.Keyed() {
			var times []int64
			if b.Times != nil {
				times = b.Times[lo:hi]
			}
			if err := add(b.Hashes[lo:hi], times); err != nil {
				return err
			}
		}
		return r.refuseKept(b)
	})
}

// refuseKept refuses to keep records without a key, because a filter has only keys.
func (r *recordFlags) refuseKept(b *stream.Block) error {
	if len(b.Missing) > 0 && r.missing.Value == "keep" {
		return fmt.Errorf("%s: record %d has no key, and a filter cannot keep it; use --missing drop or empty",
			b.File, b.First+uint64(b.Missing[0]))
	}
	return nil
}

// buildDirectly fills a filter of known size as the keys arrive.
func (a *app) buildDirectly(b *buildFlags, in *input.Files, c stream.Config, capacity uint64) (bloom.View, error) {
	set, err := b.newFilter(capacity, b.hash)
	if err != nil {
		return nil, err
	}
	return set, a.readKeys(&b.records, in, c, func(hs []uint64, times []int64) error {
		_, err := addAll(set, hs, times)
		return err
	})
}

// addAll adds hashes to a set, with their times if there are any, and returns the
// number of new ones. It fails if the set is full, so that no key is counted that was
// not recorded.
func addAll(set bloom.Set, hs []uint64, times []int64) (int, error) {
	if w, ok := set.(*bloom.Window); ok && times != nil {
		return w.AddHashesAt(nil, times, hs), nil
	}
	n := set.AddHashes(nil, hs)
	if f, ok := set.(bloom.Limited); ok && f.Err() != nil {
		return n, &exitError{ExitLimit, fmt.Errorf("the filter cannot hold all keys, and is unchanged: %w", f.Err())}
	}
	return n, nil
}

// repeatBytes is the memory of an entry in the map of repeated keys: two words, at the
// lowest load of a map that grows.
const repeatBytes = 40

// collect gathers the distinct hashes of the input within the memory of -m. In repeats,
// unless it is nil, it counts how often each came again.
func (a *app) collect(b *buildFlags, in *input.Files, c stream.Config, repeats map[uint64]uint64) (*bloom.Adaptive, error) {
	all, err := bloom.NewAdaptive(bloom.AdaptiveConfig{Hash: b.hash})
	if err != nil {
		return nil, err
	}
	return all, a.readKeys(&b.records, in, c, func(hs []uint64, _ []int64) error {
		if repeats == nil {
			all.AddHashes(nil, hs)
		} else {
			for _, h := range hs {
				if !all.AddHash(h) {
					repeats[h]++
				}
			}
		}
		if all.Bytes()+repeatBytes*uint64(len(repeats)) > uint64(b.memory) {
			hint := "give -n N, the number of distinct keys, to avoid holding them in memory, or allow more with -m"
			if b.kind.Value == "static" {
				hint = "allow more with -m, because a static filter needs all its keys at once"
			}
			return &exitError{ExitLimit, fmt.Errorf("the hashes of %s keys need more than %s; %s",
				figure.Comma(all.Added()), &b.memory, hint)}
		}
		return nil
	})
}

// buildCounted makes a filter with room for the keys of the input and some more.
func (a *app) buildCounted(b *buildFlags, in *input.Files, c stream.Config) (bloom.View, error) {
	var repeats map[uint64]uint64
	if b.kind.Value == "counting" { // which counts how often a key is added
		repeats = make(map[uint64]uint64)
	}
	all, err := a.collect(b, in, c, repeats)
	if err != nil {
		return nil, err
	}
	set, err := b.newFilter(roomFor(all.Added()), b.hash)
	if err != nil {
		return nil, err
	}
	for hs := range all.Hashes() {
		set.AddHashes(nil, hs)
	}
	for h, n := range repeats {
		for range min(n, 1<<b.counterBits) { // more changes nothing, because the counters are at their maximum
			set.AddHash(h)
		}
	}
	return set, nil
}

// buildStatic makes a static filter of the keys of the input.
func (a *app) buildStatic(b *buildFlags, in *input.Files, c stream.Config) (bloom.View, error) {
	all, err := a.collect(b, in, c, nil)
	if err != nil {
		return nil, err
	}
	hashes := make([]uint64, 0, all.Added())
	for hs := range all.Hashes() {
		hashes = append(hashes, hs...)
	}
	return bloom.NewStatic(bloom.StaticConfig{ErrorRate: float64(b.rate), Hash: b.hash, Hashes: hashes})
}

// builtReport is what build and add report; its JSON names are an interface to
// scripts.
type builtReport struct {
	Set       string  `json:"set"`
	Filter    string  `json:"filter"`
	Keys      uint64  `json:"keys"`
	New       uint64  `json:"new"`
	Added     uint64  `json:"added"`
	Capacity  uint64  `json:"capacity"`
	Fill      float64 `json:"fill,omitempty"`       // not with add --in-place, which
	ErrorRate float64 `json:"error_rate,omitempty"` // does not read the whole filter
	Bytes     uint64  `json:"bytes"`
	Format    string  `json:"format,omitempty"` // of another system: what opens it
}

// reportFilled reports a filter to which keys were added: how many of them were new,
// and the state of the filter.
func (a *app) reportFilled(cmd *cobra.Command, name string, asJSON, quiet bool, keys, isNew uint64, v interface{ Stats() bloom.Stats }) error {
	st := v.Stats()
	r := builtReport{
		Set: name, Filter: st.Type, Keys: keys, New: isNew, Added: st.Added, Capacity: st.Capacity,
		Fill: st.Fill, ErrorRate: st.ErrorRate, Bytes: st.Bytes,
	}
	untold := false
	if f, ok := v.(*foreignFill); ok {
		r.Format, untold = f.opens()
	}
	if asJSON {
		if err := printLine(a.env.Stdout, r); err != nil {
			return err
		}
	} else if !quiet {
		room := ""
		if st.Capacity > st.Added && st.Type != "static" && !st.Exact {
			room = fmt.Sprintf(", room for %s", figure.Comma(st.Capacity))
		}
		a.say(cmd, "%s: %s filter, %s new of %s keys%s, error rate %s, %s", name, st.Type,
			figure.Comma(isNew), figure.Comma(keys), room, figure.Rate(st.ErrorRate), humanize.IBytes(st.Bytes))
		for _, w := range stuckCounters(st.Stuck) {
			a.say(cmd, "warning: %s: %s; build it with more --counter-bits", name, w)
		}
		if untold {
			a.say(cmd, "the file %s does not say what its layout is; open it with --format %s", name, r.Format)
		}
	}
	// The filter is written in any case.
	if cmd.Name() == "build" && keys > st.Capacity && st.Capacity > 0 {
		return pastBuilt(name, st, keys)
	}
	return past(name, st)
}
