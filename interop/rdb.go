package interop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"seen/bloom"
	"seen/sizing"
)

// An RDB file is "REDIS", four digits, and records until one that ends it. A record is
// a byte and what belongs to it: of the operation, or of the value whose key follows
// the byte.
const (
	rdbSlots      = 0xf4
	rdbFunction   = 0xf5
	rdbModuleAux  = 0xf7
	rdbIdle       = 0xf8
	rdbFrequency  = 0xf9
	rdbAux        = 0xfa
	rdbSizes      = 0xfb
	rdbExpiryMS   = 0xfc
	rdbExpiry     = 0xfd
	rdbDatabase   = 0xfe
	rdbFinish     = 0xff
	rdbPlainValue = 0 // a string

	rdbHeadSize = 9
)

var rdbFormat = format{
	name:   "rdb",
	system: "RDB file of Redis, the filters of RedisBloom in it",
	params: []param{
		{name: "key", meaning: "the key of Redis that the filter is under, of those that \"seen info\" lists", required: true, place: true},
		{name: "db", meaning: "the number of the database, where the key is in several", place: true},
	},
	caps: capability{
		probe:    true,
		merge:    true,
		verified: "a file that Redis 7.4 saved, with the answers of RedisBloom; files with strings that Redis loaded",
		noWrite:  "an RDB file is the whole of a server's data; build the filter, and seen convert --to rdb:key=KEY writes a file with nothing else in it",
	},
	clone:  cloneOf[*RedisFile],
	sign:   `"REDIS" and four digits, and records that can all be read`,
	detect: detectRDB,
	open: func(b []byte, s Spec) (Foreign, error) {
		r, err := parseRDB(b)
		if err != nil {
			return nil, err
		}
		if err := checkRDB(b); err != nil {
			return nil, err
		}
		return r.choose(s)
	},
	rewrap: rewrapRDB,
}

func isRDB(b []byte) bool {
	if len(b) < rdbHeadSize || !bytes.HasPrefix(b, []byte("REDIS")) {
		return false
	}
	_, err := strconv.ParseUint(string(b[5:rdbHeadSize]), 10, 16)
	return err == nil
}

// sumSize returns the length of the checksum at the end of an RDB file, which came with
// version 5.
func sumSize(b []byte) int {
	if string(b[5:rdbHeadSize]) < "0005" {
		return 0
	}
	return 8
}

// detectRDB names the key where there is but one filter.
func detectRDB(b []byte) (Confidence, Spec, bool) {
	if !isRDB(b) {
		return 0, Spec{}, false
	}
	s := Spec{Name: "rdb"}
	if r, err := parseRDB(b); err == nil && len(r.entries) == 1 {
		s = r.entries[0].spec(r)
	}
	return Certain, s, true
}

// RDB is an RDB file: a list of the filters of RedisBloom in it. As a whole it answers
// yes for a key that any of them may hold.
type RDB struct {
	b       []byte
	entries []rdbEntry
	named   map[string]int // how many filters have a key, in all databases
	values  int            // of any kind
}

// rdbEntry is a filter in an RDB file.
type rdbEntry struct {
	db     uint64
	key    string
	header redisHeader
	texts  []rdbText // the arrays
	dump   *RedisDump
}

// ParseRDB finds the filters in an RDB file and checks its checksum, if it has one. It
// refuses what it cannot skip for sure.
func ParseRDB(b []byte) (*RDB, error) {
	file, err := parseRDB(b)
	if err != nil {
		return nil, err
	}
	if err := checkRDB(b); err != nil {
		return nil, err
	}
	return file.load()
}

