// Package dashboard is what the pages of a server show: it turns the values of the store
// into the rows, parameters, histories and downloads that internal/web renders, and asks
// the server what a user may see and do. It also keeps count of the filters that err more
// often than they were made for. It is for internal/server.
//
// It renders nothing and sends no events to browsers (internal/web does), and knows no
// connections of the Redis protocol and no rules of users: a User runs commands.
//
// All methods may be called by any number of goroutines.
package dashboard
