package keyspec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// jsonPart is the value at a path in a record that is one
// JSON document (RFC 8259). The key is
//
//   - of a string, its decoded text, without quotes and escapes,
//   - of a number, its canonical decimal text, exact at any length: 1, 1.0 and
//     10e-1 are one key,
//   - true, false and null unchanged,
//   - of an object or an array, its text without white space, members in order
//     of their names, strings and numbers in one form.
//
// The string "1" and the number 1 are therefore the same key, so that a list of
// ids in a text file matches ids of either kind. If an object has a member twice, the last
// one counts, as in most programs. All of the record must be valid: a torn line is an
// error even if the value is before the damage.
type jsonPart struct {
	tokens  []string
	missing error
}

var errNotJSON = errors.New("the record is not a JSON document")

// jsonPrefix begins the keys that are JSON values.
const jsonPrefix = "json:"

// compileJSON parses the text behind "json:", a pointer or the names on the way to the
// value with dots between them.
func compileJSON(path string) (finder, error) {
	tokens, err := jsonTokens(path)
	if err != nil {
		return nil, err
	}
	return &jsonPart{tokens, fmt.Errorf("the record has no value at %q", path)}, nil
}

func jsonTokens(path string) (tokens []string, err error) {
	if path == "" {
		return nil, nil
	}
	pointer, ok := strings.CutPrefix(path, "/")
	if !ok {
		return dottedTokens(path)
	}
	for token := range strings.SplitSeq(pointer, "/") {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(token), "~") {
			return nil, errors.New("in a JSON pointer ~ is followed by 0 (for ~) or 1 (for a slash)")
		}
		tokens = append(tokens, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return tokens, nil
}

// dottedTokens splits a path such as user.id or items.0.id. What a name in it may mean
// in other notations is refused; a pointer has all names.
func dottedTokens(path string) ([]string, error) {
	tokens := strings.Split(path, ".")
	switch {
	case strings.Contains(path, "/"):
		return nil, fmt.Errorf("a JSON pointer begins with a slash: json:/%s", path)
	case strings.ContainsAny(path, `[]"`) || tokens[0] == "$":
		return nil, errors.New("write a path as json:items.0.id; names with other signs are written as a JSON pointer, such as json:/items/0/id")
	case slices.Contains(tokens, ""):
		return nil, errors.New("a name between the dots is empty; write a path as json:user.id, or a name with dots as json:/user.id")
	}
	return tokens, nil
}

// pointerSpelling returns path as a JSON pointer; one that is a pointer stays as it is.
func pointerSpelling(path string) string {
	tokens, err := jsonTokens(path)
	if err != nil || path == "" || path[0] == '/' {
		return path // Compile reports an error
	}
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return b.String()
}

func (p *jsonPart) find(record []byte, s *Scratch) ([]byte, error) {
	f := finding{jsonText: record, scratch: s}
	end := f.value(f.space(0), p.tokens, 0)
	if end >= 0 {
		end = f.space(end)
	}
	if end < 0 {
		return nil, fmt.Errorf("%w: byte %d", errNotJSON, ^end+1)
	}
	if end < len(record) {
		return nil, fmt.Errorf("%w: byte %d", errNotJSON, end+1)
	}
	if !f.found {
		return nil, p.missing
	}
	return f.jsonText.key(f.start, f.end, s), nil
}

// jsonText is a JSON document. Its methods take the position of a syntactic
// element and return the position behind it, or the complement (^) of the
// position of the first byte that is not JSON.
type jsonText []byte

// maxDepth is how deep arrays and objects may nest, as in encoding/json.
const maxDepth = 10000

// finding is a walk to one value.
type finding struct {
	jsonText
	scratch    *Scratch
	found      bool
	start, end int
}

// value goes over the value at i and notes where the one at path is within it.
func (f *finding) value(i int, path []string, depth int) int {
	if len(path) == 0 {
		end := f.skip(i, depth)
		f.found, f.start, f.end = true, i, end
		return end
	}
	if i < len(f.jsonText) && (f.jsonText[i] == '{' || f.jsonText[i] == '[') {
		return f.walk(i, path, depth+1)
	}
	return f.skip(i, depth)
}

// walk goes over an object or an array and notes where the value at path is within it.
func (f *finding) walk(i int, path []string, depth int) int {
	d := f.jsonText
	if depth > maxDepth {
		return ^i
	}
	object, want := d[i] == '{', -1
	if !object {
		want = arrayIndex(path[0])
	}
	end := closing(d[i])
	i = d.space(i + 1)
	if i < len(d) && d[i] == end {
		return i + 1
	}
	for at := 0; ; at++ {
		match := at == want
		if object {
			name := i
			var escaped bool
			if i, escaped = d.str(i); i < 0 {
				return i
			}
			match = f.isName(d[name+1:i-1], escaped, path[0])
			if i = d.space(i); i == len(d) || d[i] != ':' {
				return ^i
			}
			i = d.space(i + 1)
		}
		if match {
			f.found = false // an earlier member of this name does not count
			i = f.value(i, path[1:], depth)
		} else {
			i = d.skip(i, depth)
		}
		if i < 0 {
			return i
		}
		if i = d.space(i); i == len(d) {
			return ^i
		}
		switch d[i] {
		case end:
			return i + 1
		case ',':
			i = d.space(i + 1)
		default:
			return ^i
		}
	}
}

// closing returns the bracket that closes the given one, whose code is two less.
func closing(bracket byte) byte { return bracket + 2 }

// arrayIndex returns the element that a token names, -1 for none: digits
// without leading zeros (RFC 6901, 4).
func arrayIndex(token string) int {
	if token == "" || len(token) > 10 || token[0] == '0' && len(token) > 1 {
		return -1
	}
	n := uint64(0)
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return -1
		}
		n = n*10 + uint64(token[i]-'0')
	}
	if n > 1<<31-1 { // no record holds as many elements
		return -1
	}
	return int(n)
}

