// Package store keeps named filters and sketches in memory and makes their changes
// durable: the part of the server that must not lose anything. It knows no protocol
// and no connections.
//
// Questions are answered from the values in memory. A change is decided under the
// value's own mutex, appended to a log, and only then made in memory, so that a caller
// that sees it also sees the position in the log, the LSN, that it depends on. Callers
// pass the highest LSN of their answers to [Store.Wait] before they send them: then what
// an answer shows is on the disk, also a change of another caller.
//
// The log and the catalogue of values are in a Pebble database (log_commit.go,
// value_image.go); large arrays are in files of their own (array_files.go). A checkpoint
// writes the arrays and images of what has changed and drops the log before them
// (checkpoint.go). After a crash [Open] reads the files and repeats the operations of the
// log that came after them (recover.go).
//
// A Store is for any number of goroutines. Each calls [Store.Begin] before and
// [Store.End] after it uses the store; [Store.Atomically] runs alone and is all or nothing
// after a crash. Questions to a Bloom filter take no lock; the other types document their
// locks.
package store
