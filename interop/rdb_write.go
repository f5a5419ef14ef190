package interop

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"runtime"

	"seen/internal/rdb"
)

// rdbStringMost is the longest string of which Redis reads and sets bits.
const rdbStringMost = 512 << 20

// rdbFile is an RDB file to write: one filter, as a string, as several, or as a value of
// the module.
type rdbFile struct {
	db   uint64
	keys []rdb.Value
	from Foreign // to whose memory the parts refer

	// Of a value of the module, instead of keys: written anew only when the file is.
	key     string
	payload io.WriterTo
}

// rewrapRDB writes a filter that Redis holds as an RDB file with nothing else in it.
func rewrapRDB(f Foreign, s Spec) (io.WriterTo, error) {
	key, given := s.Params["key"]
	if !given {
		return nil, errNoTargetKey()
	}
	db, err := s.number("db", 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	file := &rdbFile{db: db, from: f}
	if g, ok := f.(*bitmap); ok {
		file.keys, err = g.rdbKeys(key)
		return file, err
	}
	file.key = key
	if file.payload, err = rewrapRedisBloom(f, Spec{}); err != nil {
		return nil, errConvert(f, "rdb")
	}
	return file, nil
}

func errNoTargetKey() error {
	err := fmt.Errorf("rdb: %w: the key that the filter is to have is missing", ErrSpec)
	return &SpecError{Err: err, Try: []string{"rdb:key=KEY"}, Target: true}
}

// rdbKeys returns the strings of the filter, the first of which is there even if it is
// empty.
func (f *bitmap) rdbKeys(name string) (all []rdb.Value, err error) {
	spec, err := ParseSpec(f.scheme.describe().Format)
	if err != nil {
		return nil, err
	}
	keys, full, err := stringKeys(spec, name)
	if err != nil {
		return nil, err
	}
	rest := f.content()
	for i, key := range keys {
		one := rest[:min(full, uint64(len(rest)))]
		rest = rest[len(one):]
		if len(keys) > 1 {
			one = trimZeros(one)
		}
		if len(one) > rdbStringMost {
			return nil, fmt.Errorf("rdb: a string of %d bytes; Redis has at most %d", len(one), rdbStringMost)
		}
		if i == 0 || len(one) > 0 {
			all = append(all, rdb.Value{Kind: rdb.KindString, Key: key, Parts: [][]byte{rdb.AppendLength(nil, uint64(len(one))), one}})
		}
	}
	return all, nil
}

// WriteTo writes the file: its version, the database, the keys, and a checksum.
func (f *rdbFile) WriteTo(w io.Writer) (int64, error) {
	defer runtime.KeepAlive(f)
	keys := f.keys
	if f.payload != nil {
		var b bytes.Buffer
		if _, err := f.payload.WriteTo(&b); err != nil {
			return 0, err
		}
		payload := b.Bytes()
		keys = []rdb.Value{{Kind: payload[0], Key: f.key, Parts: [][]byte{payload[1 : len(payload)-rdb.TailSize]}}}
	}
	return rdb.WriteFile(w, f.db, keys)
}
