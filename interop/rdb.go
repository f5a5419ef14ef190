package interop

import (
	"bytes"
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
		{name: "key", meaning: "the key of Redis that the filter is under, of those that \"seen info\" lists", required: true},
		{name: "db", meaning: "the number of the database, where the key is in several"},
	},
	caps: capability{
		probe:    true,
		merge:    true,
		verified: "a file that Redis 7.4 saved, with the answers of RedisBloom",
		noWrite:  "an RDB file is the whole of a server's data; write --format redisbloom, and RESTORE or BF.LOADCHUNK loads it",
	},
	clone:  cloneOf[*RedisFile],
	sign:   `"REDIS" and four digits, and records that can all be read`,
	detect: detectRDB,
	open: func(b []byte, s Spec) (Foreign, error) {
		r, err := ParseRDB(b)
		if err != nil {
			return nil, err
		}
		return r.choose(s)
	},
}

func isRDB(b []byte) bool {
	if len(b) < rdbHeadSize || !bytes.HasPrefix(b, []byte("REDIS")) {
		return false
	}
	_, err := strconv.ParseUint(string(b[5:rdbHeadSize]), 10, 16)
	return err == nil
}

// detectRDB names the key where there is but one filter.
func detectRDB(b []byte) (Confidence, Spec, bool) {
	if !isRDB(b) {
		return 0, Spec{}, false
	}
	s := Spec{Name: "rdb"}
	if r, err := ParseRDB(b); err == nil && len(r.entries) == 1 {
		s = r.entries[0].spec(r)
	}
	return Certain, s, true
}

// RDB is an RDB file: a list of the filters of RedisBloom in it. As a whole it answers
// yes for a key that any of them may hold.
type RDB struct {
	b       []byte
	entries []rdbEntry
	values  int // of any kind
}

// rdbEntry is a filter in an RDB file.
type rdbEntry struct {
	db   uint64
	key  string
	dump *RedisDump
}

// ParseRDB finds the filters in an RDB file. It reads the key and the length of each
// value in it, and refuses what it cannot skip for sure.
func ParseRDB(b []byte) (*RDB, error) {
	if !isRDB(b) {
		return nil, badRedis("not an RDB file, which begins with REDIS and four digits")
	}
	file := &RDB{b: b}
	r := rdbReader{rest: b[rdbHeadSize:]}
	db := uint64(0)
	for r.err == nil {
		op := r.take(1)[0]
		if r.err != nil {
			break
		}
		switch op {
		case rdbFinish:
			return file, nil
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
			file.value(&r, op, db)
		}
	}
	return nil, fmt.Errorf("%w (at byte %d)", r.err, len(b)-len(r.rest))
}

// value reads a key and its value.
func (f *RDB) value(r *rdbReader, kind byte, db uint64) {
	text := r.plainText()
	if r.err != nil {
		return
	}
	f.values++
	if kind != rdbModuleValue || !r.atBloom() {
		r.skipValue(kind)
		return
	}
	key, err := text.bytes()
	if err != nil {
		r.err = err
		return
	}
	dump, rest, err := newRedisDump(r.rest)
	if err != nil {
		r.err = fmt.Errorf("%w (of key %q)", err, key)
		return
	}
	r.rest = rest
	f.entries = append(f.entries, rdbEntry{db, string(key), dump})
}

// spec names the entry, with its database if the key is in several.
func (e *rdbEntry) spec(f *RDB) Spec {
	s := Spec{Name: "rdb"}.with("key", e.key)
	for i := range f.entries {
		if o := &f.entries[i]; o.key == e.key && o.db != e.db {
			return s.with("db", strconv.FormatUint(e.db, 10))
		}
	}
	return s
}

// choose returns the filter that s names, or the whole file if it names none.
func (f *RDB) choose(s Spec) (Foreign, error) {
	key, given := s.Params["key"]
	if !given {
		return f, nil
	}
	db, byNumber := s.Params["db"]
	var found []*rdbEntry
	for i := range f.entries {
		if e := &f.entries[i]; e.key == key && (!byNumber || db == strconv.FormatUint(e.db, 10)) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return &rdbFilter{found[0].dump, found[0].spec(f)}, nil
	case 0:
		var names []string
		for i := range f.entries {
			names = append(names, strconv.Quote(f.entries[i].key))
			if len(names) == 20 {
				names = append(names, "...")
				break
			}
		}
		return nil, fmt.Errorf("interop: rdb: %w: there is no filter of RedisBloom under key %q; there are %d: %s", ErrSpec, key, len(f.entries), strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("interop: rdb: %w: key %q is in several databases; give --format %s", ErrSpec, key, s.with("db", "N"))
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