// parseRDB finds the filters. It reads the key and the length of each value, and leaves
// arrays as they are in the file, where few bytes may stand for many.
func parseRDB(b []byte) (*RDB, error) {
	file := &RDB{b: b, named: make(map[string]int)}
	err := walkRDB(b, func(r *rdbReader, kind byte, db uint64) error {
		text := r.plainText()
		file.values++
		if r.err != nil || kind != rdbModuleValue || !r.atBloom() {
			r.skipValue(kind)
			return nil
		}
		key, err := text.bytes()
		if err != nil {
			return err
		}
		e := rdbEntry{db: db, key: string(key)}
		if e.header, e.texts, r.rest, err = parseRDBValue(r.rest); err != nil {
			return fmt.Errorf("%w (of key %q)", err, key)
		}
		file.entries = append(file.entries, e)
		file.named[e.key]++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

// walkRDB calls value for each value of the file, which is to read its key and the value.
func walkRDB(b []byte, value func(r *rdbReader, kind byte, db uint64) error) error {
	if !isRDB(b) {
		return badRedis("not an RDB file, which begins with REDIS and four digits")
	}
	r := rdbReader{rest: b[rdbHeadSize:]}
	db := uint64(0)
	for r.err == nil {
		op := r.take(1)[0]
		if r.err != nil {
			break
		}
		switch op {
		case rdbFinish:
			// What follows in a log of commands changes what stands before it.
			if n, want := len(r.rest), sumSize(b); n != want {
				return badRedis("%d bytes follow the end, where %d belong; in place of a log of commands that begins as an RDB file, save one with BGSAVE", n, want)
			}
			return nil
		case rdbDatabase:
			db = r.length()
		case rdbSizes:
			r.length()
			r.length()
		case rdbSlots:
			r.length()
			r.length()
			r.length()
		case rdbAux:
			r.plainText()
			r.plainText()
		case rdbExpiryMS:
			r.take(8)
		case rdbExpiry:
			r.take(4)
		case rdbIdle:
			r.length()
		case rdbFrequency:
			r.take(1)
		case rdbFunction:
			r.plainText()
		case rdbModuleAux:
			r.length()
			r.number() // when it was saved
			r.skipModule()
		default:
			if err := value(&r, op, db); err != nil && r.err == nil {
				r.err = err
			}
		}
	}
	return fmt.Errorf("%w (at byte %d)", r.err, len(b)-len(r.rest))
}

// checkRDB checks the checksum of a file that [walkRDB] has walked. A server may have been
// told to write none, which is 0.
func checkRDB(b []byte) error {
	end := len(b) - sumSize(b)
	if end == len(b) {
		return nil
	}
	if sum := binary.LittleEndian.Uint64(b[end:]); sum != 0 && sum != rdbChecksum(b[:end]) {
		return badRedis("the RDB file does not match its checksum")
	}
	return nil
}

// load makes the filters of all entries.
func (f *RDB) load() (*RDB, error) {
	for i := range f.entries {
		if err := f.entries[i].load(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// load makes the filter of the entry. Arrays that are compressed are copied.
func (e *rdbEntry) load() (err error) {
	if e.dump == nil {
		if e.dump, err = e.header.dumpOf(e.texts); err != nil {
			return fmt.Errorf("%w (of key %q)", err, e.key)
		}
	}
	return nil
}

// spec names the entry, with its database if the key is in several.
func (e *rdbEntry) spec(f *RDB) Spec {
	s := Spec{Name: "rdb"}.with("key", e.key)
	if f.named[e.key] > 1 {
		return s.with("db", strconv.FormatUint(e.db, 10))
	}
	return s
}

// choose returns the filter that s names, or the whole file if it names none.
func (f *RDB) choose(s Spec) (Foreign, error) {
	key, given := s.Params["key"]
	if !given {
		return foreign(f.load())
	}
	db, byNumber := s.Params["db"]
	var found []*rdbEntry
	for i := range f.entries {
		if e := &f.entries[i]; e.key == key && (!byNumber || db == strconv.FormatUint(e.db, 10)) {
			found = append(found, e)
		}
	}
	switch {
	case len(found) == 1:
		if err := found[0].load(); err != nil {
			return nil, err
		}
		return &rdbFilter{found[0].dump, found[0].spec(f)}, nil
	case len(found) == 0:
		var names []string
		for i := range f.entries {
			names = append(names, strconv.Quote(f.entries[i].key))
			if len(names) == 20 {
				names = append(names, "...")
				break
			}
		}
		return nil, fmt.Errorf("rdb: %w: there is no filter of RedisBloom under key %q; there are %d: %s; of a string name what wrote it, as in --format redisson:rdb=KEY,m=BITS,k=PROBES",
			ErrSpec, key, len(f.entries), strings.Join(names, ", "))
	case byNumber:
		return nil, badRedis("key %q is %d times in database %s", key, len(found), db)
	}
	return nil, fmt.Errorf("rdb: %w: key %q is in several databases; give --format %s", ErrSpec, key, s.with("db", "N"))
}

// Has reports whether any of the filters may hold key.
func (f *RDB) Has(key []byte) bool {
	for i := range f.entries {
		if f.entries[i].dump.Has(key) {
			return true
		}
	}
	return false
}

// Stats adds up what the filters are like; it reads all of them.
func (f *RDB) Stats() bloom.Stats {
	s := bloom.Stats{Type: "rdb", Cardinality: sizing.Estimate{Value: math.NaN(), StdErr: math.NaN()}}
	for i := range f.entries {
		e := f.entries[i].dump.Stats()
		s.Layers += e.Layers
		s.Bits, s.Ones, s.Bytes, s.Added = s.Bits+e.Bits, s.Ones+e.Ones, s.Bytes+e.Bytes, s.Added+e.Added
		s.ErrorRate = s.ErrorRate + e.ErrorRate - s.ErrorRate*e.ErrorRate
	}
	if s.Bits > 0 {
		s.Fill = float64(s.Ones) / float64(s.Bits)
	}
	return s
}

// Parts lists the filters in the order of the file.
func (f *RDB) Parts() []Part {
	var parts []Part
	for i := range f.entries {
		e := &f.entries[i]
		parts = append(parts, Part{Name: e.key, Spec: e.spec(f), Stats: e.dump.Stats()})
	}
	return parts
}

// Describe says what the file has.
func (f *RDB) Describe() Description {
	return Description{
		Format: "rdb", System: "RDB file of Redis", Hash: "MurmurHash64A, two of them",
		Fields: []Field{{"version", string(f.b[5:rdbHeadSize])}, {"values", strconv.Itoa(f.values)}, {"filters", strconv.Itoa(len(f.entries))}},
	}
}

// KeyKind is KeyBytes.
func (f *RDB) KeyKind() KeyKind { return KeyBytes }

// WriteTo writes the file as it is.
func (f *RDB) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(f.b)
	return int64(n), err
}

// rdbFilter is one filter of an RDB file. It is written as a payload of DUMP.
type rdbFilter struct {
	*RedisDump
	from Spec
}

func (f *rdbFilter) Describe() Description {
	d := f.RedisDump.Describe()
	d.Format = f.from.String()
	return d
}
