package server

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/server/args"
)

var aclCommands = section("server", nil, []command{{
	name: "acl", arity: -2, flags: flagAlone, since: "6.0.0", complexity: "Depends on the subcommand", summary: "Commands about users and what they may do.",
	subs: []command{
		{name: "whoami", arity: 2, flags: forAll, handle: aclWhoAmI, since: "6.0.0", complexity: "O(1)", summary: "Returns the user of the connection."},
		{name: "list", arity: 2, flags: forAdmin, handle: aclList, since: "6.0.0", complexity: "O(n), n users", summary: "Lists the users with their rules."},
		{name: "users", arity: 2, flags: forAdmin, handle: aclUsers, since: "6.0.0", complexity: "O(n), n users", summary: "Lists the users."},
		{
			name: "getuser", arity: 3, flags: forAdmin, handle: aclGetUser, since: "6.0.0", complexity: "O(n), n rules",
			summary: "Describes a user.", syntax: "username",
		},
		{
			name: "setuser", arity: -3, flags: forAdmin, handle: aclSetUser, secret: 3, since: "6.0.0", complexity: "O(n), n rules",
			summary: "Creates or changes a user.", syntax: "username [rule [rule ...]]",
		},
		{
			name: "deluser", arity: -3, flags: forAdmin, handle: aclDelUser, since: "6.0.0", complexity: "O(n), n connections",
			summary: "Deletes users and closes their connections.", syntax: "username [username ...]",
		},
		{
			name: "cat", arity: -2, flags: forAll, handle: aclCat, since: "6.0.0", complexity: "O(n), n commands",
			summary: "Lists the categories or the commands of a category.", syntax: "[category]",
		},
		aclLogCommand,
		aclDryRunCommand,
		{
			name: "genpass", arity: -2, flags: forAll, handle: aclGenPass, since: "6.0.0", complexity: "O(1)",
			summary: "Generates a password.", syntax: "[bits]",
		},
		aclLoadCommand,
		aclSaveCommand,
		help("6.0.0"),
	},
}})

func aclWhoAmI(c *call) { c.out.BulkString(c.user.Load().Name) }

func aclList(c *call) {
	c.eachUser(func(u *acl.User) string { return "user " + u.Name + " " + u.Rights().Describe() })
}

func aclUsers(c *call) { c.eachUser(func(u *acl.User) string { return u.Name }) }

func (c *call) eachUser(text func(*acl.User) string) {
	var texts []string
	for _, u := range c.server.acl.List() {
		texts = append(texts, text(u))
	}
	c.strings(texts)
}

func aclGetUser(c *call) {
	u := c.server.acl.Get(string(c.args[2]))
	if u == nil {
		c.out.Null()
		return
	}
	r := u.Rights()
	c.out.Map(6)
	c.out.BulkString("flags")
	words := r.Flags()
	c.out.Set(len(words))
	for _, word := range words {
		c.out.BulkString(word)
	}
	c.fields("passwords", r.Passwords(), "commands", r.Rules(), "keys", r.Keys(), "channels", r.Channels(), "selectors", []string{})
}

func aclSetUser(c *call) {
	var rules []string
	for _, rule := range c.args[3:] {
		rules = append(rules, string(rule))
	}
	name := string(c.args[2])
	if problem := acl.NameProblem(name); problem != "" {
		c.out.Error("ERR " + problem)
		return
	}
	if rule, problem := c.server.acl.Change(name, rules); problem != "" {
		c.out.Error("ERR Error in ACL SETUSER modifier '" + acl.Conceal(rule) + "': " + problem)
		return
	}
	c.out.OK()
}

func aclDelUser(c *call) {
	n := 0
	for _, name := range c.args[2:] {
		if string(name) == acl.DefaultName {
			c.out.Error("ERR The 'default' user cannot be removed")
			return
		}
	}
	for _, name := range c.args[2:] {
		u := c.server.acl.Remove(string(name))
		if u != nil {
			c.kill(func(other *conn) bool { return other.user.Load() == u })
			n++
		}
	}
	c.out.Int(int64(n))
}

func aclCat(c *call) {
	switch len(c.args) {
	case 2:
		c.strings(acl.Categories)
	case 3:
		commands, ok := c.server.table.acl.Category(strings.ToLower(string(c.args[2])))
		if !ok {
			c.out.Error("ERR Unknown category '" + string(c.args[2]) + "'")
			return
		}
		var names []string
		for _, cmd := range commands {
			names = append(names, cmd.Name)
		}
		c.strings(names)
	default:
		c.wrongSubcommand()
	}
}

// wrongSubcommand replies that a subcommand has too many words.
func (c *call) wrongSubcommand() {
	c.out.Error(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%.128s'. Try %s HELP.",
		c.args[1], strings.ToUpper(string(c.args[0]))))
}

func aclGenPass(c *call) {
	bits := int64(256)
	switch len(c.args) {
	case 2:
	case 3:
		var ok bool
		if bits, ok = resp.ParseInt(c.args[2]); !ok {
			c.out.Error(args.NotInteger)
			return
		}
		if bits < 1 || bits > 4096 {
			c.out.Error("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096")
			return
		}
	default:
		c.wrongSubcommand()
		return
	}
	digits := int(bits+3) / 4
	b := make([]byte, (digits+1)/2)
	_, _ = rand.Read(b) // never fails
	c.out.BulkString(hex.EncodeToString(b)[:digits])
}

var aclDryRunCommand = command{
	name: "dryrun", arity: -4, flags: forAdmin, handle: aclDryRun, since: "7.0.0", complexity: "O(n), n keys",
	summary: "Checks whether a user may run a command.", syntax: "username command [arg [arg ...]]",
}

func aclDryRun(c *call) {
	u := c.server.acl.Get(string(c.args[2]))
	if u == nil {
		c.out.Error("ERR User '" + string(c.args[2]) + "' not found")
		return
	}
	words := c.args[3:]
	cmd := c.server.table.find(words)
	switch {
	case cmd == nil:
		c.out.Error("ERR Command '" + string(words[0]) + "' not found")
		return
	case !cmd.takes(len(words)):
		c.out.Error(args.WrongNumber(cmd.full))
		return
	}
	switch d, at := u.Rights().Check(cmd.acl, words); d {
	case acl.DeniedCommand:
		c.out.BulkString("User " + u.Name + " has no permissions to run the '" + cmd.full + "' command")
	case acl.DeniedKey:
		c.out.BulkString("User " + u.Name + " has no permissions to access the '" + string(words[at]) + "' key")
	default:
		c.out.OK()
	}
}
