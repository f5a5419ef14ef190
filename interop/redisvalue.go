package interop

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"seen/internal/rdb"
	"seen/internal/redisbloom"
)

// RedisValue is a value of RedisBloom: a Bloom or cuckoo filter, a count-min sketch or a
// top-k. It refers to the bytes that it was found in.
type RedisValue struct {
	// Key is the key of an RDB file, and DB its database. Both are zero for a payload.
	Key string
	DB  uint64
	// Type is what TYPE replies: MBbloom--, MBbloomCF, CMSk-TYPE or TopK-TYPE.
	Type string
	// Expires is when the server deletes the key, or zero.
	Expires time.Time

	value []byte // as in an RDB file, without the kind and the key
}

// RedisValues returns the values of RedisBloom in an RDB file, in its order, or the one of a
// payload of DUMP. It returns none, without an error, for bytes of another form. It checks
// checksums and the form of every value, and does not unpack what is compressed.
func RedisValues(b []byte) (all []RedisValue, err error) {
	if f, ok := redisbloom.FamilyOf(b); ok {
		value, err := rdb.OpenPayload(b)
		if err != nil {
			return nil, err
		}
		r := rdb.NewReader(value[1:])
		if err := redisbloom.Check(r, f); err != nil {
			return nil, err
		}
		if n := len(r.Rest()); n != 0 {
			return nil, rdb.Bad("%d bytes follow the value", n)
		}
		return []RedisValue{{Type: f.String(), value: value[1:]}}, nil
	}
	if !rdb.IsFile(b) {
		return nil, nil
	}
	err = rdb.Walk(b, func(r *rdb.Reader, kind byte, db uint64) error {
		text := r.Text()
		f, ours := redisbloom.FamilyAt(r)
		if r.Err() != nil || kind != rdb.KindModule || !ours {
			r.SkipValue(kind)
			return nil
		}
		key, err := text.Bytes()
		if err != nil {
			return err
		}
		v := RedisValue{Key: string(key), DB: db, Type: f.String()}
		if ms := r.Expires(); ms != 0 {
			v.Expires = time.UnixMilli(ms)
		}
		before := r.Rest()
		if err := redisbloom.Check(r, f); err != nil {
			return fmt.Errorf("%w (of key %q)", err, key)
		}
		v.value = before[:len(before)-len(r.Rest())]
		all = append(all, v)
		return nil
	})
	if err == nil {
		err = rdb.Verify(b)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// FindRedisValue returns the value of all that a specification of the format rdb names, and false if
// there is none. It fails if there are several.
func FindRedisValue(all []RedisValue, s Spec) (*RedisValue, bool, error) {
	var found *RedisValue
	for i := range all {
		v := &all[i]
		if v.Key != s.Params["key"] || s.Params["db"] != "" && s.Params["db"] != strconv.FormatUint(v.DB, 10) {
			continue
		}
		if found != nil {
			return nil, false, errSeveralDatabases(s, v.Key)
		}
		found = v
	}
	return found, found != nil, nil
}

// Bloom reports whether the value is a Bloom filter, which [Open] opens.
func (v *RedisValue) Bloom() bool { return v.Type == redisbloom.Bloom.String() }

// Payload returns the value in the form that RESTORE takes.
func (v *RedisValue) Payload() []byte { return redisbloom.Seal(v.value) }

// Convert returns the value as a payload, for the format redisbloom, or as an RDB file with
// nothing else in it, for rdb:key=KEY. A cuckoo filter, a sketch or a top-k has no other
// form.
func (v *RedisValue) Convert(to Spec) (io.WriterTo, error) {
	switch to.Name {
	case redisBloomFormat.name:
		if form := to.Params["form"]; form == "" || form == redisPayload {
			return bytes.NewReader(v.Payload()), nil
		}
	case rdbFormat.name:
		key, given := to.Params["key"]
		if !given {
			return nil, errNoTargetKey()
		}
		db, err := to.number("db", 0, math.MaxInt32)
		if err != nil {
			return nil, err
		}
		return &rdbFile{db: db, keys: []rdb.Value{{Kind: rdb.KindModule, Key: key, Expires: v.expires(), Parts: [][]byte{v.value}}}}, nil
	}
	return nil, fmt.Errorf("%w: a value of type %s is written as redisbloom, the payload of DUMP, or as rdb:key=KEY", ErrNotConvertible, v.Type)
}

func (v *RedisValue) expires() int64 {
	if v.Expires.IsZero() {
		return 0
	}
	return v.Expires.UnixMilli()
}

// redisTypes counts the values of each type, as in "2 MBbloomCF, 1 TopK-TYPE".
func redisTypes(all []RedisValue) string {
	counts := map[string]int{}
	for _, v := range all {
		counts[v.Type]++
	}
	var texts []string
	for name, n := range counts {
		texts = append(texts, strconv.Itoa(n)+" "+name)
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
