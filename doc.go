// Package seen answers one question about a stream of keys, fast and in little
// memory: has this key been seen before? "No" is certain; "yes" is right but
// for an error rate that the user chose.
//
// This package has no API. The parts of the module:
//
//	sizing      how large a filter must be, how often it errs, what its bits tell
//	bloom       the filters: classic, blocked, partitioned, counting, scalable, ...
//	sketch      how many distinct keys there are, how often each came, which most often
//	interop     filters of other systems, read, used and written in their own layout
//	keys        one canonical form of URLs and mail addresses
//	once        one interface to filters in memory, in a server and on a fleet
//	cluster     one filter over a fleet of Redis or Valkey engines
//	bloomfile   filters in files: checksums, atomic replace, memory mapping
//	cmd/seen    the command: de-duplicates streams, builds and asks filter files
//
// A program that holds a filter in memory needs bloom alone, and sizing to
// choose its parameters. The following are the inner parts, from the bottom up:
//
//	internal/bridge    what bloom does for files and servers, and not for users
//	internal/keyhash   the one hash that is taken of each key
//	internal/pages     large arrays outside the Go heap
//	internal/rdb       the encoding of Redis in its files and in the payloads of DUMP
//	internal/recipe    which bits of Redis strings the filters of crawlers use
//	internal/kernel    the probes of a filter's words
//	internal/vfs       the few file operations in use
//	internal/frame     the bytes of the file format, docs/FORMAT.md
//	internal/redisbloom  the Bloom filter of RedisBloom, in memory and in its dumps
//	internal/figure    numbers as people read them
//	internal/chart     curves, drawn as SVG and PNG
//	internal/planner   what filters cost, every type side by side
//	internal/stream    reads, splits and hashes lines in parallel and keeps their order
//	internal/stream/input    opens and decompresses inputs
//	internal/stream/split    cuts blocks into records
//	internal/stream/keyspec  takes the key out of a record: fields, columns, JSON
//	internal/remote    filters on other machines: addresses, batches under way, what errors mean
//	internal/setfile   opens what a SET is: our file, a foreign one, a text; asks and unites them
//	internal/resp      the protocol of Redis on byte slices
//	internal/store     names and their filters, kept through crashes
//	internal/fair      connections and memory divided among addresses
//	internal/web       the pages that a browser shows
//	internal/server    answers clients of Redis, and puts the HTTP side together
//	internal/server/rest       the HTTP API: connections, keys of a body, JSON
//	internal/server/dashboard  what the pages show of a server, and to whom
//	internal/server/acl        decides who may run which command on which keys
//	internal/server/args       reads the arguments of commands
//	internal/cli       the subcommands
//	docs/man           the manual pages, generated from the help texts
//	internal/cli/flagvalue  values of options as people write them
//	internal/cli/daemon     runs the server: settings, ports, signals, log
//
// docs/DESIGN.md explains why the parts are what they are, and arch_test.go lists
// which may import which. Tests and benchmarks use internal/corpus (their inputs),
// internal/redistest (engines of Redis), internal/filtertest (what every filter must
// do), internal/crashtest (what a server must keep when it is killed) and
// internal/vfs/memfs (files that crash and fail on purpose). Beside the product are
// bench, which compares seen with other programs, examples, integration, which tests
// seen within the libraries of others and on disks that lose power, and tools, which
// check the tree.
package seen
