package cli

import (
	"context"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/cluster"
)

// clearFlags are the flags of "seen clear".
type clearFlags struct {
	fleet fleetFlags
	drop  bool
}

func (a *app) clearCommand() *cobra.Command {
	var c clearFlags
	cmd := &cobra.Command{
		Use:   "clear {SET... | --redis URL --name NAME}",
		Short: "delete all keys of a filter",
		Long: `Delete all keys of filter files, or of a filter that many machines share. Type and size
stay.

A shared filter that has lost a part is refused by other commands; this one repairs
it. Keys that another machine adds at the same time may be deleted or not.

With --drop, a shared filter is deleted as a whole and its memory is freed. Delete a
file with rm.`,
		Example: `  seen clear crawl.seen
  seen clear --redis redis://db1 --name crawl
  seen clear --drop --redis redis://db1 --name crawl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.fleet.isSet() {
				return arguments(0, 0, "")(cmd, args)
			}
			if c.drop {
				return usagef("--drop needs --redis or --server; delete a file with rm")
			}
			return c.fleet.arguments(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if c.fleet.isSet() {
				return a.clearFleet(&c)
			}
			return clearFiles(args)
		},
	}
	cmd.Flags().BoolVar(&c.drop, "drop", false, "with --redis or --server: delete the filter")
	c.fleet.registerPlace(cmd)
	c.fleet.registerLogin(cmd)
	return cmd
}

func clearFiles(names []string) error {
	for _, name := range names {
		err := changeSet(name, bloom.LoadOptions{Inspect: true}, func(v bloom.View) (bloom.View, error) {
			set, err := asSet(name, v)
			if err == nil {
				set.Clear()
			}
			return v, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// clearFleet clears or drops a shared filter in any state.
func (a *app) clearFleet(c *clearFlags) error {
	if c.fleet.server != "" && !c.drop {
		return usagef("--server: a filter in a server cannot be cleared; delete it with --drop and create it again")
	}
	at, client, err := c.fleet.dial(a)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(a.ctx, c.fleet.limit())
	defer cancel()
	switch {
	case c.fleet.server != "":
		var f *cluster.ServerFilter
		if f, err = cluster.OpenServer(ctx, client, at.Name, cluster.ServerConfig{}); err == nil {
			err = f.Drop(ctx)
		}
	case c.drop:
		err = cluster.Drop(ctx, client, at.Name)
	default:
		err = cluster.Clear(ctx, client, at.Name)
	}
	return c.fleet.explain(err)
}
