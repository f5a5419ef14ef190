package server

import (
	"errors"
	"strings"

	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/server/args"
)

var helloCommand = command{
	name: "hello", arity: -1, flags: anyTime, handle: hello, secret: 2, since: "6.0.0", complexity: "O(1)",
	summary: "Chooses the version of the protocol. Can also log in and name the client.",
	syntax:  "[protover [AUTH username password] [SETNAME clientname]]",
}

var authCommand = command{
	name: "auth", arity: -2, flags: anyTime, handle: auth, secret: 1, since: "1.0.0", complexity: "O(n), n passwords of the user",
	summary: "Logs the client in.", syntax: "[username] password",
}

const wrongPassword = "WRONGPASS invalid username-password pair or user is disabled."

func auth(c *call) {
	name, password := acl.DefaultName, c.args[1]
	switch len(c.args) {
	case 2:
		if c.server.acl.Default.Rights().NoPassword() {
			c.out.Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
			return
		}
	case 3:
		name, password = string(c.args[1]), c.args[2]
	default:
		c.out.Error(args.SyntaxError)
		return
	}
	if problem := c.login(name, password); problem != "" {
		c.out.Error(problem)
	} else {
		c.out.OK()
	}
}

// login logs the client in as a user. It returns what is wrong, "" if nothing is.
func (c *call) login(name string, password []byte) (problem string) {
	users, former := c.server.acl, c.user.Load()
	u, err := users.Authenticate(c.life, name, password, c.peer.key, c.peer.far)
	if err == nil {
		c.user.Store(u)
		// DELUSER, while the password was tried, did not find this connection among those
		// of the user.
		if users.Get(name) != u {
			c.user.Store(former)
			err = acl.ErrWrong
		}
	}
	if err == nil {
		c.authenticated.Store(true)
		return ""
	}
	users.Log.Add(acl.Refusal{
		Reason: "auth", Context: c.place(), Object: strings.ToUpper(c.command.full), User: name, Client: c.describe(),
	}, c.server.config.Now())
	return loginProblem(err)
}

// loginProblem is the error of a log-in in the words of Redis.
func loginProblem(err error) string {
	switch {
	case errors.Is(err, acl.ErrWrong):
		return wrongPassword
	case errors.Is(err, acl.ErrFar):
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
		case args.Is(rest[0], "AUTH") && len(rest) >= 3:
			user, password, rest = rest[1], rest[2], rest[3:]
		case args.Is(rest[0], "SETNAME") && len(rest) >= 2:
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
		if c.failed(c.login(string(user), password)) {
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
	c.fields("server", "redis", "version", redisVersion, "proto", proto, "id", c.id, "mode", "standalone", "role", "master")
	c.out.BulkString("modules")
	listModules(c)
}
