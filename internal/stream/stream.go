// Package stream turns files into blocks of records with their key hashes, in
// input order, and writes the records that a filter keeps. It is the engine
// below the commands that read lines: they hand Run a function that asks their
// filter about the hashes of a block, and a Writer the verdicts.
//
// A block holds whole records and is about 256 KiB long; one worker reads,
// splits and hashes it while others do the same with the blocks before and
// behind it. The blocks come back together in exact input order in one
// goroutine, where the filter is asked, so that the outcome does not depend on
// the number of workers. Memory is bounded by the number of blocks in flight
// and by the longest record; a record may be as long as MaxRecord.
//
// What has no terminator at the end of a file is a record, too. As in sort and uniq it gets
// one, at the end of the output and between two files.
//
// A UTF-8 byte order mark at the start of a file, as Windows editors write it, is
// in no key and has no time; the first record is printed with it. A file of the
// mark alone has no records. Where records end in NUL, which no text has, the
// bytes of a mark are bytes like others.
//
// The package has no flags, prints nothing and knows no filter; opening and
// decompressing is in stream/input, taking keys out of records in
// stream/keyspec. Counters are safe for concurrent use; a Block and a Writer
// belong to one goroutine.
package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"seen/internal/keyhash"
	"seen/internal/stream/input"
	"seen/internal/stream/keyspec"
)

// DefaultBlockSize is the size in bytes up to which records are gathered into a
// block: large enough that the work per block does not count, small enough that
// the blocks in flight stay in the second-level caches.
const DefaultBlockSize = 256 << 10

// MaxRecord is the length in bytes of the longest record, its terminator
// included: offsets within a block have 32 bits. A longer one ends the run with
// an error.
const MaxRecord = min(math.MaxUint32, math.MaxInt)

// NoTime is the time in Block.Times of a record without one. No record can have that time.
const NoTime = math.MinInt64

// PauseTime is how long a live input is silent before Config.Pause is called.
const PauseTime = 100 * time.Millisecond

// maxJobs is more than any machine can use, and few enough that the blocks of a run take
// only hundreds of megabytes.
const maxJobs = 1024

// Config says how inputs become blocks. The zero value means lines, whole lines
// as keys, the default hash, and as many jobs as there are processors.
type Config struct {
	// Jobs is how many goroutines work at once, that of the caller included.
	// With 1 all work is done in the caller's; 0 is GOMAXPROCS; more than 1024 count as
	// 1024. Each has two blocks in flight. An input that is a pipe has one more goroutine
	// that reads it (see input.File.ReadContext).
	Jobs int
	// BlockSize is the size of blocks in bytes; 0 is DefaultBlockSize. A record
	// that is longer gets a block of its size.
	BlockSize int
	// Delimiter ends each record; nil is a newline.
	Delimiter []byte
	// CRLF takes a CR before the newline for a part of the line end: it is
	// printed, but no key contains it. CSV and TSV records are always read so.
	CRLF bool
	// Key extracts the keys; nil takes whole records.
	Key *keyspec.Key
	// Time extracts times; nil leaves Block.Times nil. A record without a time
	// is treated as the time was compiled: keyspec.MissingFail makes it an error,
	// keyspec.MissingMark lists it in Block.Missing like one without a key, and
	// keyspec.MissingEmpty only leaves NoTime in Block.Times.
	Time *keyspec.Time
	// Start, when not nil, is called with the first bytes of each file that has any,
	// its first record among them. An error ends the run before the records of the
	// file, and Run returns it as it is. Calls come from any goroutine, one at a time.
	Start func(file string, first []byte) error
	// Pause, when not nil, is called in each pause of a live input: when no block has come
	// for PauseTime. It is called between calls of consume, in the same goroutine. An error
	// ends the run, and Run returns it as it is.
	Pause func() error
	// Hash is taken of every key.
	Hash keyhash.Hash
	// Keyless leaves Block.Hashes, Times and Missing nil: no key and no time is taken out
	// of a record. Records begin and end where they do without it, and headers are found,
	// so that a second pass over the same input sees the records of the first.
	Keyless bool
	// Second, when not nil, is another hash of every key, for Block.Seconds. It should have
	// a key that Hash does not depend on, so that both together are a hash of 128 bits.
	Second *keyhash.Hash
	// Counters, when not nil, is kept up to date for progress reports.
	Counters *Counters
}

