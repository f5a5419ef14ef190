package server

import "bytes"

const describing = flagLoading | flagStale | flagAlone

var commandCommands = []command{
	commandInfoCommand,
	commandCountCommand,
	commandDocsCommand,
	commandListCommand,
	commandGetKeysCommand,
	commandGetKeysAndFlagsCommand,
	help("5.0.0"),
}

// statuses writes a set of words.
func (c *call) statuses(words []string) {
	c.out.Set(len(words))
	for _, word := range words {
		c.out.Simple(word)
	}
}

// named returns the commands of these names, nil for unknown ones.
func (c *call) named(names [][]byte) (list []*command) {
	for _, name := range names {
		name, sub, ok := bytes.Cut(name, []byte("|"))
		cmd := lookUp(c.server.table.byName, name)
		if cmd != nil && ok {
			cmd = lookUp(cmd.names, sub)
		}
		list = append(list, cmd)
	}
	return list
}
