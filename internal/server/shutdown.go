package server

import (
	"strings"

	"seen/internal/server/args"
)

var shutdownCommand = command{
	name: "shutdown", arity: -1, flags: flagAdmin | flagNoScript | flagLoading | flagStale | flagNoMulti | flagAllowBusy | flagAlone, handle: shutdown,
	since: "1.0.0", complexity: "O(n), n bytes that have changed", summary: "Stops the server.", syntax: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
}

func shutdown(c *call) {
	for _, word := range c.args[1:] {
		switch strings.ToUpper(string(word)) {
		case "NOSAVE", "SAVE", "NOW", "FORCE":
			// Acknowledged changes are always kept.
		case "ABORT":
			c.out.Error("ERR No shutdown in progress.")
			return
		default:
			c.out.Error(args.SyntaxError)
			return
		}
	}
	if c.server.config.Stop == nil {
		c.out.Error("ERR Errors trying to SHUTDOWN. Check logs.")
		return
	}
	c.server.event(Info, "shutting down: a client sent SHUTDOWN", "client", c.address(), "user", c.user.Load().Name)
	// There is no reply; the connection ends.
	c.replies--
	c.ending = true
	c.server.config.Stop()
}
