// Package interop reads, writes and goes on using filters of other systems, in
// their own layout and with their own hash: the same bits, the same answers, false
// positives included. There is one file, or group of files, per system:
//
//   - redisbloom.go: the Bloom filters of RedisBloom (BF.* of Redis);
//   - rdb*.go: those filters in a file that Redis has saved;
//   - bitsandblooms.go: [BitsAndBlooms], of the Go module bits-and-blooms/bloom;
//   - guava.go: [Guava], of Google's Guava library for Java;
//   - spark.go: [Spark], of Apache Spark;
//   - dcso.go: [DCSO], in which threat intelligence is passed on;
//   - parquet*.go: [Parquet] and [ParquetFile], the filters of Parquet files;
//   - pyprobables*.go: [PyBloom], [PyExpanding], [PyCounting] and [PyCountMin], of the
//     Python package pyprobables;
//   - redisson.go, redisrecipe.go, javabitset.go, bitarray.go: [Bitmap], arrays without a
//     header, of Redisson and of recipes;
//   - npmbloomfilters.go: [NPMBloomFilters], of the npm package bloom-filters;
//   - npmbloomfilter.go: [NPMBloomFilter], of the npm package bloomfilter;
//   - leveldb*.go: [LevelDB] and [LevelDBTable], filters of LevelDB by themselves and in
//     its table files;
//   - rocksdb*.go: [RocksDB] and [RocksDBTable], likewise of RocksDB;
//   - clickhouse.go: [ClickHouse], granules of indices;
//   - tutorialpage.go: [TutorialPage], of a page for demonstration.
//
// A Parse function returns a filter that refers to the bytes it is given, which may be
// a mapping of a file of any length: it looks at the header alone, and copies nothing.
// Such a filter can be asked and written; to change it, take its Clone, whose memory is
// its own.
//
// A [Spec] names a format and its parameters. [Detect] tells formats by content, [Open]
// returns a [Foreign], whichever it is, [Create] makes a new one, and [Rewrap] writes
// the bits of one as another where both map a key to the same bits.
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
