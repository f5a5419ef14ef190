package cli

import "github.com/spf13/cobra"

// addSubcommands adds the subcommands in the groups and in the order of the help.
func (a *app) addSubcommands(root *cobra.Command) {
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"lines", "Lines of files and streams", []*cobra.Command{
			a.uniqCommand(),
			a.filterCommand(),
			a.countCommand(),
			a.topCommand(),
		}},
		{"filters", "Filter files", []*cobra.Command{
			a.buildCommand(),
			a.addCommand(),
			a.removeCommand(),
			a.clearCommand(),
			a.checkCommand(),
			a.mergeCommand(),
			a.infoCommand(),
			a.compareCommand(),
			a.explainCommand(),
			a.verifyCommand(),
			a.planCommand(),
		}},
		{"servers", "Servers, and fleets on Redis or Valkey", []*cobra.Command{
			a.serveCommand(),
			a.listCommand(),
			a.backupCommand(),
			a.restoreCommand(),
			a.importCommand(),
		}},
		{"others", "Filters of other systems", []*cobra.Command{
			a.formatsCommand(),
			a.convertCommand(),
		}},
		{"more", "More", []*cobra.Command{
			a.webCommand(),
			a.keysCommand(),
			a.manCommand(),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			completeFlags(cmd)
			addHelp(cmd)
			root.AddCommand(cmd)
		}
	}
}
