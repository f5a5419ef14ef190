package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/cli/flagvalue"
	"seen/internal/figure"
	"seen/internal/setfile"
)

// changeFlags are the flags of the commands that change a filter file.
type changeFlags struct {
	records recordFlags
	hashing hashFlags
	inPlace bool
	force   bool
	grow    bool
	json    bool
}

// addFlags are those of "seen add".
type addFlags struct {
	changeFlags
	fleet    fleetFlags
	capacity flagvalue.Count
	rate     flagvalue.Rate
}

func (a *app) addCommand() *cobra.Command {
	var c addFlags
	cmd := &cobra.Command{
		Use:         "add {SET | --redis URL --name NAME} [FILE...]",
		Short:       "add keys to a filter",
		Annotations: common("in-place redis server name capacity error-rate json key field-separator ignore-case email url"),
		Long: `Add keys, one per line, to a filter file that exists. To make one, use build; to unite
two, use merge.

Keys are made as "seen build" made those of the filter: with --email, say, if it had
--email. Other options about keys are an error.

The file is replaced as a whole at the end; if something fails, it is unchanged. With
--in-place, only the parts that change are written, which is faster for few keys in a
large file.

Keys that would take the filter past its error rate are refused before anything is
written. --force adds them in any case; --grow makes a blocked filter one that grows.`,
		Example: `  seen add known.seen more.txt
  seen add known.seen --in-place < one-more-key.txt
  seen add --redis redis://db1 --name crawl -n 1G urls.txt     to a filter that many machines share`,
		Args: c.fleet.arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case c.fleet.isSet() && (c.force || c.grow):
				return usagef("--force and --grow are for filter files")
			case c.fleet.isSet():
				return a.addFleet(cmd, &c, args)
			case c.grow && (c.force || c.inPlace):
				return usagef("--grow cannot be combined with --force or --in-place")
			}
			return a.add(cmd, &c.changeFlags, args[0], args[1:])
		},
	}
	cmd.Flags().BoolVar(&c.force, "force", false, "add the keys even if the filter is then past its error rate")
	cmd.Flags().BoolVar(&c.grow, "grow", false, "turn a blocked filter into a scalable one first, which grows and keeps its error rate")
	cmd.Flags().BoolVar(&c.inPlace, "in-place", false, "write into the file itself (blocked, classic and partitioned filters)")
	c.register(cmd)
	c.fleet.register(cmd, &c.hashing, true)
	c.fleet.registerCreation(cmd, &c.capacity, &c.rate)
	return cmd
}

func (c *changeFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.json, "json", false, "report as JSON on standard output")
	c.records.register(cmd)
	c.hashing.registerSecret(cmd)
}

func (a *app) add(cmd *cobra.Command, c *changeFlags, name string, files []string) error {
	o, err := c.hashing.load()
	if err != nil {
		return err
	}
	var keys, isNew uint64
	var after bloom.View
	fill := func(rules string, hash bloom.Hash, add func(hs []uint64) (int, error)) error {
		err := c.records.follow(ruledSet{name, rules})
		if err != nil {
			return err
		}
		keys, err = a.eachHash(cmd, c, files, hash, func(hs []uint64) error {
			n, err := add(hs)
			isNew += uint64(n)
			return err
		})
		return err
	}
	if c.inPlace {
		return a.addInPlace(cmd, c, name, o, func(f *bloomfile.File) error {
			rules := f.Info().Rules
			if rules == "" {
				own, err := c.records.keptRules()
				if err != nil {
					return err
				}
				c.records.sayUnkept(a, cmd, name, own)
			}
			n, err := fillInPlace(name, f, c.force, func(add func(hs []uint64) (int, error)) error { return fill(rules, f.Info().Hash, add) })
			isNew = n
			return err
		}, &keys, &isNew)
	}
	err = changeSet(name, o, func(v bloom.View) (bloom.View, error) {
		if c.grow {
			var err error
			if v, err = asGrowing(name, v); err != nil {
				return nil, err
			}
		}
		set, err := asSet(name, v)
		if err != nil {
			return nil, err
		}
		after = v
		// Limits of the run that made the filter do not apply here.
		switch s := set.(type) {
		case *bloom.Scalable:
			s.SetLimits(0, false)
		case *bloom.Adaptive:
			if c := s.Config(); c.MaxBytes != 0 {
				if err := s.SetLimits(c.MaxBytes, 0, false); err != nil {
					return nil, err
				}
			}
		}
		if err := c.records.keepIn(a, cmd, name, v); err != nil {
			return nil, err
		}
		if err := fill(set.Rules(), set.Hash(), func(hs []uint64) (int, error) { return addAll(set, hs, nil) }); err != nil {
			return nil, err
		}
		if isNew == 0 || c.force {
			return v, nil
		}
		return v, refusePast(name, v.Stats(), "add")
	})
	if err != nil {
		return err
	}
	return a.reportFilled(cmd, name, c.json, c.records.quiet, keys, isNew, after)
}

