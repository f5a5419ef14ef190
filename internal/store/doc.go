// Package store keeps named filters and sketches in memory and makes their changes
// durable: the part of the server that must not lose anything. It knows no protocol
// and no connections.
//
// The values in memory are the truth for questions. A change is decided against the
// present state under the value's own mutex, appended to a log, and only then made
// in memory, so that whoever sees it can learn the position in the log, the LSN,
// that it depends on. A caller passes the highest LSN of its answers to [Store.Wait]
// before it gives them away: what was answered is then on the disk, also where the
// answer shows a change that another caller has made.
//
// The log and the catalogue of values are in a Pebble database; large arrays are in
// files of their own, of which a checkpoint writes a new generation. After a crash
// [Open] reads the files and repeats the operations of the log that came after them.
//
// A Store is for any number of goroutines. Each brackets what it does with
// [Store.Begin] and [Store.End]; [Store.Atomically] runs alone and is all or nothing
// after a crash. Questions to a Bloom filter take no lock; other values say what
// theirs do.
package store
