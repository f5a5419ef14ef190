package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"
)

func (a *app) backupCommand() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "backup DIR",
		Short: "have a running server write a backup",
		Long: `Have a running server on this machine write all its filters, as they are at one
moment, into the new folder DIR, while it goes on serving. The server writes with
its own rights, so that DIR must be where it may. The secret of the hash is part of
the backup; keep it as you keep the data.`,
		Example: `  seen backup /var/backups/seen/$(date +%F)
  seen backup --addr unix:/run/seen.sock --password-file /etc/seen.password /var/backups/seen/now`,
		Args: arguments(1, 1, "DIR"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.backup(&f, args[0]) },
	}
	f.register(cmd, "addr")
	return cmd
}

func (a *app) backup(f *serverFlags, dir string) error {
	dir, err := filepath.Abs(dir) // the server stands in another folder
	if err != nil {
		return err
	}
	return a.order(f, []byte("SEEN.BACKUP"), []byte(dir))
}
