// Package sizing is the arithmetic of Bloom filters: it turns a capacity and
// an error rate into a layout, and a layout into the error rate, fill ratio and
// cardinality that it gives. It holds no bits; packages that do, and tools that
// plan them, ask it.
//
// # Words
//
// A filter for n distinct keys (its capacity) has m bits, of which each key sets
// k (its probes). The error rate p is the probability that the filter claims to
// have seen a key that was never added. The fill ratio is the share of bits that
// are one. A [Shape] says where the probes of a key may fall, and [Params] names
// one filter layout completely.
//
// # What the numbers assume
//
// Keys are hashed to 64 uniformly random bits, and all probes of a key are drawn
// from them as if they were independent. Two different keys with the same hash
// cannot be told apart, so every error rate here includes n/2^64 for n keys.
// Within this model the rates of [Blocked] and [Partitioned] are exact; those of
// [Classic] and [Counting] are exact for small filters and correct to a relative
// error far below anything measurable for large ones; see [Params.ErrorRate].
//
// # Use
//
// [For] answers "how large must it be", [Within] "how good can it be in this
// memory" and [CapacityWithin] "how many keys fit"; [Growth] is the rule by which filters grow.
// If a wish cannot be met, the error names the value, the limit and what to do.
//
// All functions are pure and every method has a value receiver, so everything is
// safe for concurrent use.
package sizing
