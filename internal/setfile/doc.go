// Package setfile opens what the command calls a SET: a filter file of seen, a filter of
// another system in a file, a pipe or the strings of an engine, or a text with one key a
// line. It tells them apart by their content, makes sets to ask of them, and unites them.
//
// It is for internal/cli. It knows no flags: the caller turns those into a [Config] and
// adds to errors which flag helps. It is not a codec: the formats belong to bloomfile and
// interop.
//
// A [Lookup] may be asked by one goroutine at a time.
package setfile
