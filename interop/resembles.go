package interop

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"seen/internal/frame"
)

const (
	// longestKey is the longest line of hexadecimal digits or base64 that is taken for
	// a key where it is the only line: the longest digest in use has 128 digits.
	longestKey = 128
	// base64Columns is where the program base64 breaks lines, and hexColumns where xxd
	// does. No digest is so long.
	base64Columns = 76
	hexColumns    = 60
	// decodeMost bounds the text that is decoded to look at what is in it.
	decodeMost = 16 << 20
	// wrappings is how many things around a filter are looked through.
	wrappings = 3
	// wrappedStrings is how many strings of a JSON value are looked into.
	wrappedStrings = 64
)

// Resembles returns nil for content that may be read as a text, such as a list of keys.
// For content that [Detect] does not recognise, and that looks like a filter that was cut
// short or wrapped in something else, it returns an error that says what to do. It looks
// at text in UTF-8: the JSON of a filter, hexadecimal digits and base64. Lines of JSON are
// a text unless the first is a filter.
func Resembles(b []byte) error {
	if what := resembles(b, 0); what != "" {
		return fmt.Errorf("it looks like a filter that cannot be opened: %s", what)
	}
	return nil
}

// NeedsRest reports whether [Resembles] may give another answer for longer content that
// begins with head.
func NeedsRest(head []byte) bool {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, utf8Mark), " \t\r\n")
	if len(text) > 0 && strings.IndexByte(`{["`, text[0]) >= 0 {
		s := &jsonScan{b: text}
		_, ok := s.value(0)
		return ok && s.cut
	}
	first, rest, more := bytes.Cut(text, []byte("\n"))
	return digitsOf(first) != notDigits && (!more || len(bytes.TrimSpace(rest)) == 0)
}

var utf8Mark = []byte("\xef\xbb\xbf")

// resembles returns what b looks like, and what to do; "": a text. depth counts what was
// taken from around b.
func resembles(b []byte, depth int) string {
	if depth > wrappings {
		return ""
	}
	if text, ok := bytes.CutPrefix(b, utf8Mark); ok {
		if isFilter(text) || resembles(text, depth+1) != "" {
			return "a byte order mark is before the filter; remove its 3 bytes, as with tail -c +4"
		}
		return ""
	}
	if isRDBStart(b) {
		return "the beginning of an RDB file of Redis, cut short; copy the file again"
	}
	text := bytes.TrimLeft(b, " \t\r\n")
	if len(text) == 0 {
		return ""
	}
	if strings.IndexByte(`{["`, text[0]) >= 0 {
		return resemblesJSON(text, depth)
	}
	return resemblesDigits(text, depth)
}

// isFilter reports whether b is a filter that Detect recognises and that can be opened, or
// one of package bloom.
func isFilter(b []byte) bool {
	all := Detect(b)
	return len(all) > 0 && all[0].Confidence > Possible && all[0].Refused == "" || bytes.HasPrefix(b, frame.Magic())
}

// isRDBStart reports whether b is only the first bytes of an RDB file.
func isRDBStart(b []byte) bool {
	return len(b) > len("REDIS") && len(b) <= len("REDIS0000") && bytes.HasPrefix(b, []byte("REDIS00"))
}

// resemblesJSON is resembles for what begins as JSON. The first value decides.
func resemblesJSON(b []byte, depth int) string {
	var (
		format, begun string
		sure          bool // of format
		at, length    int  // depth and length of its object
		inText        string
		looked        int
	)
	s := &jsonScan{b: b}
	s.object = func(o *jsonObject, depth int) {
		name, isSure := o.shape()
		if name != "" && (isSure || !sure) {
			format, sure, at, length = name, isSure, depth, o.length
		}
		if begun == "" {
			begun = o.begins()
		}
	}
	s.text = func(raw []byte, inside int) {
		if looked++; inText == "" && looked <= wrappedStrings && len(raw) <= decodeMost {
			if content, ok := unquote(raw, s.cut); ok && wrapsFilter(content, depth) {
				inText = "a filter is in a string of JSON; write what is in the string alone to a file, as with jq -r"
			}
		}
	}
	_, ok := s.value(0)
	if !ok {
		return ""
	}
	s.space()
	rest := len(b) - s.at
	if format == "" && inText == "" && rest == 0 && b[0] == '"' && depth == 0 {
		// The content is one string, so its text decides.
		raw := b[1:]
		if !s.cut {
			raw = bytes.TrimRight(raw, " \t\r\n")
			raw = raw[:len(raw)-1]
		}
		if content, ok := unquote(raw, s.cut); ok && resembles(content, depth+1) != "" {
			return "a filter, or a part of one, is in a string of JSON; write what is in the string alone to a file, as with jq -r"
		}
	}
	switch {
	case format == "" && inText != "":
		return inText
	case format != "" && (sure || rest == 0):
		name := systemNamed(format)
		switch {
		case s.cut:
			return "the JSON of " + name + " ends early; copy the file again"
		case at > 0:
			return fmt.Sprintf("the JSON of %s is inside another value of JSON; write the object of %d bytes alone to a file, as with jq", name, length)
		case rest > 0:
			return fmt.Sprintf("%d bytes follow the JSON of %s; remove them", rest, name)
		}
		return "the JSON of " + name + " is damaged"
	case begun != "" && s.cut:
		return "it begins as the JSON of " + systemNamed(begun) + " and ends early; copy the file again"
	}
	return ""
}

