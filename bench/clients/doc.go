// Package clients tests a running server with common Redis clients: go-redis, node-redis
// and redis-cli. It has only tests. They are not in the package of the server because
// programs that import seen would then depend on the clients.
//
// Each client calls every command of the four families with its own methods, in both
// versions of the protocol. The tests compare the results with the files in testdata.
// go test -rewrite ./clients writes these files; read the changes before you commit them.
package clients
