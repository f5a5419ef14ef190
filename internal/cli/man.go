package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"seen/docs/man"
	"seen/internal/vfs"
)

// A test makes the pages from the help, so that the library for that is not part of the
// program.
//go:generate go test -run ^TestManualIsCurrent$ -update .

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man [DIR]",
		Short: "write the manual pages",
		Long: `Write a manual page for each subcommand, and one for seen itself, into DIR. Without DIR,
print the page for seen.`,
		Example: `  seen man /usr/local/share/man/man1
  seen man | man -l -`,
		Args:              arguments(0, 1, "DIR"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				page, err := man.Pages.ReadFile("seen.1")
				if err != nil {
					return err
				}
				_, err = a.env.Stdout.Write(page)
				return err
			}
			return writeManual(args[0])
		},
	}
}

// writeManual writes all pages into dir.
func writeManual(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return fs.WalkDir(man.Pages, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		page, err := man.Pages.ReadFile(name)
		if err != nil {
			return err
		}
		return vfs.WriteAtomic(vfs.OS, filepath.Join(dir, name), func(w io.Writer) error {
			_, err := w.Write(page)
			return err
		})
	})
}
