// Package resp is the Redis serialization protocol, versions 2 and 3, on byte
// slices: commands in (Parser), replies out (Writer), and the other direction
// for clients in tests and benchmarks (AppendCommand, ParseReply). It is for
// internal/server and for programs that talk to it.
//
// It knows neither sockets nor clocks nor commands: whoever owns the bytes reads
// and writes them. Limits and the texts of errors are those of Redis 7, so that
// a client sees the same from both.
//
// Parser and Writer belong to one connection and are not safe for concurrent
// use; the functions are.
package resp
