// Package redistest starts real engines for tests and benchmarks: one Redis server, a
// primary with a replica that a Sentinel watches, a Redis Cluster of three primaries with a
// replica each, and "seen serve". All listen on free ports of the loopback interface and
// keep their data below one folder. They can be killed, started again and paused, and a
// proxy between them and a client delays, stalls and cuts connections. The package has no
// client and hides nothing of what an engine does.
//
// Engines that are expensive to start are shared by the tests of a package through
// a Lab. Methods may be called by several goroutines at once.
package redistest