// eachHash passes the hashes of all keys of the files to change, and returns their number.
func (a *app) eachHash(cmd *cobra.Command, c *changeFlags, files []string, hash bloom.Hash, change func(hs []uint64) error) (uint64, error) {
	in, config, err := c.records.open(a, files)
	if err != nil {
		return 0, sayKeysAreInFiles(cmd, files, err)
	}
	a.sayOfKeysWithCR(cmd, &c.records, &config)
	config.Hash = streamHash(hash)
	err = a.readKeys(&c.records, in, config, func(hs []uint64, _ []int64) error { return change(hs) })
	return config.Counters.Records.Load(), sayKeysAreInFiles(cmd, files, err)
}

// sayKeysAreInFiles adds to an error about a file that does not exist that arguments are not
// keys.
func sayKeysAreInFiles(cmd *cobra.Command, files []string, err error) error {
	if len(files) == 0 || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w; keys come from a FILE or from standard input: echo KEY | %s SET", err, cmd.CommandPath())
}

// addInPlace adds through a mapping of the file.
func (a *app) addInPlace(cmd *cobra.Command, c *changeFlags, name string, o bloom.LoadOptions, fill func(f *bloomfile.File) error, keys, isNew *uint64) error {
	f, err := bloomfile.Open(name, bloomfile.Options{Secret: o.Secret, Writable: true})
	if err != nil {
		return setfile.ExplainCompressed(name, err)
	}
	err = fill(f)
	i := f.Info() // of the open file, which knows how many were added
	var pastErr error
	if err == nil && i.Added > i.Capacity {
		var st bloom.Stats
		if st, err = f.Stats(); err == nil {
			pastErr = past(name, st)
		}
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if c.json {
		err = printLine(a.env.Stdout, builtReport{
			Set: name, Filter: i.Type, Keys: *keys, New: *isNew, Added: i.Added, Capacity: i.Capacity, Bytes: uint64(i.Size),
		})
	} else if !c.records.quiet {
		a.say(cmd, "%s: %s new of %s keys", name, figure.Comma(*isNew), figure.Comma(*keys))
	}
	return cmp.Or(err, pastErr)
}

// asGrowing returns a filter that grows, with the keys of v.
func asGrowing(name string, v bloom.View) (bloom.View, error) {
	switch f := v.(type) {
	case bloom.Growing:
		return v, nil
	case *bloom.Filter:
		s, err := f.Grow()
		if errors.Is(err, bloom.ErrFull) {
			st := f.Stats()
			n := max(st.Added, uint64(min(st.Cardinality.Value, math.MaxInt64)))
			return nil, fmt.Errorf("%s cannot grow any more: it has %s keys, too many for the first layer of a filter that grows; build a larger one from all keys with %s, or add with --force",
				name, figure.Comma(n), buildCommand("scalable", n, st.AskedErrorRate, f.Rules()))
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot grow: %w; build a larger one from all keys, or add with --force", name, err)
		}
		return s, nil
	}
	return nil, fmt.Errorf("%s is a %s filter; only blocked filters can be made to grow: build it again, with --type scalable", name, v.Design().Type)
}

// fillInPlace adds to an open file the hashes that fill passes on, after it has seen all of
// them: none is added if they would take the filter past its error rate. It returns how many
// were new.
func fillInPlace(name string, f *bloomfile.File, force bool, fill func(add func(hs []uint64) (int, error)) error) (isNew uint64, err error) {
	if force {
		err := fill(func(hs []uint64) (int, error) {
			n, err := f.AddHashes(nil, hs)
			isNew += uint64(n)
			return n, err
		})
		return isNew, err
	}
	absent, err := bloom.NewAdaptive(bloom.AdaptiveConfig{})
	if err != nil {
		return 0, err
	}
	var found []bool
	err = fill(func(hs []uint64) (int, error) {
		found = resize(found, len(hs))
		if _, err := f.HasHashes(found, hs); err != nil {
			return 0, err
		}
		n := 0
		for i, h := range hs {
			if !found[i] && absent.AddHash(h) {
				n++
			}
		}
		if absent.Bytes() > defaultMemory {
			return n, &exitError{ExitLimit, fmt.Errorf("%s new keys need more than %s of memory, and are not added; leave out --in-place, or add them in several runs",
				figure.Comma(absent.Added()), figure.Bytes(defaultMemory))}
		}
		return n, nil
	})
	if err != nil || absent.Added() == 0 {
		return 0, err
	}
	if err := refuseInPlace(name, f, absent.Added()); err != nil {
		return 0, err
	}
	for hs := range absent.Hashes() {
		n, err := f.AddHashes(nil, hs)
		isNew += uint64(n)
		if err != nil {
			return isNew, err
		}
	}
	return isNew, nil
}

// refuseInPlace is refusePast for a file that gets more new keys. It reads the whole file
// only if the header does not say that there is room.
func refuseInPlace(name string, f *bloomfile.File, more uint64) error {
	i := f.Info()
	if i.ErrorRate == 0 || i.Added > 0 && i.Added+more <= i.Capacity {
		return nil
	}
	st, err := f.Stats()
	if err != nil {
		return err
	}
	now := max(float64(st.Added), st.Cardinality.Value)
	st.Added += more
	st.Cardinality.Value += float64(more)
	st.ErrorRate = 1
	if now+float64(more) < math.MaxInt64 { // +Inf if the filter is full
		st.ErrorRate = st.Params.ErrorRate(uint64(now) + more)
	}
	return refusePast(name, st, "add")
}
