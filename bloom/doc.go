// Package bloom answers one question in little memory: has this key been seen before?
// "No" is certain. "Yes" is wrong with an error rate that you choose. It is for programs
// that hold a filter in memory; package bloomfile keeps filters in files, and package
// sizing has the formulas.
//
//	f, err := bloom.New(bloom.Config{Capacity: 1_000_000, ErrorRate: 1e-3})
//	...
//	if f.Add(key) {
//		// seen for the first time
//	}
//
// # Which filter
//
//   - [Filter]: one to three cache misses a key; use it unless you need another.
//   - [Classic]: the classic filter, with the least memory.
//   - [Partitioned]: the textbook's k separate slices.
//   - [Counting]: you can remove keys.
//   - [Cuckoo]: you can remove keys and count repeated ones, while others ask.
//   - [Shared]: a Filter to which many goroutines add at the same time.
//   - [Scalable]: for an unknown number of keys; it grows and keeps its rate.
//   - [Cascade]: the textbook's answer to an unknown number of keys.
//   - [Adaptive]: exact while it is small, a Scalable when it is large.
//   - [Window]: forgets keys after some time, or after some number of keys.
//   - [Static]: built once from all keys, smallest of all, read-only.
//
// # Keys and hashes
//
// A key is a sequence of bytes. A filter hashes it once, to 64 bits (see [Hash]), and
// works on the hash. To ask many filters, hash once and pass the hash: every filter has
// calls for both. Two different keys have the same hash with probability 2^-64, so no
// error rate can be below n/2^64.
//
// # Guarantees
//
// A filter always finds a key that was added; [Counting], [Cuckoo] and [Window] say what
// removing and forgetting change about this. The error rate is at most the one asked for
// until there are more distinct keys than the capacity; Stats tells it at any time. A
// constructor returns an error for impossible parameters and never changes them.
//
// Any number of goroutines may ask a filter while none changes it; [Shared] and [Cuckoo]
// say more. The package does not log, and panics only if the slice for the answers of a
// batch has the wrong length.
package bloom
