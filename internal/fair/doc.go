// Package fair divides the connections and the memory of a server among the addresses of
// its clients, so that no address can use up everything. It is for
// internal/server and internal/web. It knows no protocol and opens no sockets.
//
// All types are safe for concurrent use.
package fair
