// Package fair divides what a server has little of, such as connections and memory, among
// the addresses of its clients, so that no address can keep it from the others. It is for
// internal/server and internal/web. It knows no protocol and opens no sockets.
//
// All types are safe for concurrent use.
package fair
