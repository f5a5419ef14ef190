// Package server serves Redis clients: it accepts connections, parses pipelines, checks
// rights, runs commands on a store and writes the replies once what they show is
// durable. It is for the command seen serve and for tests.
//
// Values are in internal/store, the protocol is in internal/resp, rights are in
// internal/server/acl. The package does not read flags, handle signals or print: a
// function of the Config gets the events.
//
// Commands of one family are in files that begin with its name: bf_insert.go has the
// arguments, the table row and the handler of BF.INSERT. table.go lists the families.
//
// Each connection has one goroutine, which runs its commands. Any number of goroutines
// may call the exported methods.
package server
