package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/figure"
	"seen/internal/stream"
	"seen/interop"
	"seen/keys"
)

// ownOnly are the flags of build that are only for seen's own filters.
var ownOnly = []string{"type", "bits", "probes", "lines", "counter-bits", "window", "time-key", "seed", "secret"}

// buildForeign makes a filter of another system.
func (a *app) buildForeign(cmd *cobra.Command, b *buildFlags, files []string) error {
	switch {
	case b.output == "":
		return usagef("-o SET is missing; name the file to write the filter to")
	case cmd.Flags().Changed("capacity") && b.capacity == 0:
		return usagef("-n 0: a filter needs room for at least one key")
	}
	for _, name := range ownOnly {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is for seen's own filters; it cannot be combined with --format %s", name, b.foreign.format.spec.Name)
		}
	}
	// A small filter tells what its keys are, and whether the format can be built at
	// all.
	sample, err := interop.Create(b.foreign.format.spec, 1, float64(b.rate))
	if err != nil {
		return err
	}
	switch numbers := sample.KeyKind() == interop.KeyInt64; {
	case numbers && b.records.encoding.Value == "":
		b.records.encoding.Value = encodingDecimal
	case numbers != (b.records.encoding.Value == encodingDecimal):
		return usagef("filters of format %s hold %s; --key-encoding %s does not fit", b.foreign.format.spec, sample.KeyKind(), b.records.encoding.Value)
	}
	if err := a.checkReplaceable(b.output, &b.foreign); err != nil {
		return err
	}
	lock, err := bloomfile.Lock(b.output)
	if err != nil {
		return err
	}
	defer lock.Close() // a lock file that is left behind does no harm
	f := &foreignFill{app: a, cmd: cmd, flags: b, rateGiven: cmd.Flags().Changed("error-rate")}
	if b.capacity != 0 {
		err = f.directly(files, uint64(b.capacity))
	} else {
		err = f.counted(files)
	}
	if err != nil {
		return err
	}
	if err := lock.Write(f.filter); err != nil {
		return err
	}
	rules, err := b.records.rules()
	if err != nil {
		return err
	}
	if sample.KeyKind() == interop.KeyInt64 {
		rules.Encoding = keys.Text // the format says that its keys are numbers
	}
	b.records.sayUnkept(a, cmd, b.output, rules.String())
	return a.reportFilled(cmd, b.output, b.json, b.records.quiet, f.keys, f.added, f)
}

// foreignFill fills a filter of another system.
type foreignFill struct {
	app         *app
	cmd         *cobra.Command
	flags       *buildFlags
	filter      interop.Adder
	keys, added uint64
	rateGiven   bool
}

// layoutParams are the parameters of formats that say how large a filter is.
var layoutParams = []string{"m", "k", "bits", "bytes", "blocks", "hashes", "width", "depth"}

// explicit reports whether the format says how large the filter is.
func (f *foreignFill) explicit() bool {
	return slices.ContainsFunc(layoutParams, func(name string) bool { return f.flags.foreign.format.spec.Params[name] != "" })
}

// opens returns the format that opens the filter again, and whether neither the file
// nor the given format contains it.
func (f *foreignFill) opens() (format string, untold bool) {
	format = f.filter.Describe().Format
	spec, err := interop.ParseSpec(format)
	return format, err == nil && spec.Params["m"] != "" && f.flags.foreign.format.spec.Params["m"] == ""
}

// Stats returns the statistics of the filter. The number of keys is of distinct keys,
// although some formats also count repeated ones; capacity and error rate are those of
// the flags if the format does not store them.
func (f *foreignFill) Stats() bloom.Stats {
	st := f.filter.Stats()
	st.Added = f.added
	if st.Capacity == 0 {
		st.Capacity = uint64(f.flags.capacity)
	}
	switch {
	case f.explicit() && !f.rateGiven:
		st.AskedErrorRate = 0 // the layout decides, and none was asked for
	case st.AskedErrorRate == 0 && f.flags.capacity != 0 && st.Added > st.Capacity:
		st.AskedErrorRate = float64(f.flags.rate)
	}
	return st
}

func (f *foreignFill) create(capacity uint64) error {
	made, err := interop.Create(f.flags.foreign.format.spec, capacity, float64(f.flags.rate))
	if err != nil {
		return err
	}
	adder, ok := made.(interop.Adder)
	if !ok {
		return fmt.Errorf("keys cannot be added to filters of format %s", f.flags.foreign.format.spec)
	}
	f.filter = adder
	return nil
}

func (f *foreignFill) add(key []byte) error {
	isNew, err := f.filter.Add(key)
	if errors.Is(err, interop.ErrFull) {
		return &exitError{ExitLimit, fmt.Errorf("the filter cannot hold all keys, so it is not written: %w", err)}
	}
	if isNew {
		f.added++
	}
	return err
}

// each passes every key of the input to one.
func (f *foreignFill) each(files []string, one func(h uint64, key []byte) error) error {
	r := &f.flags.records
	in, config, err := r.open(f.app, files)
	if err != nil {
		return err
	}
	f.app.sayOfKeysWithCR(f.cmd, r, &config)
	err = r.run(f.app.ctx, f.app, in, config, nil, func(b *stream.Block) error {
		for lo, hi := range b.Keyed() {
			for i := lo; i < hi; i++ {
				if err := one(b.Hashes[i], b.Key(i)); err != nil {
					return err
				}
			}
		}
		return f.flags.records.refuseKept(b)
	})
	f.keys = config.Counters.Records.Load()
	return err
}

// directly fills a filter of known size as the keys arrive.
func (f *foreignFill) directly(files []string, capacity uint64) error {
	if err := f.create(capacity); err != nil {
		return err
	}
	return f.each(files, func(_ uint64, key []byte) error { return f.add(key) })
}

// counted keeps the distinct keys in memory, up to -m, and then makes a filter of the
// size for them. Each key is added as often as it came, because some formats count.
func (f *foreignFill) counted(files []string) error {
	var keys []byte
	type heldKey struct{ from, to, times int }
	var held []heldKey
	numbers := make(map[uint64]int) // of the last key in held with a hash
	err := f.each(files, func(h uint64, key []byte) error {
		if i, ok := numbers[h]; ok && bytes.Equal(keys[held[i].from:held[i].to], key) {
			held[i].times++
			return nil
		}
		numbers[h] = len(held)
		keys = append(keys, key...)
		held = append(held, heldKey{len(keys) - len(key), len(keys), 1})
		if uint64(cap(keys)+24*cap(held)+repeatBytes*len(numbers)) > uint64(f.flags.memory) {
			return &exitError{ExitLimit, fmt.Errorf("%s keys need more than %s; give -n N, the number of distinct keys, to avoid holding them in memory, or allow more with -m",
				figure.Comma(uint64(len(held))), &f.flags.memory)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.create(max(uint64(len(held)), 1)); err != nil {
		return err
	}
	for _, k := range held {
		for range k.times {
			if err := f.add(keys[k.from:k.to]); err != nil {
				return err
			}
		}
	}
	return nil
}
