package interop

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
)

// jsonScan reads a JSON value of any size, which may be cut short, without keeping it. It
// reports inner objects before outer ones, and strings in order.
type jsonScan struct {
	b   []byte
	at  int
	cut bool // b ends within the value

	object func(o *jsonObject, depth int)
	text   func(raw []byte, depth int) // without its quotes, of a value and not of a key
}

// jsonDepth is the deepest nesting that is searched; filters are not nested deeper.
const jsonDepth = 32

// jsonObject is what filters in JSON are recognised by.
type jsonObject struct {
	members map[string][]byte // those of jsonKeys, as they are written; nil where b ends before the value
	others  bool              // there are others
	cut     bool              // b ends within the object
	cutKey  []byte            // the key that b ends in, from its quote on
	length  int
}

// jsonKeys are the keys of filters in JSON. Those of npm bloom-filters are all that its
// types have.
var jsonKeys = []string{
	"m", "k", "b", "version", "buckets", "type",
	"_size", "_nbHashes", "_filter", "_seed", "_length", "_loadFactor", "_m", "_capacity", "_fingerprintLength", "_maxKicks",
	"_columns", "_rows", "_matrix", "_allSums", "_nbRegisters", "_nbBytesPerHash", "_correctionBias", "_registers", "_k", "_errorRate",
	"_accuracy", "_sketch", "_heap", "_hashCount", "_elements", "_bits", "_blockLength", "_initial_size", "_error_rate", "_ratio",
	"_filters", "_hashFunctions", "_signature",
}

// npmTypes are the types of npm bloom-filters.
var npmTypes = []string{
	"BloomFilter", "PartitionedBloomFilter", "CountingBloomFilter", "ScalableBloomFilter", "InvertibleBloomFilter", "CuckooFilter",
	"XorFilter", "CountMinSketch", "HyperLogLog", "TopK", "MinHash",
}

func (s *jsonScan) space() {
	for s.at < len(s.b) && strings.IndexByte(" \t\r\n", s.b[s.at]) >= 0 {
		s.at++
	}
}

// next passes white space and returns the byte after it; false at the end of b.
func (s *jsonScan) next() (byte, bool) {
	s.space()
	s.cut = s.at == len(s.b)
	if s.cut {
		return 0, false
	}
	return s.b[s.at], true
}

// value goes through a value and returns it as it is written. It returns false for what
// is not JSON; an early end of b is not an error.
func (s *jsonScan) value(depth int) ([]byte, bool) {
	c, ok := s.next()
	if !ok {
		return nil, true
	}
	from := s.at
	switch {
	case depth > jsonDepth:
		return nil, false
	case c == '{':
		ok = s.members(depth)
	case c == '[':
		ok = s.list(depth)
	case c == '"':
		raw := s.quoted()[1:]
		if !s.cut {
			raw = raw[:len(raw)-1]
		}
		if s.text != nil {
			s.text(raw, depth)
		}
	default:
		ok = s.literal()
	}
	return s.b[from:s.at], ok
}

