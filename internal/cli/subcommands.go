package cli

import "github.com/spf13/cobra"

// subcommands returns the subcommands in the order of the help.
func (a *app) subcommands() []*cobra.Command {
	all := []*cobra.Command{
		a.uniqCommand(),
		a.filterCommand(),
		a.buildCommand(),
		a.addCommand(),
		a.removeCommand(),
		a.clearCommand(),
		a.checkCommand(),
		a.explainCommand(),
		a.infoCommand(),
		a.verifyCommand(),
		a.mergeCommand(),
		a.compareCommand(),
		a.convertCommand(),
		a.formatsCommand(),
		a.importCommand(),
		a.countCommand(),
		a.planCommand(),
		a.serveCommand(),
		a.webCommand(),
		a.backupCommand(),
		a.restoreCommand(),
		a.manCommand(),
		a.keysCommand(),
	}
	for _, cmd := range all {
		completeFlags(cmd)
	}
	return all
}
