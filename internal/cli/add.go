package cli

import (
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
large file.`,
		Example: `  seen add known.seen more.txt
  seen add known.seen --in-place < one-more-key.txt
  seen add --redis redis://db1 --name crawl -n 1G urls.txt     to a filter that many machines share`,
		Args: c.fleet.arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.fleet.isSet() {
				return a.addFleet(cmd, &c, args)
			}
			return a.add(cmd, &c.changeFlags, args[0], args[1:])
		},
	}
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
			return fill(rules, f.Info().Hash, func(hs []uint64) (int, error) { return f.AddHashes(nil, hs) })
		}, &keys, &isNew)
	}
	err = changeSet(name, o, func(v bloom.View) error {
		set, err := asSet(name, v)
		if err != nil {
			return err
		}
		after = v
		// Limits of the run that made the filter do not apply here.
		switch s := set.(type) {
		case *bloom.Scalable:
			s.SetLimits(0, false)
		case *bloom.Adaptive:
			if c := s.Config(); c.MaxBytes != 0 {
				if err := s.SetLimits(c.MaxBytes, 0, false); err != nil {
					return err
				}
			}
		}
		if err := c.records.keepIn(a, cmd, name, v); err != nil {
			return err
		}
		return fill(set.Rules(), set.Hash(), func(hs []uint64) (int, error) { return addAll(set, hs, nil) })
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
		return 0, err
	}
	a.sayOfKeysWithCR(cmd, &c.records, &config)
	config.Hash = streamHash(hash)
	err = a.readKeys(&c.records, in, config, func(hs []uint64, _ []int64) error { return change(hs) })
	return config.Counters.Records.Load(), err
}

// addInPlace adds through a mapping of the file.
func (a *app) addInPlace(cmd *cobra.Command, c *changeFlags, name string, o bloom.LoadOptions, fill func(f *bloomfile.File) error, keys, isNew *uint64) error {
	f, err := bloomfile.Open(name, bloomfile.Options{Secret: o.Secret, Writable: true})
	if err != nil {
		return setfile.ExplainCompressed(name, err)
	}
	err = fill(f)
	i := f.Info() // of the open file, which knows how many were added
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if c.json {
		return printLine(a.env.Stdout, builtReport{
			Set: name, Filter: i.Type, Keys: *keys, New: *isNew, Added: i.Added, Capacity: i.Capacity, Bytes: uint64(i.Size),
		})
	}
	if !c.records.quiet {
		a.say(cmd, "%s: %s new of %s keys", name, figure.Comma(*isNew), figure.Comma(*keys))
	}
	return nil
}
