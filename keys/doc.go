// Package keys brings keys that can be written in several ways to one canonical
// form: URLs, mail addresses, and text that differs in case alone. It is for crawlers,
// mail filters and other programs that mean things, not spellings. The command "seen" uses
// these functions.
//
// It does not decide what two keys mean to the program that uses them: only the site knows
// whether /index.html is the same page as /.
//
// All functions append to a slice of the caller's, as the standard library's do,
// and keep nothing. They are safe for concurrent use, as is a URLForm.
package keys
