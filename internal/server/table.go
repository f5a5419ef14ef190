package server

import (
	"fmt"
	"slices"
	"strings"

	"seen/internal/server/acl"
)

// flags say what a command is and where it may run, as COMMAND INFO lists it.
type flags uint32

const (
	flagWrite flags = 1 << iota
	flagReadonly
	flagDenyOOM
	flagModule // from a module in Redis
	flagAdmin
	flagNoScript
	flagLoading
	flagStale
	flagSkipSlowlog
	flagFast
	flagNoAuth
	flagNoAsyncLoading
	flagNoMulti
	flagAllowBusy

	flagAlone // does not use the store between Begin and End; not listed
	flagHeavy // may take long with few words; not listed
)

var flagNames = []string{
	"write", "readonly", "denyoom", "module", "admin", "noscript", "loading", "stale",
	"skip_slowlog", "fast", "no_auth", "no_async_loading", "no_multi", "allow_busy",
}

// A command is a row of the table. Fields that are not set have no effect.
type command struct {
	name       string // in lower case; of a subcommand without the parent's name
	arity      int    // number of words with the name; -n: n or more
	flags      flags
	categories []string // of the ACL, in addition to those that follow from the flags
	// The positions of the keys: from first to last, which counts from the end if
	// negative, in steps.
	first, last, step int
	// access is what the command does with the keys; 0: a command that writes reads and
	// writes them, any other reads them.
	access acl.Access
	// keys, if set, finds the keys and what the command does with each, where positions
	// are not enough.
	keys   func(args [][]byte, key func(at int, a acl.Access))
	handle func(*call)
	// secret, if not 0, is the first word that may be a password or precede one. The slow
	// log does not keep the words from there on.
	secret int
	// runs, if set, runs several commands of one pipeline at once: neighbours with the
	// same runs and the same first argument.
	runs *runs
	subs []command

	// For COMMAND DOCS.
	summary, since, complexity, group string
	syntax                            string // of the words after the name; see args.Of

	full   string // the name with the parent's: client|id
	parent *command
	acl    *acl.Command // what rights need to know of it
	names  map[string]*command
	stats  *commandStats
}

// runs runs neighbours in a pipeline together and writes one reply for each, in order. All
// have an allowed number of words and the same key.
type runs struct {
	handle func(c *call, batch []parsed)
}

// takes reports whether a command may have n words.
func (cmd *command) takes(n int) bool {
	return n == cmd.arity || cmd.arity < 0 && n >= -cmd.arity
}

// table holds all commands.
type table struct {
	byName   map[string]*command
	commands []*command // all with their subcommands
	acl      acl.Commands
	top      []*command // without subcommands, in the order of their families
}

// families are the parts of the table.
func families() [][]command {
	return [][]command{
		connectionCommands, keyCommands, expiryCommands, transactionCommands, serverCommands, moduleCommands, aclCommands,
		bfCommands,
		dumpCommands,
		cfCommands,
		cmsCommands,
		topkCommands,
		backupCommands,
		stateCommands,
	}
}

func newTable() *table {
	t := &table{byName: map[string]*command{}}
	for _, family := range families() {
		for i := range family {
			cmd := family[i]
			t.add(&cmd, nil)
		}
	}
	return t
}

func (t *table) add(cmd, parent *command) {
	cmd.parent, cmd.full, cmd.stats = parent, cmd.name, new(commandStats)
	t.commands = append(t.commands, cmd)
	if parent == nil {
		t.byName[cmd.name] = cmd
		t.top = append(t.top, cmd)
	} else {
		cmd.full = parent.name + "|" + cmd.name
		parent.names[cmd.name] = cmd
	}
	cmd.acl = &acl.Command{Name: cmd.full, Categories: cmd.allCategories(), Free: cmd.flags&flagNoAuth != 0, Keys: cmd.eachKey}
	if parent == nil {
		t.acl.Add(cmd.acl, nil, "")
	} else {
		t.acl.Add(cmd.acl, parent.acl, cmd.name)
	}
	if len(cmd.subs) > 0 {
		cmd.names = map[string]*command{}
	}
	for i := range cmd.subs {
		sub := cmd.subs[i]
		t.add(&sub, cmd)
	}
}

