// Package exact tells keys that are new from those that were seen before, without errors
// and past the memory that it may use. It is for "seen uniq", which prints new lines as they
// come.
//
// A [Set] begins with keys that were seen before, for which there was room in memory until
// now. It holds a Bloom filter that is too small to be right often, and writes the
// fingerprint of each new key to disk. What the filter has not seen is certainly new, and is
// new at once. Where the filter says "seen", the key is a doubt, unless a cache of keys
// handled lately has it. Doubts are written to disk, too. [Set.Join] reads both back,
// partition by partition, and tells which doubts were new after all: they are late.
//
// A fingerprint is 80 bits: two independent hashes of 64 bits come in, of which the second
// is cut to 16 bits. The keys from before have 64 bits. [Set.Collisions] returns how many
// keys are expected to be taken for another one.
//
// The package knows no line, no input and no option, and prints nothing. A Set is for one
// goroutine.
package exact
