// Package resp is the Redis serialization protocol, versions 2 and 3, on byte
// slices: commands in (Parser), replies out (Writer), and the reverse for clients
// (AppendCommand, ParseReply). It is for internal/server and its clients.
//
// It does not know sockets, clocks or commands; the caller reads and writes the
// bytes. Limits and error texts are those of Redis 7.
//
// Parser and Writer are for one connection and not safe for concurrent use; the
// functions are.
package resp
