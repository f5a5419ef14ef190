// Package spill holds on disk what does not fit into memory: records of fixed size that are
// partitioned by a hash, in files that no one else sees and that end with their process.
// It is for the commands that go on exactly past their memory.
//
// A [Folder] makes the files and holds the limits. [Runs] collects records in buffers, one
// for each partition, and writes them as large chunks. Equal hashes are in the same
// partition, so that work on all records becomes work on one partition after another, in
// memory.
//
// It is not a database: nothing outlives the process, and nothing is found by key. It knows
// no filter, no line and no option.
//
// A Folder is safe for concurrent use. One goroutine at a time appends to a Runs or a File;
// any number may read what was written before.
package spill
