// Package remote reaches filters on other machines: it reads addresses and logs in
// ([Address]), and keeps several batches of a stream's questions under way ([Pipe]).
//
// It is for the command, whose users write addresses and pipe lines. It knows no
// flags, no subcommands and no output; programs make their client themselves and use
// package cluster.
//
// Everything but a Pipe may be used by several goroutines; a Pipe says for itself.
package remote
