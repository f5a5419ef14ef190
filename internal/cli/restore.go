package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"seen/internal/figure"
	"seen/internal/store"
)

func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore BACKUP DIR",
		Short: "restore a backup into a new folder",
		Long: `Copy a backup that "seen backup" has written into the new folder DIR, for
"seen serve --data DIR". A backup that is not complete is refused. DIR appears when
all of it is copied. It is opened once to check that it can be.`,
		Example:           `  seen restore /var/backups/seen/2026-11-21 /var/lib/seen`,
		Args:              arguments(2, 2, "BACKUP and DIR"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.restore(cmd, args[0], args[1]) },
	}
}

func (a *app) restore(cmd *cobra.Command, backup, dir string) error {
	if err := store.Restore(backup, dir, nil); err != nil {
		return err
	}
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		// The backup still has everything that was copied.
		err = fmt.Errorf("the restored folder %s cannot be opened and was removed: %w", dir, err)
		return errors.Join(err, os.RemoveAll(dir))
	}
	filters, memory := s.Len(), s.Memory()
	if err := s.Close(); err != nil {
		return err
	}
	a.say(cmd, "%d filters, %s of memory, in %s", filters, figure.Bytes(memory), dir)
	return nil
}
