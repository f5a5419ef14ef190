// Package seen answers one question about a stream of keys, fast and in little
// memory: has this key been seen before? "No" is certain. "Yes" is wrong with an
// error rate that the user chooses.
//
// This package has no API. The public packages:
//
//	bloom       the filters
//	sizing      the memory that n keys need at an error rate, and the reverse
//	bloomfile   filters in files: checksums, atomic replacement, memory mapping
//	sketch      the number of distinct keys, how often each came, the most frequent
//	interop     filters of other systems, in their own layout
//	cluster     one filter for many machines, in Redis or Valkey
//	keys        one canonical form of URLs and mail addresses
//	once        one interface to filters in memory, in a server and in a cluster
//	cmd/seen    the command
//
// A program that keeps a filter in memory needs only bloom. The internal packages,
// lowest first:
//
//	internal/keyhash           the hash of a key
//	internal/pages             large arrays outside the Go heap
//	internal/kernel            the inner loops that probe the bits of a filter
//	internal/bridge            what bloom does for files and servers only
//	internal/frame             the bytes of the file format, docs/FORMAT.md
//	internal/vfs               the few file operations in use
//	internal/exact             new keys told from seen ones past the memory, without errors
//	internal/spill             records that do not fit into memory, in temporary files
//	internal/rdb               the encoding of RDB files and of DUMP payloads
//	internal/redisbloom        the Bloom filter of RedisBloom, in memory and in dumps
//	internal/recipe            the bits that filters of crawlers use in Redis strings
//	internal/figure            numbers as people read them
//	internal/chart             curves, as SVG and PNG
//	internal/forecast          when a filter will be full
//	internal/planner           the cost of every type of filter, side by side
//	internal/stream            reads, splits and hashes records in parallel, in order
//	internal/stream/input      opens and decompresses inputs
//	internal/stream/split      cuts blocks into records
//	internal/stream/keyspec    takes the key out of a record: fields, columns, JSON
//	internal/setfile           opens, asks and unites the SETs of the command
//	internal/remote            filters on other machines: addresses, batches, errors
//	internal/resp              the protocol of Redis on byte slices
//	internal/store             names and values of the server, kept through crashes
//	internal/fair              connections and memory, divided fairly among addresses
//	internal/frequent          the most frequent keys of a stream, for "seen top"
//	internal/web               the pages for browsers
//	internal/server            connections and commands of the server
//	internal/server/args       reads the arguments of commands
//	internal/server/acl        users, and their rights to run commands on keys
//	internal/server/rest       the HTTP API
//	internal/server/dashboard  the data that the pages show
//	internal/cli               the subcommands
//	internal/cli/flagvalue     values of options as people write them
//	internal/cli/daemon        runs the server: settings, ports, signals, log
//	docs/man                   the manual pages, generated from the help texts
//
// For tests and benchmarks only:
//
//	internal/corpus       inputs
//	internal/filtertest   what every filter must do; statistical limits
//	internal/redistest    engines of Redis and Valkey
//	internal/crashtest    what a server must keep when it is killed
//	internal/vfs/memfs    a file system that crashes and fails on request
//
// docs/DESIGN.md gives the reasons, and arch_test.go lists the imports that each
// package may have. Beside the product there are bench (comparisons with other
// programs), examples, integration (tests with libraries of others, and on disks
// that lose power) and tools (checks of the tree).
package seen
