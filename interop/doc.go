// Package interop reads, writes and goes on using filters of other systems, in
// their own layout and with their own hash: the same bits, the same answers, false
// positives included. There is one file, or group of files, per system:
//
//   - redisbloom*.go: [RedisBloom], the Bloom filters of RedisBloom (BF.* of Redis).
//
// A filter stores bits and not keys, so none can be turned into one of package
// bloom without the keys; whoever starts anew should use those, whose hash can be
// secret and whose error rate holds for small and for grown filters too.
//
// Everything that is decoded is taken for hostile: a call returns a value or an
// error, checks what a header announces against the bytes that are there, and asks
// before it allocates memory for bits. Each type says what several goroutines may
// do with it. The package does no I/O but on readers and writers it is given.
package interop
