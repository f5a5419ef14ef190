// Package man holds the manual pages of the command, for the command itself, which
// installs them. It has nothing but them; internal/cli makes them of its help.
package man

import "embed"

// Pages has a file for each subcommand, and seen.1.
//
//go:embed *.1
var Pages embed.FS