// Counters tells how far a run has come. Run adds to Records, Bytes and Missing
// when a block was consumed, Writer to Kept and Dropped. Headers of CSV and TSV files
// count as bytes only. All fields may be read at any time.
type Counters struct {
	Records atomic.Uint64 // consumed
	Bytes   atomic.Uint64 // of these records, decompressed, with terminators
	Missing atomic.Uint64 // of these, those in Block.Missing
	Kept    atomic.Uint64 // records written
	Dropped atomic.Uint64 // records that Writer was told to leave out
}

// RecordError is an error in one record.
type RecordError struct {
	File   string
	Record uint64 // number within the file, from 1; a CSV header is number 1
	Err    error
	// NoKey says that the record has no key or no time, which is an error because they
	// were compiled with keyspec.MissingFail.
	NoKey bool
}

// Error returns "FILE: record N: what is wrong".
func (e *RecordError) Error() string {
	return fmt.Sprintf("%s: record %d: %v", e.File, e.Record, e.Err)
}

// Unwrap returns Err.
func (e *RecordError) Unwrap() error { return e.Err }

// framing checks c, fills in its defaults and returns how records end.
func (c *Config) framing() (framing, error) {
	if c.Jobs < 0 || c.BlockSize < 0 {
		return framing{}, fmt.Errorf("%d jobs with blocks of %d bytes; neither can be negative", c.Jobs, c.BlockSize)
	}
	c.Jobs = min(cmp.Or(c.Jobs, runtime.GOMAXPROCS(0)), maxJobs)
	c.BlockSize = cmp.Or(c.BlockSize, DefaultBlockSize)
	if c.BlockSize > MaxRecord/2 {
		return framing{}, fmt.Errorf("blocks of %d bytes are too large; the limit is %d", c.BlockSize, MaxRecord/2)
	}
	f := framing{delimiter: c.Delimiter}
	if f.delimiter == nil {
		f.delimiter = []byte{'\n'}
	}
	if len(f.delimiter) == 0 {
		return framing{}, errors.New("the delimiter of records is empty")
	}
	if c.CRLF && string(f.delimiter) != "\n" {
		return framing{}, fmt.Errorf("lines that end with CR LF cannot be delimited by %q", f.delimiter)
	}
	f.separator, f.csv = c.Key.CSV()
	if sep, ok := c.Time.CSV(); ok && f.csv && sep != f.separator {
		return framing{}, fmt.Errorf("the columns of the key are separated by %q and those of the time by %q", f.separator, sep)
	} else if ok {
		f.separator, f.csv = sep, true
	}
	tsv := c.Key.TSV() || c.Time.TSV()
	if f.csv && tsv {
		return framing{}, errors.New("the key and the time have columns of csv and of tsv; a file has columns of one kind")
	}
	if f.csv && (len(f.delimiter) > 1 || f.delimiter[0] == f.separator || f.delimiter[0] == '"') {
		return framing{}, fmt.Errorf("csv records with columns separated by %q cannot be delimited by %q", f.separator, f.delimiter)
	}
	f.crlf = c.CRLF || (f.csv || tsv) && string(f.delimiter) == "\n"
	return f, nil
}

// Run reads in to its end and calls consume with every block, in input order,
// in the caller's goroutine. A block is valid until consume returns.
//
// The first error ends the run: one of consume or of Config.Start, which is returned
// unchanged; an *input.Error; a *RecordError; or that of ctx. All records before a bad
// record or a damaged place are consumed first, and no record behind it. The record that
// was being read when an input failed is not consumed, since it may be torn.
//
// When ctx ends, Run returns as soon as no call of consume is under way, even if an input
// is a silent pipe. The only goroutine that may outlive Run waits for such a pipe (see
// input.File.ReadContext). What a pipe delivers is consumed without waiting for more.
func Run(ctx context.Context, in *input.Files, c Config, consume func(*Block) error) error {
	f, err := c.framing()
	if err != nil {
		return err
	}
	r := &reader{in: in, config: &c, framing: f}
	if c.Second != nil {
		r.seconds = &seconds{hash: c.Second}
	}
	d := &delivery{consume: consume, counters: c.Counters}
	if c.Jobs == 1 {
		return runSerial(ctx, r, d)
	}
	return runParallel(ctx, r, d, c.Jobs)
}
