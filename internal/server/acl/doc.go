// Package acl decides who may run which command on which keys. It has the users with
// their rules and passwords, the ACL file, and the log of refusals. It is for
// internal/server, which passes it the commands and checks each before running it.
//
// It does not know connections or values: an address is a text under which failed
// log-ins are counted.
//
// Any number of goroutines may call the methods of Users and Log. Rights do not change
// once a user has them.
package acl
