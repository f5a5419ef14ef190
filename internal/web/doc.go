// Package web is the pages that a browser shows of a server and its filters. The
// pages are made here from templates, and read without a script; a little JavaScript
// of our own brings what they show up to date. Everything is embedded.
//
// It holds no filters and knows no store, no protocol and no users: what it shows
// comes from a Source, which internal/server/dashboard has, and which decides who may see and do
// what. Nothing on the pages is asked of anybody else: no other host, no cookie but
// that of the session.
//
// A Handler serves any number of requests at the same time.
package web
