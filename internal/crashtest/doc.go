// Package crashtest loads a "seen serve" with changes of every family while it is
// killed or loses its power, remembers what was acknowledged, and compares that
// with what a restarted server holds. It is for tests, which decide how the server
// ends. It neither starts servers nor kills them. All methods of Model may be
// called by several goroutines at once; a Client belongs to one.
package crashtest
