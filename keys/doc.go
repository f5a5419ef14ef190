// Package keys brings keys that can be written in several ways to one canonical
// form: URLs, mail addresses, and text that differs in case alone. It is for
// crawlers, mail filters and whoever else asks a filter for things, not for
// spellings; the --url, --email and --lower options of the command are these
// functions.
//
// It does not decide what two keys mean to the program that uses them: whether
// /index.html is the same page as / is known to nobody but the site.
//
// All functions append to a slice of the caller's, as the standard library's do,
// and keep nothing. They are safe for concurrent use, as is a URLForm.
package keys
