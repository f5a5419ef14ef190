// Package bloom answers "has this key been seen before?" in little memory: no is
// certain, yes is wrong with an error rate that was chosen beforehand. It is for
// programs that embed a filter; files are package bloomfile's, formulas package
// sizing's.
//
//	f, err := bloom.New(bloom.Config{Capacity: 1_000_000, ErrorRate: 1e-3})
//	...
//	if f.Add(key) {
//		// seen for the first time
//	}
//
// # Which filter
//
//   - [Filter]: the one to use unless something below is needed. One to three
//     cache misses per key.
//   - [Classic]: the classic filter, for the least memory.
//   - [Partitioned]: the textbook's k separate slices.
//   - [Counting]: keys can be removed.
//   - [Cuckoo]: keys can be removed, and added several times and counted, while
//     others ask.
//   - [Shared]: a Filter for many goroutines that add at the same time.
//   - [Scalable]: the number of keys is not known; it grows and keeps its rate.
//   - [Cascade]: the textbook's answer to an unknown number of keys.
//   - [Adaptive]: exact while it is small, a Scalable when it is not.
//   - [Window]: forgets what was not seen for some time, or some number of keys.
//   - [Static]: built once from all keys, smallest of all, read-only.
//
// # Keys and hashes
//
// A key is a sequence of bytes; its 64-bit hash is taken once (see [Hash]) and
// everything else follows from it. Whoever asks many filters hashes once and
// passes hashes: all filters take both. Hashes of 64 bits are shared by two
// different keys with probability 2^-64 per pair, so no error rate can be below
// n/2^64; package sizing adds that to its rates and refuses what it forbids.
//
// # What is promised
//
// There are no false negatives: a key that was added is found, always (Counting
// says what removing does to this, Window what forgetting does). The error rate
// is at most the one asked for until more distinct keys than the capacity are
// added, and Stats tells the rate at any time. Nothing grows, shrinks or repairs
// parameters silently: what cannot be had is an error of the constructor.
//
// Filters may be asked by any number of goroutines at once while none changes
// them; Shared and Cuckoo may be asked while they are changed, and Shared be changed
// by several at once. The package does not log and does not panic on any input; the
// batch calls panic when the slice for the answers has the wrong length, as an index
// out of range would.
package bloom
