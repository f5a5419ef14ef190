package interop

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"seen/internal/rdb"
	"seen/internal/recipe"
)

// stringParams are the parameters of formats whose filters are strings of Redis and may
// be in an RDB file.
var stringParams = []param{
	{name: "rdb", meaning: "the key of the string, if the file is an RDB file of Redis; for several strings, their keys without the number", place: true},
	{name: "db", meaning: "together with rdb, the number of the database, if the key is in several", place: true},
}

// ReadStrings reads a filter from strings of Redis and returns its contents for [Open].
// Most formats have one string, called name. The md5 recipe has one for each of its
// blocks; they follow one another, padded to their full length. read returns a string,
// and false if it does not exist.
func ReadStrings(s Spec, name string, read func(key string) ([]byte, bool, error)) ([]byte, error) {
	keys, full, err := stringKeys(s, name)
	if err != nil {
		return nil, err
	}
	parts, found := make([][]byte, len(keys)), false
	for i, key := range keys {
		b, ok, err := read(key)
		if err != nil {
			return nil, err
		}
		// A block without keys does not exist.
		if parts[i], found = b, found || ok; uint64(len(b)) > full {
			return nil, fmt.Errorf("%s: %w: string %q has %d bytes, more than the %d of such offsets; give the width of the offsets", s.Name, ErrBadData, key, len(b), full)
		}
	}
	last := len(keys) - 1
	switch {
	case !found:
		return nil, fmt.Errorf("%s: %w: there is no string %q", s.Name, ErrSpec, strings.Join(keys[:min(len(keys), 3)], `", "`))
	case last == 0:
		return parts[0], nil
	}
	if err := checkSpread(full, parts...); err != nil {
		return nil, fmt.Errorf("%s: %w; give the width of the offsets", s.Name, err)
	}
	// Neither factor has more than 32 bits.
	size := uint64(last)*full + uint64(len(parts[last]))
	if size > foreignMaxBytes {
		return nil, fmt.Errorf("%s: %d strings take %d bytes, more than the limit of %d", s.Name, len(keys), size, uint64(foreignMaxBytes))
	}
	all := make([]byte, size)
	for i, b := range parts {
		copy(all[uint64(i)*full:], b)
	}
	return all, nil
}

// stringKeys returns the keys of the strings of a filter called name, and the most bytes
// of each. In a file all strings but the last have that length.
func stringKeys(s Spec, name string) (keys []string, full uint64, err error) {
	f, err := findFormat(s.Name)
	if err != nil {
		return nil, 0, err
	}
	if s, err = f.complete(s, true, false); err != nil {
		return nil, 0, err
	}
	if f.name != redisRecipeFormat.name || s.Params["type"] != "md5" {
		return []string{name}, math.MaxUint64, nil
	}
	r, err := s.recipe()
	if err != nil {
		return nil, 0, err
	}
	for i := range r.blocks {
		keys = append(keys, name+strconv.Itoa(i))
	}
	return keys, bytesOf(1 << r.bits), nil
}

func errSeveralDatabases(s Spec, key string) error {
	err := fmt.Errorf("%s: %w: key %q is in several databases", s.Name, ErrSpec, key)
	return &SpecError{Err: err, Try: []string{s.with("db", "N").String()}}
}

// rdbValue is what an RDB file has under a key.
type rdbValue struct {
	db   uint64
	kind byte
	text rdb.Text // of a string, or of a hash in one piece
	hash map[string]string
}

// openInRDB opens the strings that s names in the RDB file b, with open.
func openInRDB(b []byte, s Spec, open func(b []byte, s Spec) (Foreign, error)) (Foreign, error) {
	name := s.Params["rdb"]
	keys, _, err := stringKeys(s, name)
	if err != nil {
		return nil, err
	}
	values := make(map[string][]rdbValue)
	for _, key := range keys {
		values[key] = nil
	}
	config := recipe.RedissonConfigKey(name)
	if s.Name == redissonFormat.name && s.Params["m"] == "" && s.Params["k"] == "" {
		values[config] = nil
	}
	err = rdb.Walk(b, func(r *rdb.Reader, kind byte, db uint64) error {
		text := r.Text()
		key, err := text.Bytes()
		if err != nil || r.Err() != nil {
			return err
		}
		all, wanted := values[string(key)]
		v := rdbValue{db: db, kind: kind}
		switch {
		case kind == rdb.KindString || kind == rdb.KindHashPack:
			v.text = r.Text()
		case kind == rdb.KindHash && wanted:
			v.hash, err = r.Hash()
		default:
			r.SkipValue(kind)
		}
		if err != nil {
			return err
		}
		if wanted && (s.Params["db"] == "" || s.Params["db"] == strconv.FormatUint(db, 10)) {
			values[string(key)] = append(all, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := rdb.Verify(b); err != nil {
		return nil, err
	}
	if all := values[config]; len(all) > 0 {
		if s, err = all[0].redisson(s, len(all)); err != nil {
			return nil, fmt.Errorf("redisson: key %q: %w; give m and k", config, err)
		}
	}
	content, err := ReadStrings(s, name, func(key string) ([]byte, bool, error) {
		switch all := values[key]; {
		case len(all) == 0:
			return nil, false, nil
		case len(all) > 1:
			return nil, false, errSeveralDatabases(s, key)
		case all[0].kind != rdb.KindString:
			return nil, false, fmt.Errorf("%s: %w: key %q holds a value of kind %d, not a string", s.Name, ErrSpec, key, all[0].kind)
		}
		content, err := values[key][0].text.Bytes()
		return content, true, err
	})
	if err != nil {
		return nil, err
	}
	f, err := open(content, s)
	if err != nil {
		return nil, err
	}
	if g, ok := f.(*bitmap); ok {
		g.place = s
	}
	return f, nil
}

// redisson adds to s what the hash beside Redisson's filter says. n is the number of
// values under its key.
func (v *rdbValue) redisson(s Spec, n int) (Spec, error) {
	if n > 1 {
		return s, fmt.Errorf("%w: it is in several databases", ErrSpec)
	}
	fields := v.hash
	if v.kind == rdb.KindHashPack {
		b, err := v.text.Bytes()
		if err == nil {
			fields, err = rdb.ParseListPack(b)
		}
		if err != nil {
			return s, err
		}
	}
	m, k := fields["size"], fields["hashIterations"]
	if m == "" || k == "" {
		return s, fmt.Errorf("%w: a value of kind %d without the fields size and hashIterations", ErrBadData, v.kind)
	}
	return s.with("m", m).with("k", k), nil
}
