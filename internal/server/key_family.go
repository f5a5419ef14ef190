package server

var keyCommands = section("generic", nil, []command{
	typeCommand,
	existsCommand,
	touchCommand,
	delCommand,
	unlinkCommand,
	keysCommand,
	scanCommand,
	dbSizeCommand,
	randomKeyCommand,
	renameCommand,
	renameNXCommand,
	flushAllCommand,
	flushDBCommand,
	objectCommand,
})