// unquote returns the text of a JSON string; if it is cut short, the text of its
// beginning.
func unquote(raw []byte, cut bool) ([]byte, bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, true
	}
	for n := range 6 { // an escape has at most six bytes
		if n > len(raw) || n > 0 && !cut {
			break
		}
		var text string
		if json.Unmarshal(slices.Concat([]byte{'"'}, raw[:len(raw)-n], []byte{'"'}), &text) == nil { // what cannot be decoded is cut elsewhere
			return []byte(text), true
		}
	}
	return nil, false
}

// wrapsFilter reports whether a string holds a filter: as JSON, or in digits.
func wrapsFilter(content []byte, depth int) bool {
	const least = 20 // the shortest that is worth a look
	if len(content) < least {
		return false
	}
	if isFilter(content) {
		return true
	}
	if content[0] == '{' || content[0] == '[' || content[0] == '"' {
		return resembles(content, depth+1) != ""
	}
	return decodesToFilter(content, false, depth)
}

// systemNamed returns the system of a format.
func systemNamed(name string) string {
	f, err := findFormat(name)
	if err != nil {
		return name
	}
	return f.system
}

// digits are the alphabets that filters are written in.
type digits int

const (
	notDigits digits = iota
	base64Digits
	hexDigits // which are digits of base64 too
)

// digitsOf returns what all bytes of a line are; of an empty one, nothing.
func digitsOf(line []byte) digits {
	line = bytes.TrimRight(line, "\r")
	body := bytes.TrimRight(line, "=")
	if len(body) == 0 || len(line)-len(body) > 2 {
		return notDigits
	}
	all := hexDigits
	for _, c := range body {
		switch {
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '/' || c == '-' || c == '_':
			all = base64Digits
		default:
			return notDigits
		}
	}
	if len(body) != len(line) {
		return base64Digits
	}
	return all
}

// resemblesDigits is resembles for other text.
func resemblesDigits(b []byte, depth int) string {
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	kind := digitsOf(first)
	if kind == notDigits {
		return ""
	}
	rest = bytes.TrimSpace(rest)
	first = bytes.TrimRight(first, "\r")
	if len(rest) > 0 && kind == hexDigits && isFilter(first) {
		return fmt.Sprintf("%d bytes follow a filter in hexadecimal digits; remove them", len(rest))
	}
	alone := len(rest) == 0
	if decodesToFilter(first, alone, depth) {
		if kind == hexDigits {
			return "a filter is written in hexadecimal digits; turn them into bytes, as with xxd -r -p"
		}
		return "a filter is written in base64; decode it, as with base64 -d"
	}
	if alone {
		if len(first) > longestKey {
			return fmt.Sprintf("it is one line of %d digits of hexadecimal or base64, which is too long for a key: it may be a filter that was cut short", len(first))
		}
		return ""
	}
	switch whole, kind := unbroken(b); {
	case kind == base64Digits && (len(first) == base64Columns || decodesToFilter(whole, false, depth)):
		return "it is base64 in lines of one length; decode it, as with base64 -d"
	case kind == hexDigits && (len(first) == hexColumns || decodesToFilter(whole, false, depth)):
		return "it is hexadecimal digits in lines of one length; turn them into bytes, as with xxd -r -p"
	}
	return ""
}

// unbroken joins digits in lines of one length (the last may be shorter), and says what
// they are; notDigits for anything else.
func unbroken(b []byte) (whole []byte, kind digits) {
	width, ended := 0, false
	kind = hexDigits
	for line := range bytes.Lines(b) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			ended = true
			continue
		}
		if width == 0 {
			width = len(line)
		}
		is := digitsOf(line)
		if ended || is == notDigits || len(line) > width || len(whole)+len(line) > decodeMost {
			return nil, notDigits
		}
		ended = len(line) < width || line[len(line)-1] == '='
		kind = min(kind, is)
		whole = append(whole, line...)
	}
	if kind == base64Digits && width%4 != 0 {
		return nil, notDigits
	}
	return whole, kind
}

// decodesToFilter reports whether digits of hexadecimal or base64 make a filter, or its
// JSON, whole or not; or, if they are the only line and so not a list of keys, something
// in gzip.
func decodesToFilter(text []byte, alone bool, depth int) bool {
	kind := digitsOf(text)
	if kind == notDigits || len(text) > decodeMost || depth >= wrappings {
		return false
	}
	try := func(b []byte) bool {
		switch {
		case len(b) < 12:
			return false
		case isFilter(b), alone && isGzip(b) && b[2] == 8:
			return true
		}
		start := bytes.TrimLeft(b, " \t\r\n")
		return len(start) > 0 && start[0] == '{' && resembles(b, depth+1) != ""
	}
	if kind == hexDigits && len(text)%2 == 0 {
		b := make([]byte, hex.DecodedLen(len(text)))
		if _, err := hex.Decode(b, text); err == nil && try(b) {
			return true
		}
	}
	body := bytes.TrimRight(text, "=")
	if len(body)%4 == 1 { // cut
		body = body[:len(body)-1]
	}
	alphabet := base64.RawStdEncoding
	if bytes.ContainsAny(body, "-_") {
		alphabet = base64.RawURLEncoding
	}
	b := make([]byte, alphabet.DecodedLen(len(body)))
	n, err := alphabet.Decode(b, body)
	return err == nil && try(b[:n])
}
