package server

import (
	"context"
	"time"

	"seen/internal/resp"
)

var debugCommand = command{
	name: "debug", arity: -2, flags: forAdmin, since: "1.0.0", complexity: "Depends on the subcommand", summary: "Commands for tests of clients.",
	subs: []command{
		{
			name: "sleep", arity: 3, flags: forAdmin | flagNoMulti, handle: debugSleep, since: "1.0.0", complexity: "O(1)",
			summary: "Waits some seconds and replies. Other clients are not affected.", syntax: "seconds",
		},
		help("6.2.0"),
	},
}

// maxSleep is the longest time that a client may ask for.
const maxSleep = time.Hour

func debugSleep(c *call) {
	seconds, ok := resp.ParseFloat(c.args[2])
	if !ok || seconds < 0 || seconds > maxSleep.Seconds() {
		c.out.Error("ERR value is not a valid float")
		return
	}
	ctx, cancel := context.WithTimeout(c.server.cutting, time.Duration(seconds*float64(time.Second)))
	defer cancel()
	select {
	case <-ctx.Done():
	case <-c.server.stopping:
	}
	c.out.OK()
}
