// Package server answers Redis clients: it takes connections, parses pipelines,
// checks who may do what, runs commands on a store and writes the replies once what
// they show is durable. It is for the command seen serve, and for tests.
//
// It keeps no values (internal/store does), knows no bytes of the protocol
// (internal/resp does), and neither reads flags nor handles signals nor prints:
// events go to a function of the Config.
//
// Every connection has a goroutine, which alone runs its commands. The exported
// methods may be called by any number of goroutines.
package server
