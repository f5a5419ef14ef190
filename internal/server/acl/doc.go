// Package acl decides who may run which command on which keys: users, their rules and
// passwords, the file they are kept in, and the log of what was refused. It is for
// internal/server, which hands it the commands and asks before it runs one.
//
// It knows no connections and no values: an address is a text under which failed
// log-ins are counted.
//
// The methods of Users and Log may be called by any number of goroutines. Rights do not
// change once a user has them.
package acl
