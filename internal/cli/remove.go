package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/internal/figure"
)

func (a *app) removeCommand() *cobra.Command {
	var c changeFlags
	cmd := &cobra.Command{
		Use:         "remove SET [FILE...]",
		Short:       "remove keys from a counting filter",
		Annotations: common("json key field-separator ignore-case email url"),
		Long: `Remove keys, one per line, from a counting filter.

Keys are made as "seen build" made those of the filter: with --email, say, if it had
--email. Other options about keys are an error.

A key that is certainly not in the filter is counted and changes nothing. A key has to
be removed as often as it was added.

Remove only keys that were added. Removing a key that the filter says yes to by error
removes parts of other keys.`,
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
	err = changeSet(name, o, func(v bloom.View) (bloom.View, error) {
		f, ok := v.(*bloom.Counting)
		if !ok {
			return nil, fmt.Errorf("%s is a %s filter; only counting filters can remove keys: build it with --type counting", name, v.Design().Type)
		}
		if err := c.records.follow(ruledSet{name, v.Rules()}); err != nil {
			return nil, err
		}
		_, err := a.eachHash(cmd, c, files, f.Hash(), func(hs []uint64) error {
			for _, h := range hs {
				if r.Keys++; f.RemoveHash(h) {
					r.Removed++
				}
			}
			return nil
		})
		r.Absent, r.Stuck = r.Keys-r.Removed, f.Stats().Stuck
		return v, err
	})
	switch {
	case err != nil:
		return err
	case c.json:
		return printJSON(a.env.Stdout, r)
	case !c.records.quiet:
		a.say(cmd, "%s: %s keys removed, %s were not in it", name, figure.Comma(r.Removed), figure.Comma(r.Absent))
		for _, w := range stuckCounters(r.Stuck) {
			a.say(cmd, "warning: %s: %s", name, w)
		}
	}
	return nil
}
