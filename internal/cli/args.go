package cli

import (
	"math"

	"github.com/spf13/cobra"
)

// arguments demands from least to most arguments, called by the name that they
// have in the help.
func arguments(least, most int, name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least && least == 1:
			return usagef("%s is missing", name)
		case len(args) < least:
			return usagef("%d arguments are needed, %s; there are %d", least, name, len(args))
		case len(args) > most:
			return usagef("%q is one argument too many", args[most])
		}
		return nil
	}
}

// anyMore is for arguments without an upper limit.
const anyMore = math.MaxInt
