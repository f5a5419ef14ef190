package server

import "strconv"

var serverCommands = section("server", nil, []command{
	infoCommand,
	timeCommand,
	roleCommand,
	lastSaveCommand,
	saveCommand,
	bgSaveCommand,
	shutdownCommand,
	configCommand,
	memoryCommand,
	slowLogCommand,
	latencyCommand,
	debugCommand,
})

var timeCommand = command{
	name: "time", arity: 1, flags: flagLoading | flagStale | flagFast | flagAlone, handle: tellTime,
	since: "2.6.0", complexity: "O(1)", summary: "Returns the time in seconds since 1970 and microseconds.",
}

var roleCommand = command{
	name: "role", arity: 1, flags: flagNoScript | flagLoading | flagStale | flagFast | flagAlone, categories: []string{"admin", "dangerous"}, handle: role,
	since: "2.8.12", complexity: "O(1)", summary: "Returns that the server is a master without replicas.",
}

func tellTime(c *call) {
	now := c.server.config.Now()
	c.out.Array(2)
	c.out.BulkString(strconv.FormatInt(now.Unix(), 10))
	c.out.BulkString(strconv.Itoa(now.Nanosecond() / 1000))
}

func role(c *call) {
	c.out.Array(3)
	c.out.BulkString("master")
	c.out.Int(0)
	c.out.Array(0)
}
