package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/cli/flagvalue"
	"seen/internal/setfile"
	"seen/interop"
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
		Use:   "add {SET | --redis URL --name NAME} [FILE...]",
		Short: "add keys, one a line, to a filter file",
		Long: `Add keys, one a line, to a filter file. The file is replaced as a whole at the
end, so that a failure leaves it as it was. With --in-place only the parts that
change are written, which is quicker for few keys in a large file.`,
		Example: `  seen add known.seen more.txt
  seen add known.seen --in-place < one-more-key.txt
  seen add --redis redis://db1 --name crawl -n 1G urls.txt     to a filter that a fleet shares`,
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
	fill := func(hash bloom.Hash, add func(hs []uint64) (int, error)) error {
		in, config, err := c.records.open(a, files)
		if err != nil {
			return err
		}
		a.sayOfKeysWithCR(cmd, &c.records, &config)
		config.Hash = streamHash(hash)
		err = a.readKeys(&c.records, in, config, func(hs []uint64, _ []int64) error {
			n, err := add(hs)
			isNew += uint64(n)
			return err
		})
		keys = config.Counters.Records.Load()
		return err
	}
	if c.inPlace {
		return a.addInPlace(cmd, c, name, o, func(f *bloomfile.File) error {
			return fill(f.Info().Hash, func(hs []uint64) (int, error) { return f.AddHashes(nil, hs) })
		}, &keys, &isNew)
	}
	err = changeSet(name, o, func(v bloom.View) error {
		set, err := asSet(name, v)
		if err != nil {
			return err
		}
		after = v
		// The limits of the run that made it do not bind this one.
		switch s := set.(type) {
		case *bloom.Scalable:
			s.SetLimit(0, false)
		case *bloom.Adaptive:
			if c := s.Config(); c.MaxBytes != 0 {
				if err := s.SetLimits(c.MaxBytes, 0, false); err != nil {
					return err
				}
			}
		}
		return fill(set.Hash(), func(hs []uint64) (int, error) { return addAll(set, hs, nil) })
	})
	if err != nil {
		return err
	}
	return a.reportFilled(cmd, name, c.json, c.records.quiet, keys, isNew, after)
}

// addInPlace adds through a mapping of the file.
func (a *app) addInPlace(cmd *cobra.Command, c *changeFlags, name string, o bloom.LoadOptions, fill func(f *bloomfile.File) error, keys, isNew *uint64) error {
	f, err := bloomfile.Open(name, bloomfile.Options{Secret: o.Secret, Writable: true})
	if err != nil {
		return setfile.ExplainCompressed(name, err)
	}
	err = fill(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if c.json {
		i := f.Info()
		return printLine(a.env.Stdout, builtReport{
			Set: name, Filter: i.Type, Keys: *keys, New: *isNew, Added: i.Added, Capacity: i.Capacity, Bytes: uint64(i.Size),
		})
	}
	if !c.records.quiet {
		a.say(cmd, "%s: %s new of %s keys", name, humanize.Comma(int64(*isNew)), humanize.Comma(int64(*keys)))
	}
	return nil
}

func (a *app) removeCommand() *cobra.Command {
	var c changeFlags
	cmd := &cobra.Command{
		Use:   "remove SET [FILE...]",
		Short: "remove keys, one a line, from a counting filter",
		Long: `Remove keys, one a line, from a counting filter. A key that is certainly not there
is counted and changes nothing. A key must be removed as often as it was added.

Remove only what was added: where the filter takes a key for seen by error,
removing it takes away what belongs to others.`,
		Example: `  seen remove stock.seen sold.txt`,
		Args:    arguments(1, anyMore, "SET"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.remove(cmd, &c, args[0], args[1:]) },
	}
	c.register(cmd)
	return cmd
}

// removedReport is what remove reports as JSON.
type removedReport struct {
	Set     string `json:"set"`
	Keys    uint64 `json:"keys"`
	Removed uint64 `json:"removed"`
	Absent  uint64 `json:"absent"`
	Stuck   uint64 `json:"stuck_counters"`
}

func (a *app) remove(cmd *cobra.Command, c *changeFlags, name string, files []string) error {
	o, err := c.hashing.load()
	if err != nil {
		return err
	}
	r := removedReport{Set: name}
	err = changeSet(name, o, func(v bloom.View) error {
		f, ok := v.(*bloom.Counting)
		if !ok {
			return fmt.Errorf("%s holds a %s filter; keys can be removed only from counting filters: build it with --type counting", name, v.Stats().Type)
		}
		in, config, err := c.records.open(a, files)
		if err != nil {
			return err
		}
		a.sayOfKeysWithCR(cmd, &c.records, &config)
		config.Hash = streamHash(f.Hash())
		err = a.readKeys(&c.records, in, config, func(hs []uint64, _ []int64) error {
			for _, h := range hs {
				if r.Keys++; f.RemoveHash(h) {
					r.Removed++
				}
			}
			return nil
		})
		r.Absent, r.Stuck = r.Keys-r.Removed, f.Stats().Stuck
		return err
	})
	switch {
	case err != nil:
		return err
	case c.json:
		return printJSON(a.env.Stdout, r)
	case !c.records.quiet:
		a.say(cmd, "%s: %s keys removed, %s were not there", name, humanize.Comma(int64(r.Removed)), humanize.Comma(int64(r.Absent)))
		for _, w := range stuckCounters(r.Stuck) {
			a.say(cmd, "warning: %s: %s", name, w)
		}
	}
	return nil
}

// verifyReport is what verify reports of one file as JSON.
type verifyReport struct {
	Set    string   `json:"set"`
	OK     bool     `json:"ok"`
	Errors []string `json:"errors,omitempty"`
	*folderReport
}

func (a *app) verifyCommand() *cobra.Command {
	var asJSON, quiet, rebuild bool
	var foreign foreignFlags
	cmd := &cobra.Command{
		Use:   "verify {SET | DIR}...",
		Short: "check filter files, the data folder of a server, or a backup",
		Long: `Check every checksum of filter files. The exit code is 0 if all are whole, 1 if
one is damaged, 2 if one cannot be read at all.

A file that was being changed in place (add --in-place) when the machine went
down is refused, since its checksums cannot be trusted. --rebuild makes them
anew from what is there: right if the disk lost no writes, or if some keys that
were added last may be missing.

A filter of another system is whole if its length is what its header announces, and
its checksum is right where its format has one; few have.

A DIR is a backup, or the data folder of a server that is not running. Every file,
reference, checksum and log record is checked; what is missing or damaged is reported
with the filter that needs it. Nothing is changed. A running server checks its files
itself, see --scrub of "seen serve"; to check more, verify a backup of it.`,
		Example: `  seen verify *.seen
  seen verify --rebuild after-power-failure.seen
  seen verify /var/backups/seen/2026-11-21
  seen verify --json /var/lib/seen | jq -r '.[].damage[]?.filter'`,
		Args: arguments(1, anyMore, "SET or DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rebuild {
				for _, name := range args {
					if err := bloomfile.Rebuild(name); err != nil {
						return err
					}
				}
			}
			return a.verify(cmd, args, &foreign, asJSON, quiet)
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "first make the checksums of interrupted files anew")
	cmd.Flags().BoolVar(&asJSON, "json", false, "report as JSON")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "exit code only")
	foreign.registerFormat(cmd)
	return cmd
}

