// Package crashtest is for tests of "seen serve". Server is the command as a process of
// its own, started, asked and ended by a test. Model loads a server with changes of
// every family while it is killed or loses its power, remembers what was acknowledged,
// and compares that with what a restarted server holds; it starts and kills nothing
// itself. All methods of Model may be called by several goroutines at once; a Client
// and a Server belong to one.
package crashtest
