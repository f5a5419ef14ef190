package server

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