// isName compares the inside of a name with a token.
func (f *finding) isName(raw []byte, escaped bool, token string) bool {
	if !escaped {
		return string(raw) == token
	}
	f.scratch.value = unescape(f.scratch.value[:0], raw)
	return string(f.scratch.value) == token
}

// space skips white space.
func (d jsonText) space(i int) int {
	for i < len(d) && d[i] <= ' ' && (d[i] == ' ' || d[i] == '\t' || d[i] == '\n' || d[i] == '\r') {
		i++
	}
	return i
}

// skip goes over any value.
func (d jsonText) skip(i, depth int) int {
	if i >= len(d) {
		return ^len(d)
	}
	switch c := d[i]; {
	case c == '"':
		i, _ = d.str(i)
		return i
	case c == '{' || c == '[':
		return d.container(i, depth+1)
	case c == '-' || '0' <= c && c <= '9':
		return d.number(i)
	case c == 't':
		return d.literal(i, "true")
	case c == 'f':
		return d.literal(i, "false")
	case c == 'n':
		return d.literal(i, "null")
	}
	return ^i
}

// container goes over an object or an array.
func (d jsonText) container(i, depth int) int {
	if depth > maxDepth {
		return ^i
	}
	object := d[i] == '{'
	end := closing(d[i])
	i = d.space(i + 1)
	if i < len(d) && d[i] == end {
		return i + 1
	}
	for {
		if object {
			if i, _ = d.str(i); i < 0 {
				return i
			}
			if i = d.space(i); i == len(d) || d[i] != ':' {
				return ^i
			}
			i = d.space(i + 1)
		}
		if i = d.skip(i, depth); i < 0 {
			return i
		}
		if i = d.space(i); i == len(d) {
			return ^i
		}
		switch d[i] {
		case end:
			return i + 1
		case ',':
			i = d.space(i + 1)
		default:
			return ^i
		}
	}
}

func (d jsonText) literal(i int, text string) int {
	for k := range len(text) {
		if i+k == len(d) || d[i+k] != text[k] {
			return ^(i + k)
		}
	}
	return i + len(text)
}

func (d jsonText) number(i int) int {
	if d[i] == '-' {
		i++
	}
	if i == len(d) {
		return ^i
	}
	if d[i] == '0' {
		i++
	} else if i = d.digits(i); i < 0 {
		return i
	}
	if i < len(d) && d[i] == '.' {
		if i = d.digits(i + 1); i < 0 {
			return i
		}
	}
	if i < len(d) && d[i]|0x20 == 'e' {
		i++
		if i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		return d.digits(i)
	}
	return i
}

// digits goes over at least one digit.
func (d jsonText) digits(i int) int {
	start := i
	for i < len(d) && '0' <= d[i] && d[i] <= '9' {
		i++
	}
	if i == start {
		return ^i
	}
	return i
}

// Masks for eight bytes at a time.
const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// str goes over a string, quotes included, and reports whether it has escapes. It looks
// for the quote, a backslash or a control character in eight bytes at once, since most
// have none.
func (d jsonText) str(i int) (end int, escaped bool) {
	if i >= len(d) || d[i] != '"' {
		return ^min(i, len(d)), false
	}
	i++
	for {
		for i+8 <= len(d) {
			x := binary.LittleEndian.Uint64(d[i:])
			quote := x ^ ones*'"'
			slash := x ^ ones*'\\'
			// The high bit of a byte is set where the byte is zero (or less
			// than 0x20); false marks arise only behind a true one.
			m := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*0x20)&^x) & high
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(d) {
			return ^len(d), escaped
		}
		switch c := d[i]; {
		case c == '"':
			return i + 1, escaped
		case c < 0x20:
			return ^i, escaped
		case c != '\\':
			i++
		default:
			escaped = true
			if i = d.escape(i); i < 0 {
				return i, escaped
			}
		}
	}
}

// escape goes over one escape sequence.
func (d jsonText) escape(i int) int {
	i++
	if i == len(d) {
		return ^i
	}
	switch d[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		for range 4 {
			i++
			if i == len(d) || hexValue(d[i]) < 0 {
				return ^i
			}
		}
		return i + 1
	}
	return ^i
}

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
