package interop

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"seen/internal/recipe"
)

// stringParams are the parameters of formats of which a filter may be a string of Redis
// and so lie in an RDB file.
var stringParams = []param{
	{name: "rdb", meaning: "the key of the string, if the file is an RDB file of Redis; of several strings their keys without the number", place: true},
	{name: "db", meaning: "with rdb, the number of the database, if the key is in several", place: true},
}

// ReadStrings returns what a file of a filter holds that lies in strings of Redis under
// name. Most formats have one string, of that name. The md5 recipe has one for each of
// its blocks, which stand one after another at their full length. read returns a string,
// and false if there is none.
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
		// A block that no key has come to is not there.
		if parts[i], found = b, found || ok; uint64(len(b)) > full {
			return nil, fmt.Errorf("%s: %w: string %q has %d bytes, and has at most %d; give the width of the offsets", s.Name, ErrBadData, key, len(b), full)
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

// stringKeys returns the keys of the strings in which a filter called name lies in Redis,
// and the most bytes that each may have, which are those that all but the last have in a
// file.
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
	r, err := redisRecipeOf(s)
	if err != nil {
		return nil, 0, err
	}
	blocks, err := recipeOf(r)
	if err != nil {
		return nil, 0, err
	}
	for i := range blocks.blocks {
		keys = append(keys, name+strconv.Itoa(i))
	}
	return keys, bytesOf(1 << blocks.bits), nil
}

// rdbValue is what an RDB file has under a key.
type rdbValue struct {
	db   uint64
	kind byte
	text rdbText // of a string, or of a hash in one piece
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
	err = walkRDB(b, func(r *rdbReader, kind byte, db uint64) error {
		text := r.plainText()
		key, err := text.bytes()
		if err != nil || r.err != nil {
			return err
		}
		all, wanted := values[string(key)]
		v := rdbValue{db: db, kind: kind}
		switch {
		case kind == rdbPlainValue || kind == rdbHashPack:
			v.text = r.plainText()
		case kind == rdbHash && wanted:
			v.hash, err = r.hash()
		default:
			r.skipValue(kind)
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
	if err := checkRDB(b); err != nil {
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
			return nil, false, fmt.Errorf("%s: %w: key %q is in several databases; give --format %s", s.Name, ErrSpec, key, s.with("db", "N"))
		case all[0].kind != rdbPlainValue:
			return nil, false, fmt.Errorf("%s: %w: key %q holds a value of kind %d, no string", s.Name, ErrSpec, key, all[0].kind)
		}
		content, err := values[key][0].text.bytes()
		return content, true, err
	})
	if err != nil {
		return nil, err
	}
	f, err := open(content, s)
	if err != nil {
		return nil, err
	}
	if g, ok := f.(*Bitmap); ok {
		g.place = s
	}
	return f, nil
}

// redisson adds to s what the hash of Redisson's filter says, one of n under that key.
func (v *rdbValue) redisson(s Spec, n int) (Spec, error) {
	if n > 1 {
		return s, fmt.Errorf("%w: it is in several databases", ErrSpec)
	}
	fields := v.hash
	if v.kind == rdbHashPack {
		b, err := v.text.bytes()
		if err == nil {
			fields, err = parseListPack(b)
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

// hash reads a hash of strings, one by one.
func (r *rdbReader) hash() (map[string]string, error) {
	all := make(map[string]string)
	for n := r.length(); n > 0 && r.err == nil; n-- {
		name, value := r.plainText(), r.plainText()
		if r.err != nil {
			break
		}
		x, err := name.bytes()
		if err != nil {
			return nil, err
		}
		y, err := value.bytes()
		if err != nil {
			return nil, err
		}
		all[string(x)] = string(y)
	}
	return all, nil
}

// parseListPack reads a small hash as Redis has it since version 7: names and values in
// turn. In front are its length in 32 bits and the number of texts in 16, and ff is its
// end. A text is a number or bytes, told by its first bits, and is followed by its
// length, for those who read backwards.
func parseListPack(b []byte) (map[string]string, error) {
	const head = 6
	all := make(map[string]string)
	r := rdbReader{rest: b}
	r.take(head)
	name, named := "", false
	for r.err == nil {
		before := len(r.rest)
		text, end := r.packed()
		switch {
		case end:
			return all, r.err
		case named:
			all[name] = text
		default:
			name = text
		}
		named = !named
		// One byte of seven bits, and one more for each seven more.
		for size := before - len(r.rest); size > 0; size >>= 7 {
			r.take(1)
		}
	}
	return nil, r.err
}

// packed reads a text of a list pack, or its end.
func (r *rdbReader) packed() (text string, end bool) {
	signed := func(bytes int) string {
		n := uint64(0)
		for i, c := range r.take(uint64(bytes)) {
			n |= uint64(c) << (8 * i)
		}
		shift := 64 - 8*bytes
		return strconv.FormatInt(int64(n<<shift)>>shift, 10)
	}
	switch c := r.take(1)[0]; {
	case c < 0x80:
		return strconv.Itoa(int(c)), false
	case c < 0xc0:
		return string(r.take(uint64(c & 0x3f))), false
	case c < 0xe0: // 13 bits with a sign
		n := int16(c&0x1f)<<8 | int16(r.take(1)[0])
		return strconv.Itoa(int(n << 3 >> 3)), false
	case c < 0xf0:
		return string(r.take(uint64(c&0x0f)<<8 | uint64(r.take(1)[0]))), false
	case c == 0xf0:
		return string(r.take(uint64(binary.LittleEndian.Uint32(r.take(4))))), false
	case c <= 0xf3:
		return signed(int(c-0xf1) + 2), false
	case c == 0xf4:
		return signed(8), false
	case c == 0xff:
		return "", true
	default:
		r.fail("a text of a hash that begins with %#02x", c)
	}
	return "", false
}
