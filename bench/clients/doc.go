// Package clients drives a running server with the Redis clients that people
// have: go-redis, node-redis and redis-cli. It has nothing but tests; they are
// here and not beside the server so that nobody who imports seen inherits the
// clients.
//
// Each client calls every command of the four families, in both versions of the
// protocol, through the methods that it offers for them. What its user gets is
// compared with the files in testdata; go test -rewrite ./clients writes them
// anew, to be read before they are kept.
package clients
