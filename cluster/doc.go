// Package cluster is a Bloom filter in Redis or Valkey: in one engine, in one with
// replicas and Sentinel, or spread over the nodes of a Redis Cluster, without modules or
// scripts. Many machines share it, and it may be larger than the memory of any of them.
// If several clients add one new key at the same time, exactly one is told that it is
// new.
//
// It is for fleets, such as crawlers, that already run such engines. A filter that fits
// into one process is a thousand times faster in package bloom.
//
// # In the engine
//
// A filter is cut into slices, each a string value under its own key: a header and then
// lines of 512 bits, as in a [bloom.Filter]. All bits of a key are in one slice, so one
// BITFIELD sets them and returns what they were. That decides, at once, whether the key
// was new. Has reads the lines with GETRANGE. Add reads first and writes absent keys
// only; if nearly all keys are new it writes at once. docs/CLUSTER.md describes the
// layout, its cost, and what can be lost when.
//
// All methods are safe for concurrent use, and any number of processes may use one
// filter.
package cluster