func (a *app) verify(cmd *cobra.Command, names []string, flags *foreignFlags, asJSON, quiet bool) error {
	reports := make([]verifyReport, 0, len(names))
	damaged, unread := false, false
	for _, name := range names {
		r := verifyReport{Set: name}
		var problems []error
		var err error
		if isDataFolder(name) {
			r.folderReport, problems, err = a.verifyFolder(name, quiet)
		} else {
			problems, err = a.checkFile(name, flags)
		}
		switch {
		case err != nil && a.ctx.Err() != nil:
			return err // interrupted
		case err != nil: // the others are verified nevertheless
			a.sayError(cmd, err)
			unread = true
			r.Errors = []string{err.Error()}
			reports = append(reports, r)
			continue
		}
		for _, p := range problems {
			r.Errors = append(r.Errors, p.Error())
		}
		r.OK = len(problems) == 0
		damaged = damaged || !r.OK
		reports = append(reports, r)
		if !quiet && !asJSON {
			if err := printVerified(a.env.Stdout, r); err != nil {
				return err
			}
		}
	}
	if asJSON {
		if err := printJSON(a.env.Stdout, reports); err != nil {
			return err
		}
	}
	switch {
	case unread:
		return &exitError{code: ExitError}
	case damaged:
		return errNo
	}
	return nil
}

func printVerified(w io.Writer, r verifyReport) error {
	if r.OK {
		_, err := fmt.Fprintf(w, "%s: ok%s\n", r.Set, r.folderReport)
		return err
	}
	for _, e := range r.Errors {
		if _, err := fmt.Fprintf(w, "%s: %s\n", r.Set, e); err != nil {
			return err
		}
	}
	return nil
}

// maxProblems bounds the list of a badly damaged file.
const maxProblems = 100

// checkFile returns what is damaged in a filter file. The error is for files that
// are no filters or cannot be read.
func (a *app) checkFile(name string, flags *foreignFlags) (problems []error, err error) {
	kind, foreign, err := a.kindOf(name, flags, true)
	switch {
	case errors.Is(err, interop.ErrBadData):
		return []error{err}, nil
	case err != nil:
		return nil, err
	case kind == setfile.KindForeign:
		defer foreign.Close() // it is only read
		return nil, foreign.Read(func() error {
			foreign.Filter.Stats() // reads all of it
			return nil
		})
	}
	f, err := bloomfile.Open(name, bloomfile.Options{})
	if err != nil {
		if isDamage(err) {
			return []error{err}, nil
		}
		return nil, err
	}
	defer f.Close() // it is only read
	for problem := range f.Check() {
		if problems = append(problems, problem); len(problems) == maxProblems {
			break
		}
	}
	return problems, nil
}
