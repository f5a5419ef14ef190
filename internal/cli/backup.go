package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"
)

func (a *app) backupCommand() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:         "backup DIR",
		Short:       "back up a running server",
		Annotations: common("server password-file"),
		Long: `Write a backup of a server that runs on this machine into the new folder DIR: all its
filters as they are at one moment. The server keeps serving meanwhile. It writes DIR
with its own rights, so choose a place where it may write. The backup contains the
secret of the hash; protect it as you protect the data.`,
		Example: `  seen backup /var/backups/seen/$(date +%F)
  seen backup --server unix:/run/seen/seen.sock --password-file pass now/`,
		Args:              arguments(1, 1, "DIR"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE:              func(_ *cobra.Command, args []string) error { return a.backup(&f, args[0]) },
	}
	f.register(cmd)
	cmd.Flags().Var(renamedFlag("give the address of the server with --server"), "addr", "")
	_ = cmd.Flags().MarkHidden("addr") // it is there
	return cmd
}

func (a *app) backup(f *serverFlags, dir string) error {
	dir, err := filepath.Abs(dir) // the server runs in another folder
	if err != nil {
		return err
	}
	return a.order(f, []byte("SEEN.BACKUP"), []byte(dir))
}
