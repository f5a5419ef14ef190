// Package spill holds on disk what does not fit into memory: records of fixed size that are
// partitioned by a hash, in files that no one else sees and that end with their process.
// It is for the commands that go on exactly past their memory.
//
// A [Folder] makes the files and holds the limits. [Runs] collects records in buffers, one
// for each partition, and writes them as large chunks. Equal hashes are in the same
// partition, so that work on all records becomes work on one partition after another, in
// memory.
//
// [Groups] counts the occurrences of keys on top of that. A [Selection] collects positions in
// any order and returns them in ascending order. A [Spool] is a compressed log of lines, for
// input that cannot be read again. These stay in memory while they fit.
//
// It is not a database: nothing outlives the process, and nothing is found by key. It knows
// no filter and no option, and a line is bytes to it.
//
// A Folder is safe for concurrent use. One goroutine at a time appends to a Runs or a File;
// any number may read what was written before.
package spill
