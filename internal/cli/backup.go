package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"
)

func (a *app) backupCommand() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "backup DIR",
		Short: "back up a running server",
		Long: `Write a backup of a server that runs on this machine into the new folder DIR: all its
filters as they are at one moment. The server keeps serving meanwhile. It writes DIR
with its own rights, so choose a place where it may write. The backup contains the
secret of the hash; protect it as you protect the data.`,
		Example: `  seen backup /var/backups/seen/$(date +%F)
  seen backup --addr unix:/run/seen.sock --password-file /etc/seen.password /var/backups/seen/now`,
		Args:              arguments(1, 1, "DIR"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE:              func(_ *cobra.Command, args []string) error { return a.backup(&f, args[0]) },
	}
	f.register(cmd, "addr")
	return cmd
}

func (a *app) backup(f *serverFlags, dir string) error {
	dir, err := filepath.Abs(dir) // the server runs in another folder
	if err != nil {
		return err
	}
	return a.order(f, []byte("SEEN.BACKUP"), []byte(dir))
}
