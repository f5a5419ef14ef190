// Package args reads the arguments of commands: keywords, numbers, and the syntax lines
// for COMMAND DOCS and HELP. It is for internal/server, where each command has its own
// grammar beside its handler.
//
// The functions are pure: words in, options or a problem out. A problem is the text of
// the error reply, "" if there is none. words[0] is the name of the command. Any number
// of goroutines may call the functions.
package args
