// Package remote is for filters on other machines, in engines of Redis or Valkey or in a
// "seen serve": it reads addresses and connects ([Address]), opens a filter ([Filter]),
// keeps several batches of a stream's questions under way ([Run]) and says what
// an error means for the lines that are under way ([Undecided], [Reasons]).
//
// It is for the command, whose users write addresses and pipe lines. It has no flags, no
// subcommands and no output. Other programs use package cluster with a client of their
// own.
//
// A Run and an Undecided say themselves which goroutine may use them; everything else may
// be used by several.
package remote
