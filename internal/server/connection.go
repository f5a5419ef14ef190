package server

import (
	"errors"
	"strings"

	"seen/internal/resp"
)

// anyTime are the flags of commands that run in every state of a connection.
const anyTime = flagNoScript | flagLoading | flagStale | flagFast | flagNoAuth | flagAllowBusy | flagAlone

var connectionCommands = section("connection", []string{"connection"}, []command{
	{
		name: "ping", arity: -1, flags: flagFast | flagAlone, handle: ping, since: "1.0.0", complexity: "O(1)",
		summary: "Answers PONG, or with the message.", arguments: arguments("[message]"),
	},
	{
		name: "echo", arity: 2, flags: flagLoading | flagStale | flagFast | flagAlone, handle: echo, since: "1.0.0", complexity: "O(1)",
		summary: "Answers with the message.", arguments: arguments("message"),
	},
	{
		name: "hello", arity: -1, flags: anyTime, handle: hello, secret: 2, since: "6.0.0", complexity: "O(1)",
		summary:   "Chooses the version of the protocol; may authenticate and name the client.",
		arguments: arguments("[protover [AUTH username password] [SETNAME clientname]]"),
	},
	{
		name: "auth", arity: -2, flags: anyTime, handle: auth, secret: 1, since: "1.0.0", complexity: "O(n), n passwords of the user",
		summary: "Tells who the client is.", arguments: arguments("[username] password"),
	},
	{
		name: "select", arity: 2, flags: flagLoading | flagStale | flagFast | flagAlone, handle: selectDatabase, since: "1.0.0", complexity: "O(1)",
		summary: "Accepts database 0, the only one.", arguments: arguments("index"),
	},
	{
		name: "quit", arity: -1, flags: anyTime, handle: quit, since: "1.0.0", complexity: "O(1)",
		summary: "Closes the connection after the reply.",
	},
	{
		name: "reset", arity: 1, flags: anyTime, handle: reset, since: "6.2.0", complexity: "O(1)",
		summary: "Makes the connection as it was at its beginning.",
	},
	{
		name: "client", arity: -2, flags: flagAlone, since: "2.4.0", complexity: "Depends on the subcommand",
		summary: "Commands about connections.", subs: clientCommands,
	},
	{
		name: "command", arity: -1, flags: flagLoading | flagStale | flagAlone, handle: allCommands, since: "2.8.13", complexity: "O(n), n commands",
		summary: "Describes all commands.", subs: commandCommands,
	},
	{
		name: "wait", arity: 3, flags: flagNoScript | flagAlone, handle: wait, since: "3.0.0", complexity: "O(1)",
		summary: "Counts the replicas that have the changes: none, since there are none.", arguments: arguments("numreplicas timeout"),
	},
})

func ping(c *call) {
	switch len(c.args) {
	case 1:
		c.out.Simple("PONG")
	case 2:
		c.out.Bulk(c.args[1])
	default:
		c.wrongArity()
	}
}

func echo(c *call) { c.out.Bulk(c.args[1]) }

func quit(c *call) {
	c.ending = true
	c.out.OK()
}

func reset(c *call) {
	c.discard()
	c.user.Store(c.server.acl.nobody)
	c.authenticated.Store(false)
	c.out.Proto = 2
	c.mute = muteNothing
	c.about.mu.Lock()
	c.about.name, c.about.noEvict, c.about.noTouch = "", false, false
	c.about.mu.Unlock()
	c.out.Simple("RESET")
}

const notInteger = "ERR value is not an integer or out of range"

func selectDatabase(c *call) {
	n, ok := resp.ParseInt(c.args[1])
	switch {
	case !ok:
		c.out.Error(notInteger)
	case n != 0:
		c.out.Error("ERR DB index is out of range")
	default:
		c.out.OK()
	}
}

