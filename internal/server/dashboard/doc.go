// Package dashboard holds what the pages of a server show: it turns the values of the store
// into the rows, parameters, histories and downloads that internal/web renders, and asks
// the server what a user may see and do. It also counts the filters that are past their
// error rate. It is for internal/server.
//
// It renders nothing and sends no events to browsers (internal/web does both), and knows no
// connections of the Redis protocol and no rights of users: a User runs the commands.
//
// All methods may be called by any number of goroutines.
package dashboard
