package server

var serverCommands = section("server", nil, []command{
	{
		name: "info", arity: -1, flags: flagLoading | flagStale | flagAlone, categories: []string{"dangerous"}, handle: info,
		since: "1.0.0", complexity: "O(1)", summary: "Describes the server.", arguments: arguments("[section [section ...]]"),
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