func wait(c *call) {
	if n, ok := resp.ParseInt(c.args[1]); !ok || n < -1<<31 || n >= 1<<31 {
		c.out.Error(notInteger)
		return
	}
	switch timeout, ok := resp.ParseInt(c.args[2]); {
	case !ok:
		c.out.Error("ERR timeout is not an integer or out of range")
	case timeout < 0:
		c.out.Error("ERR timeout is negative")
	default:
		c.out.Int(0)
	}
}

const wrongPassword = "WRONGPASS invalid username-password pair or user is disabled."

const syntaxError = "ERR syntax error"

func auth(c *call) {
	name, password := defaultUserName, c.args[1]
	switch len(c.args) {
	case 2:
		if c.server.acl.nobody.rights.Load().open {
			c.out.Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
			return
		}
	case 3:
		name, password = string(c.args[1]), c.args[2]
	default:
		c.out.Error(syntaxError)
		return
	}
	if problem := c.login(name, password); problem != "" {
		c.out.Error(problem)
	} else {
		c.out.OK()
	}
}

// login makes the client the user of a name if the password is right, and returns
// what is wrong, "" if nothing is.
func (c *call) login(name string, password []byte) (problem string) {
	acl, former := c.server.acl, c.user.Load()
	u, err := acl.authenticate(c.life, name, password, c.peer.key, c.peer.far)
	if err == nil {
		c.user.Store(u)
		// Who was deleted while the password was tried is not found among the
		// connections that are ended for it.
		if acl.get(name) != u {
			c.user.Store(former)
			err = errWrong
		}
	}
	if err == nil {
		c.authenticated.Store(true)
		return ""
	}
	acl.log.add(refused{
		reason: "auth", context: c.place(), object: strings.ToUpper(c.command.full), user: name, client: c.describe(),
	}, c.server.config.Now())
	return loginProblem(err)
}

// loginProblem is the error of a log-in as clients of Redis know it.
func loginProblem(err error) string {
	switch {
	case errors.Is(err, errWrong):
		return wrongPassword
	case errors.Is(err, errFar):
		return denied
	}
	return "ERR " + err.Error()
}

func hello(c *call) {
	proto := c.out.Proto
	rest := c.args[1:]
	if len(rest) > 0 {
		n, ok := resp.ParseInt(rest[0])
		switch {
		case !ok:
			c.out.Error("ERR Protocol version is not an integer or out of range")
			return
		case n != 2 && n != 3:
			c.out.Error("NOPROTO unsupported protocol version")
			return
		}
		proto, rest = int(n), rest[1:]
	}
	var user, password, name []byte
	for len(rest) > 0 {
		switch {
		case isWord(rest[0], "AUTH") && len(rest) >= 3:
			user, password, rest = rest[1], rest[2], rest[3:]
		case isWord(rest[0], "SETNAME") && len(rest) >= 2:
			if !plainName(rest[1]) {
				c.out.Error(badClientName)
				return
			}
			name, rest = rest[1], rest[2:]
		default:
			c.out.Error("ERR Syntax error in HELLO option '" + string(rest[0]) + "'")
			return
		}
	}
	if user != nil {
		if problem := c.login(string(user), password); problem != "" {
			c.out.Error(problem)
			return
		}
	}
	if c.denied() {
		c.out.Error(denied)
		return
	}
	if c.stranger() {
		c.out.Error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option " +
			"can be used to authenticate the client and select the RESP protocol version at the same time")
		return
	}
	if name != nil {
		c.setName(name)
	}
	c.out.Proto = proto
	c.out.Map(7)
	for _, field := range []struct{ name, value string }{{"server", "redis"}, {"version", redisVersion}} {
		c.out.BulkString(field.name)
		c.out.BulkString(field.value)
	}
	c.out.BulkString("proto")
	c.out.Int(int64(proto))
	c.out.BulkString("id")
	c.out.Int(c.id)
	for _, field := range []struct{ name, value string }{{"mode", "standalone"}, {"role", "master"}} {
		c.out.BulkString(field.name)
		c.out.BulkString(field.value)
	}
	c.out.BulkString("modules")
	listModules(c)
}

// redisVersion is the version of Redis whose behaviour clients may count on.
const redisVersion = "7.4.0"
