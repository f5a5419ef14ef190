// Package cluster is a Bloom filter that lies in Redis or Valkey: in one engine, in
// one with replicas and Sentinel, or spread over the nodes of a Redis Cluster,
// without modules or scripts. Many machines share it, and its size may pass that of
// any of them. Of any number of clients that add one new key at the same time
// exactly one is told that it is new.
//
// It is for fleets, such as crawlers, that have such engines already. A filter that
// fits into one process belongs into package bloom, which is a thousand times
// faster.
//
// # How it lies in the engine
//
// A filter is cut into slices, each a string value under a key of its own: a header
// and then lines of 512 bits, as in a [bloom.Filter]. All bits of a key lie in one
// slice, so that one BITFIELD sets them and returns what they were: that decides, at
// once, whether the key was new. Asking takes the lines with GETRANGE; adding asks
// first and writes for absent keys only, or where nearly all keys are new writes at
// once. docs/CLUSTER.md describes the layout, what it costs, and what can be lost when.
//
// All methods are safe for concurrent use, and any number of processes may use one
// filter.
package cluster
