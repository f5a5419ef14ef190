package interop

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"seen/bloom"
	"seen/internal/rdb"
	"seen/internal/redisbloom"
	"seen/sizing"
)

var rdbFormat = format{
	name:   "rdb",
	system: "RDB file of Redis, the filters of RedisBloom in it",
	params: []param{
		{name: "key", meaning: "the key of Redis that the filter is under", required: true, place: true},
		{name: "db", meaning: "the number of the database, if the key is in several", place: true},
	},
	verified: "a file that Redis 7.4 saved, with the answers of RedisBloom; files with strings, which Redis loads",
	noWrite:  "an RDB file is all of a server's data; build a filter of another format and convert it to rdb:key=KEY, a file with nothing else in it",
	clone:    cloneOf[*redisFile],
	sign:     `"REDIS" and four digits, and records that can all be read`,
	detect:   detectRDB,
	open: func(b []byte, s Spec) (Foreign, error) {
		r, err := parseRDB(b)
		if err != nil {
			return nil, err
		}
		if err := rdb.Verify(b); err != nil {
			return nil, err
		}
		return r.choose(s)
	},
	rewrap: rewrapRDB,
}

// detectRDB names the key if there is only one filter.
func detectRDB(b []byte) (Confidence, Spec, bool) {
	if !rdb.IsFile(b) {
		return 0, Spec{}, false
	}
	s := Spec{Name: "rdb"}
	if r, err := parseRDB(b); err == nil && len(r.entries) == 1 {
		s = r.entries[0].spec(r)
	}
	return Certain, s, true
}

// rdbFilters is an RDB file: a list of the filters of RedisBloom in it. It answers yes
// for a key that any of them may hold.
type rdbFilters struct {
	b       []byte
	entries []rdbEntry
	named   map[string]int // how many filters have a key, in all databases
	values  int            // of any kind
	others  []RedisValue   // of RedisBloom, and not Bloom filters; without contents
}

// rdbEntry is a filter in an RDB file.
type rdbEntry struct {
	db    uint64
	key   string
	value *redisbloom.Value
	dump  *redisDump
}

// parseRDB finds the filters. It reads the key and the length of each value, and leaves
// arrays compressed, since few bytes may stand for many.
func parseRDB(b []byte) (*rdbFilters, error) {
	file := &rdbFilters{b: b, named: make(map[string]int)}
	err := rdb.Walk(b, func(r *rdb.Reader, kind byte, db uint64) error {
		text := r.Text()
		file.values++
		family, ours := redisbloom.FamilyAt(r)
		if r.Err() != nil || kind != rdb.KindModule || !ours {
			r.SkipValue(kind)
			return nil
		}
		key, err := text.Bytes()
		if err != nil {
			return err
		}
		if family != redisbloom.Bloom {
			file.others = append(file.others, RedisValue{Key: string(key), DB: db, Type: family.String()})
			r.SkipValue(kind)
			return nil
		}
		e := rdbEntry{db: db, key: string(key)}
		if e.value, err = redisbloom.ReadValue(r); err != nil {
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

// load makes the filters of all entries.
func (f *rdbFilters) load() (*rdbFilters, error) {
	for i := range f.entries {
		if err := f.entries[i].load(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// load makes the filter of the entry. Arrays that are compressed are copied.
func (e *rdbEntry) load() error {
	if e.dump == nil {
		d, err := e.value.Dump()
		if err != nil {
			return fmt.Errorf("%w (of key %q)", err, e.key)
		}
		e.dump = &redisDump{Dump: d, form: redisPayload}
	}
	return nil
}

// spec names the entry, with its database if the key is in several.
func (e *rdbEntry) spec(f *rdbFilters) Spec {
	s := Spec{Name: "rdb"}.with("key", e.key)
	if f.named[e.key] > 1 {
		return s.with("db", strconv.FormatUint(e.db, 10))
	}
	return s
}

// choose returns the filter that s names, or the whole file if it names none.
func (f *rdbFilters) choose(s Spec) (Foreign, error) {
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
		if v, ok, err := FindRedisValue(f.others, s); ok && err == nil {
			return nil, fmt.Errorf("rdb: %w: key %q holds a value of type %s, which cannot be asked; seen import loads it into a server, and seen convert writes it to another file", ErrSpec, key, v.Type)
		}
		var names []string
		for i := range f.entries {
			names = append(names, strconv.Quote(f.entries[i].key))
			if len(names) == 20 {
				names = append(names, "...")
				break
			}
		}
		err := fmt.Errorf("rdb: %w: there is no filter of RedisBloom under key %q; there are %d: %s; for a string, name what wrote it",
			ErrSpec, key, len(f.entries), strings.Join(names, ", "))
		return nil, &SpecError{Err: err, Try: []string{"redisson:rdb=KEY,m=BITS,k=PROBES"}}
	case byNumber:
		return nil, rdb.Bad("key %q is %d times in database %s", key, len(found), db)
	}
	return nil, errSeveralDatabases(s, key)
}

// Has reports whether any of the filters may hold key.
func (f *rdbFilters) Has(key []byte) bool {
	for i := range f.entries {
		if f.entries[i].dump.Has(key) {
			return true
		}
	}
	return false
}

// Stats adds up what the filters are like; it reads all of them.
func (f *rdbFilters) Stats() bloom.Stats {
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
func (f *rdbFilters) Parts() []Part {
	var parts []Part
	for i := range f.entries {
		e := &f.entries[i]
		parts = append(parts, Part{Name: e.key, Spec: e.spec(f), Stats: e.dump.Stats()})
	}
	return parts
}

// Describe says what the file has.
func (f *rdbFilters) Describe() Description {
	d := Description{
		Format: "rdb", System: "RDB file of Redis", Hash: "two MurmurHash64A",
		Fields: []Field{{"version", rdb.FileVersion(f.b)}, {"values", strconv.Itoa(f.values)}, {"filters", strconv.Itoa(len(f.entries))}},
	}
	if len(f.others) > 0 {
		d.Fields = append(d.Fields, Field{"other values of RedisBloom", redisTypes(f.others)})
		d.Notes = append(d.Notes, "seen import --all loads the other values of RedisBloom into a server, too")
	}
	return d
}

// KeyKind is KeyBytes.
func (f *rdbFilters) KeyKind() KeyKind { return KeyBytes }

// WriteTo writes the file as it is.
func (f *rdbFilters) WriteTo(w io.Writer) (int64, error) {
	return bytes.NewReader(f.b).WriteTo(w)
}

// rdbFilter is one filter of an RDB file. It is written as a payload of DUMP.
type rdbFilter struct {
	*redisDump
	from Spec
}

func (f *rdbFilter) Describe() Description {
	d := f.redisDump.Describe()
	d.Format = f.from.String()
	return d
}
