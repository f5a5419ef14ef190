package server

import (
	"seen/internal/resp"
	"seen/internal/server/args"
)

var clientKillCommand = command{
	name: "kill", arity: -3, flags: forAdmin, handle: clientKill, since: "2.4.0", complexity: "O(n), n connections", summary: "Closes connections.",
	syntax: "[ip:port] [ID client-id] [TYPE normal|master|replica|pubsub] [USER username] [ADDR address] [LADDR address] [SKIPME yes|no]",
}

func clientKill(c *call) {
	if len(c.args) == 3 {
		address := string(c.args[2])
		if c.kill(func(other *conn) bool { return other.address() == address }) == 0 {
			c.out.Error("ERR No such client")
		} else {
			c.out.OK()
		}
		return
	}
	wanted, problem := c.killOptions(c.args[2:])
	if c.failed(problem) {
		return
	}
	c.out.Int(int64(c.kill(wanted)))
}

// killOptions reads which connections CLIENT KILL closes.
func (c *call) killOptions(rest [][]byte) (wanted func(*conn) bool, problem string) {
	skipMe := true
	var tests []func(*conn) bool
	for ; len(rest) >= 2; rest = rest[2:] {
		value := string(rest[1])
		switch {
		case args.Is(rest[0], "ID"):
			id, ok := resp.ParseInt(rest[1])
			if !ok || id < 1 {
				return nil, "ERR client-id should be greater than 0"
			}
			tests = append(tests, func(other *conn) bool { return other.id == id })
		case args.Is(rest[0], "TYPE"):
			normal, ok := clientType(rest[1])
			if !ok {
				return nil, "ERR Unknown client type '" + value + "'"
			}
			tests = append(tests, func(*conn) bool { return normal })
		case args.Is(rest[0], "ADDR"):
			tests = append(tests, func(other *conn) bool { return other.address() == value })
		case args.Is(rest[0], "LADDR"):
			tests = append(tests, func(other *conn) bool { return other.localAddress() == value })
		case args.Is(rest[0], "USER"):
			if c.server.acl.Get(value) == nil {
				return nil, "ERR No such user '" + value + "'"
			}
			tests = append(tests, func(other *conn) bool { return other.user.Load().Name == value })
		case args.Is(rest[0], "SKIPME") && args.Is(rest[1], "YES"):
			skipMe = true
		case args.Is(rest[0], "SKIPME") && args.Is(rest[1], "NO"):
			skipMe = false
		default:
			return nil, args.SyntaxError
		}
	}
	if len(rest) > 0 {
		return nil, args.SyntaxError
	}
	return func(other *conn) bool {
		if skipMe && other == c.conn {
			return false
		}
		for _, test := range tests {
			if !test(other) {
				return false
			}
		}
		return true
	}, ""
}

// kill closes the wanted connections and returns their number.
func (c *call) kill(wanted func(*conn) bool) (n int) {
	for _, other := range c.server.clients.list() {
		switch {
		case !wanted(other):
			continue
		case other == c.conn:
			c.ending = true
		default:
			other.cut()
		}
		n++
	}
	return n
}
