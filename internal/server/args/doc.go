// Package args reads the arguments of commands: keywords, numbers, and the syntax
// lines from which COMMAND DOCS and HELP are made. It is for the commands of
// internal/server, each of which has its own grammar beside its handler.
//
// Everything is pure: words in, options or a problem out. A problem is the text of
// the error reply, "" if there is none; one without ERR in front is sent without it.
// words[0] is the name of the command. The functions may be called by any number of
// goroutines.
package args
