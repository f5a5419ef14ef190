// Package web makes the pages that a browser shows of a server and its filters. The pages
// are HTML from templates and work without a script; a small script of our own keeps them
// up to date. All files are embedded. It is for internal/server and for the command.
//
// It holds no filters and knows no store, no protocol and no rights of users: a Source,
// which internal/server/dashboard implements, provides what the pages show and decides
// what a visitor may see and do. The pages load nothing from other hosts and set no cookie
// except the session's.
//
// The handler of New serves any number of requests at the same time.
package web