// quoted goes through a string and returns it with its quotes.
func (s *jsonScan) quoted() []byte {
	from := s.at
	for s.at++; ; s.at++ {
		i := bytes.IndexAny(s.b[s.at:], `"\`)
		if i < 0 || s.b[s.at+i] == '\\' && s.at+i+2 > len(s.b)-1 {
			s.at, s.cut = len(s.b), true
			return s.b[from:]
		}
		if s.at += i; s.b[s.at] == '"' {
			s.at++
			return s.b[from:s.at]
		}
		s.at++ // what the backslash escapes
	}
}

// literal goes through a number, true, false or null.
func (s *jsonScan) literal() bool {
	from := s.at
	for s.at < len(s.b) && strings.IndexByte(" \t\r\n,]}:\"[{", s.b[s.at]) < 0 {
		s.at++
	}
	text := string(s.b[from:min(s.at, from+64)])
	s.cut = s.at == len(s.b)
	if isNumber([]byte(text)) || text == "true" || text == "false" || text == "null" {
		return true
	}
	return s.cut && text != "" && slices.ContainsFunc([]string{"true", "false", "null"}, func(word string) bool { return strings.HasPrefix(word, text) })
}

// isNumber reports whether b begins as a number and has no other bytes than numbers.
func isNumber(b []byte) bool {
	return len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') && len(bytes.Trim(b, "+-.0123456789eE")) == 0
}

// elements goes through a list or an object whose last byte is end, and calls element for
// each of its comma-separated parts.
func (s *jsonScan) elements(end byte, element func() bool) bool {
	s.at++
	for first := true; ; first = false {
		c, ok := s.next()
		switch {
		case !ok:
			return true
		case c == end:
			s.at++
			return true
		case !first && c != ',':
			return false
		case !first:
			s.at++
		}
		if ok := element(); !ok || s.cut {
			return ok
		}
	}
}

func (s *jsonScan) list(depth int) bool {
	return s.elements(']', func() bool {
		_, ok := s.value(depth + 1)
		return ok
	})
}

func (s *jsonScan) members(depth int) bool {
	o := &jsonObject{members: map[string][]byte{}}
	from := s.at
	ok := s.elements('}', func() bool { return s.member(o, depth) })
	if o.cut, o.length = s.cut, s.at-from; ok && s.object != nil {
		s.object(o, depth)
	}
	return ok
}

func (s *jsonScan) member(o *jsonObject, depth int) bool {
	c, ok := s.next()
	if !ok || c != '"' {
		return !ok
	}
	key := s.quoted()
	if s.cut {
		o.cutKey = key
		return true
	}
	if c, ok = s.next(); ok && c != ':' {
		return false
	}
	var value []byte
	if ok {
		s.at++
		if value, ok = s.value(depth + 1); !ok {
			return false
		}
	}
	if name := string(key[1 : len(key)-1]); slices.Contains(jsonKeys, name) {
		o.members[name] = value
	} else {
		o.others = true
	}
	return true
}

// has reports whether the object has all of the members, each of which begins as it
// should: 0 for a number, " for a string, [ for a list, and * for anything.
func (o *jsonObject) has(members map[string]byte) bool {
	for name, kind := range members {
		value := o.members[name]
		if len(value) == 0 || kind == '0' && !isNumber(value) || kind != '0' && kind != '*' && value[0] != kind {
			return false
		}
	}
	return true
}

// shape returns the format whose members the object has. It is sure if other objects do
// not have these members by chance.
func (o *jsonObject) shape() (format string, sure bool) {
	switch {
	case o.has(map[string]byte{"m": '0', "k": '0', "buckets": '['}):
		return "npm-bloomfilter", true
	case o.isNPMType() && len(o.members) > 1:
		return "npm-bloom-filters", true
	case o.has(map[string]byte{"m": '0', "k": '0', "b": '"'}):
		return "bits-and-blooms", beginsAsArray(o.members["b"][1:])
	}
	return "", false
}

// isNPMType reports whether the member type is one of npm bloom-filters'.
func (o *jsonObject) isNPMType() bool {
	name, ok := bytes.CutPrefix(o.members["type"], []byte{'"'})
	return ok && slices.ContainsFunc(npmTypes, func(t string) bool { return string(name) == t+`"` })
}

// beginsAsArray reports whether base64 begins with a length in bits, as the member b of
// bits-and-blooms does, that fits an array.
func beginsAsArray(text []byte) bool {
	if len(text) < 12 {
		return false
	}
	head := strings.NewReplacer("-", "+", "_", "/").Replace(string(text[:12]))
	b, err := base64.StdEncoding.DecodeString(head)
	if err != nil || len(b) < 8 {
		return false
	}
	const most = 1 << 40
	big, little := binary.BigEndian.Uint64(b), binary.LittleEndian.Uint64(b)
	return big != 0 && big < most || little != 0 && little < most
}

// begins returns a format that has all members of the object, whose end is missing.
func (o *jsonObject) begins() (format string) {
	if !o.cut || o.others {
		return ""
	}
	for _, c := range []struct {
		format  string
		members map[string]byte
	}{
		{"bits-and-blooms", map[string]byte{"m": '0', "k": '0', "b": '"'}},
		{"npm-bloomfilter", map[string]byte{"version": '0', "m": '0', "k": '0', "buckets": '['}},
		{"npm-bloom-filters", nil},
	} {
		allowed := func(name string) (kind byte, ok bool) {
			if c.members == nil {
				return '*', name == "type" || name[0] == '_'
			}
			kind, ok = c.members[name]
			return kind, ok
		}
		fits := len(o.members) > 0 || len(o.cutKey) > 1
		for name, value := range o.members {
			kind, ok := allowed(name)
			fits = fits && ok && (len(value) == 0 || o.has(map[string]byte{name: kind}))
		}
		if value := o.members["type"]; len(value) > 0 {
			fits = fits && slices.ContainsFunc(npmTypes, func(t string) bool { return strings.HasPrefix(`"`+t+`"`, string(value)) })
		}
		if len(o.cutKey) > 1 {
			fits = fits && slices.ContainsFunc(jsonKeys, func(name string) bool {
				_, ok := allowed(name)
				return ok && strings.HasPrefix(name, string(o.cutKey[1:]))
			})
		}
		if fits {
			return c.format
		}
	}
	return ""
}

// jsonFilter returns the format of b if it is a filter in JSON: one object with the
// format's members, and only white space around it.
func jsonFilter(b []byte) (format string) {
	s := &jsonScan{b: b, object: func(o *jsonObject, depth int) {
		if depth == 0 && !o.cut {
			format, _ = o.shape()
		}
	}}
	if c, ok := s.next(); !ok || c != '{' {
		return ""
	}
	if _, ok := s.value(0); !ok || s.cut {
		return ""
	}
	if s.space(); s.at != len(b) {
		return ""
	}
	return format
}