// allCategories returns the categories of a command with those that follow from its flags.
func (cmd *command) allCategories() []string {
	list := slices.Clone(cmd.categories)
	for _, c := range []struct {
		name string
		in   bool
	}{
		{"write", cmd.flags&flagWrite != 0},
		{"read", cmd.flags&flagReadonly != 0},
		{"admin", cmd.flags&flagAdmin != 0},
		{"dangerous", cmd.flags&flagAdmin != 0},
		{"fast", cmd.flags&flagFast != 0},
		{"slow", cmd.flags&flagFast == 0},
	} {
		if c.in && !slices.Contains(list, c.name) {
			list = append(list, c.name)
		}
	}
	return list
}

// eachKey calls key with the position of every key and what the command does with it.
func (cmd *command) eachKey(args [][]byte, key func(at int, a acl.Access)) {
	if cmd.keys != nil {
		cmd.keys(args, key)
		return
	}
	if cmd.first == 0 {
		return
	}
	a, last := cmd.accessOfKeys(), cmd.last
	if last < 0 {
		last += len(args)
	}
	for at := cmd.first; at <= last && at < len(args); at += max(cmd.step, 1) {
		key(at, a)
	}
}

// accessOfKeys returns what the command does with the keys at its positions.
func (cmd *command) accessOfKeys() acl.Access {
	switch {
	case cmd.access != 0:
		return cmd.access
	case cmd.flags&flagWrite != 0:
		return acl.Reads | acl.Writes
	}
	return acl.Reads
}

// longestName is longer than the name of any command.
const longestName = 32

// find returns the command for the words, nil if there is none.
func (t *table) find(args [][]byte) *command {
	cmd := lookUp(t.byName, args[0])
	if cmd != nil && cmd.names != nil && len(args) > 1 {
		return lookUp(cmd.names, args[1])
	}
	return cmd
}

func lookUp(names map[string]*command, name []byte) *command {
	var buf [longestName]byte
	if len(name) > len(buf) {
		return nil
	}
	lower := buf[:len(name)]
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return names[string(lower)]
}

// unknown returns the error for words that are not a command.
func (t *table) unknown(args [][]byte) string {
	if lookUp(t.byName, args[0]) != nil {
		return fmt.Sprintf("ERR unknown subcommand '%.128s'. Try %s HELP.", args[1], strings.ToUpper(string(args[0])))
	}
	var rest []byte
	for _, arg := range args[1:] {
		if len(rest) >= 128 {
			break
		}
		rest = fmt.Appendf(rest, "'%s' ", arg[:min(len(arg), 128-len(rest))])
	}
	return fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", args[0][:min(len(args[0]), 128)], rest)
}

// section sets the group of commands and adds categories to them and their subcommands.
func section(group string, categories []string, commands []command) []command {
	for i := range commands {
		cmd := &commands[i]
		cmd.group = group
		cmd.categories = append(cmd.categories, categories...)
		section(group, categories, cmd.subs)
	}
	return commands
}

// help is the subcommand HELP, which lists the others.
func help(since string) command {
	return command{
		name: "help", arity: 2, flags: flagLoading | flagStale | flagAlone, handle: listSubcommands,
		since: since, complexity: "O(1)", summary: "Lists the subcommands.",
	}
}

func listSubcommands(c *call) {
	parent := c.command.parent
	c.out.Array(1 + 2*len(parent.subs))
	c.out.Simple(strings.ToUpper(parent.name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for i := range parent.subs {
		sub := &parent.subs[i]
		c.out.Simple(strings.TrimSpace(strings.ToUpper(sub.name) + " " + sub.syntax))
		c.out.Simple("    " + sub.summary)
	}
}

const (
	writer     = flagModule | flagWrite | flagDenyOOM
	freeWriter = flagModule | flagWrite // needs no more memory
	reader     = flagModule | flagReadonly | flagFast
	slowReader = flagModule | flagReadonly
)

// family completes the commands of one family. Each has one key, the first word, unless
// its row says otherwise.
func family(categories []string, commands []command) []command {
	for i := range commands {
		cmd := &commands[i]
		cmd.group, cmd.categories = "module", categories
		if cmd.first == 0 {
			cmd.first, cmd.last, cmd.step = 1, 1, 1
		}
	}
	return commands
}

// firstIsChanged finds the keys of a command that changes the first key and reads the
// others.
func firstIsChanged(args [][]byte, key func(at int, a acl.Access)) {
	key(1, acl.Reads|acl.Writes)
	for at := 2; at < len(args); at++ {
		key(at, acl.Reads)
	}
}
