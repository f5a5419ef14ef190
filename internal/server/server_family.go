package server

import "seen/internal/server/args"

var serverCommands = section("server", nil, []command{
	{
		name: "info", arity: -1, flags: flagLoading | flagStale | flagAlone, categories: []string{"dangerous"}, handle: info,
		since: "1.0.0", complexity: "O(1)", summary: "Describes the server.", arguments: args.Of("[section [section ...]]"),
	},
	timeCommand,
	roleCommand,
	lastsaveCommand,
	saveCommand,
	bgsaveCommand,
	shutdownCommand,
	configCommand,
	memoryCommand,
	slowlogCommand,
	latencyCommand,
	debugCommand,
})
