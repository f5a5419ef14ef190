package cluster

import (
	"slices"
	"strings"
)

// Use is what a client does, for [ACL].
type Use uint8

// The uses. Add them up with | for a client that does several things.
const (
	// UseAsk is to ask a [Filter] or [Window] and to describe it. Such a client cannot
	// finish a change that another client has abandoned.
	UseAsk Use = 1 << iota
	// UseAdd is everything that a [Filter] or [Window] does.
	UseAdd
	// UseRecipe is everything that a [RecipeFilter] does.
	UseRecipe
	// UseServer is everything that a [ServerFilter] does.
	UseServer
)

// every has all uses.
const every = UseAsk | UseAdd | UseRecipe | UseServer

// command is a command that a client sends to an engine.
type command struct {
	name string // in capital letters, a subcommand behind a space
	uses Use    // that need it
	why  string
}

// commands are those that this package and its client library send. A test checks that
// there are no others.
var commands = []command{
	{"APPEND", UseRecipe, "waiting for replicas"},
	{"ASKING", every, "following a slot that moves to another node"},
	{"BF.DEBUG", UseServer, "reading the parameters of a filter"},
	{"BF.INFO", UseServer, "reading the state of a filter"},
	{"BF.INSERT", UseServer, "adding keys"},
	{"BF.MEXISTS", UseServer, "asking for keys"},
	{"BF.RESERVE", UseServer, "creating a filter"},
	{"BITCOUNT", UseAsk | UseAdd, "checking whether a layer is full, and how full"},
	{"BITFIELD", UseAdd | UseRecipe, "adding keys, making and sealing slices"},
	{"BITFIELD_RO", UseRecipe, "asking for keys"},
	{"CLUSTER SHARDS", every, "finding the nodes (Redis 8 or later)"},
	{"CLUSTER SLOTS", every, "finding the nodes"},
	{"DEL", UseAdd | UseServer, "deleting a filter"},
	{"EXEC", UseAdd, "changing the record"},
	{"EXISTS", UseAsk | UseAdd | UseRecipe, "finding the node of a key"},
	{"GET", UseAsk | UseAdd, "reading the record"},
	{"GETDEL", UseAdd, "deleting a filter in an engine without free memory"},
	{"GETRANGE", UseAsk | UseAdd, "asking for keys"},
	{"MULTI", UseAdd, "changing the record"},
	{"PERSIST", UseAdd, "removing the expiry of a filter"},
	{"PEXPIREAT", UseAdd, "setting the expiry of a filter"},
	{"PING", every, "detecting a broken connection"},
	{"PTTL", UseAsk | UseAdd, "reading the expiry of a filter"},
	{"ROLE", UseAdd | UseRecipe, "checking whether there are replicas to wait for"},
	{"SET", UseAdd, "creating and changing the record"},
	{"SETRANGE", UseAdd, "writing a union"},
	{"STRLEN", UseRecipe, "reading the length of a string"},
	{"TIME", UseAsk | UseAdd, "the engine's time, for windows and expiry"},
	{"UNLINK", UseAdd, "deleting slices"},
	{"UNWATCH", UseAdd, "leaving a record that another client has changed"},
	{"WAIT", UseAdd | UseRecipe, "waiting for replicas"},
	{"WATCH", UseAdd, "changing the record"},
}

// commandsFor returns the commands that a client needs for all of the given uses, sorted
// by name. AUTH, HELLO and the like need no permission.
func commandsFor(use Use) []command {
	return slices.DeleteFunc(slices.Clone(commands), func(c command) bool { return c.uses&use == 0 })
}

// ACL returns the rules for ACL SETUSER that allow a user all of the given uses of the
// filter of the given name: the patterns of its keys, and the commands, with spaces
// between them. They add to what the user may do already. White space and quotes in the
// name, which would end a rule, become ?, which matches any byte.
func ACL(use Use, name string) string {
	// A pattern has * ? [ ] and \ with a meaning of their own.
	quoted := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`,
		" ", "?", "\t", "?", "\n", "?", "\v", "?", "\f", "?", "\r", "?", `"`, "?", "'", "?").Replace(name)
	rules := []string{"~" + quoted}
	if use&(UseAsk|UseAdd) != 0 {
		rules = append(rules, "~"+quoted+":*")
	}
	if use&UseRecipe != 0 {
		rules = append(rules, "~"+quoted+"[0-9]*")
	}
	for _, c := range commandsFor(use) {
		rules = append(rules, "+"+strings.ToLower(strings.ReplaceAll(c.name, " ", "|")))
	}
	return strings.Join(rules, " ")
}
