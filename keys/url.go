package keys

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	parserrors "github.com/nlnwa/whatwg-url/errors"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// MaxURL is the length in bytes beyond which a URL has no canonical form here:
// the time that the parser needs for a path grows with the square of its length,
// and strangers write URLs.
const MaxURL = 16 << 10

// maxAt is how many @ signs the parser is given: each of those in front of a host
// has it begin anew with all that came before.
const maxAt = 64

// ErrURL is wrapped by every error about text that is not a URL.
var ErrURL = errors.New("not a URL")

// URLConfig says which of the spellings of a URL are one key. The zero value is
// what browsers and servers cannot tell apart:
//
//   - white space around the URL and line ends in it go, the scheme is in lower
//     case, and what a URL may not contain is percent-encoded, as in every
//     browser; bytes that are not UTF-8 too, by themselves
//   - the host is in lower case and in punycode, and an IP address in its usual
//     form (KeepHost)
//   - the port goes if it is that of the scheme (KeepPort)
//   - the segments . and .. of the path are resolved (KeepDots)
//   - the digits of percent escapes are in upper case, and escapes of letters,
//     digits and - . _ ~ are decoded, RFC 3986 6.2.2 (KeepEscapes)
//   - the fragment goes, as it never reaches the server (KeepFragment)
//
// KeepHost, KeepDots, the rule of escapes and those of the query are for http,
// https, ws, wss and ftp; of the others a parser knows too little. The rules of
// the query depend on the site, and have to be asked for. Where one of them is
// on, the query is a list of parameters between ampersands: empty ones go, and
// with the last one the question mark.
type URLConfig struct {
	KeepHost     bool
	KeepPort     bool
	KeepDots     bool
	KeepEscapes  bool
	KeepFragment bool

	// SortQuery puts the parameters of the query in the order of their names, byte
	// by byte. Parameters of one name stay in their order, which may mean something.
	SortQuery bool
	// DropTracking drops the parameters that TrackingParameters lists.
	DropTracking bool
	// Drop names parameters to drop: a name as a canonical URL has it, or the
	// start of one followed by a star.
	Drop []string
}

// URLForm brings URLs to one canonical form. It is safe for concurrent use.
type URLForm struct {
	config   URLConfig
	parser   whatwg.Parser
	names    map[string]bool // parameters to drop
	prefixes []string        // starts of such
}

// NewURL checks a Config and returns its form.
func NewURL(c URLConfig) (*URLForm, error) {
	f := &URLForm{config: c, names: map[string]bool{}}
	if c.KeepPort {
		// Without default ports none is dropped.
		f.parser = whatwg.NewParser(whatwg.WithSpecialSchemes(map[string]string{
			"ftp": "", "file": "", "http": "", "https": "", "ws": "", "wss": "",
		}))
	} else {
		f.parser = whatwg.NewParser()
	}
	patterns := c.Drop
	if c.DropTracking {
		patterns = append(TrackingParameters(), patterns...)
	}
	for _, p := range patterns {
		name, prefix := strings.CutSuffix(p, "*")
		switch {
		case p == "" || strings.ContainsAny(name, "*&#="):
			return nil, fmt.Errorf("cannot drop query parameters %q: want a name, or the start of one and a star", p)
		case prefix:
			f.prefixes = append(f.prefixes, name)
		default:
			f.names[name] = true
		}
	}
	return f, nil
}

var defaultURL, _ = NewURL(URLConfig{}) // the configuration is valid

// URL returns the canonical form of a URL under the zero URLConfig. Applied to
// its own result it changes nothing. The error, an ErrURL, names text that is not a URL.
func URL(raw string) (string, error) {
	b, err := defaultURL.Append(nil, []byte(raw))
	return string(b), err
}

// Append appends the canonical form of a URL to dst; the form of a form is the
// form itself. A URL by itself is needed, with its scheme: a reference such as
// /a/b has to be resolved against its page first. The error, an ErrURL, names
// text that is not a URL or is longer than MaxURL; dst is then returned as it was.
//
// An http or https URL that is canonical except for capitals in its host, a missing path
// and a fragment costs no allocation and a fraction of a microsecond; others cost some
// tens of allocations and up to some tens of microseconds.
func (f *URLForm) Append(dst, raw []byte) ([]byte, error) {
	return f.append(dst, raw, nil)
}

// AppendReference is Append for a URL or a reference, such as /a?b or ../c, in a page whose
// URL is base. A reference always needs the parser.
func (f *URLForm) AppendReference(dst, base, reference []byte) ([]byte, error) {
	if len(base) > MaxURL {
		return dst, fmt.Errorf("%w: a base of %d bytes, of which %d are allowed, begins with %q", ErrURL, len(base), MaxURL, base[:64])
	}
	return f.append(dst, reference, base)
}

// append is Append, or AppendReference with a base.
func (f *URLForm) append(dst, raw, base []byte) ([]byte, error) {
	start := len(dst)
	if len(raw) > MaxURL {
		return dst, fmt.Errorf("%w: %d bytes, of which %d are allowed, begin with %q", ErrURL, len(raw), MaxURL, raw[:64])
	}
	dst, ok := f.appendCanonical(dst, raw)
	if !ok {
		var err error
		if dst, err = f.appendParsed(dst[:start], raw, base); err != nil {
			return dst[:start], err
		}
	}
	if f.listsQuery() {
		if scheme, _, _ := bytes.Cut(dst[start:], []byte{':'}); hierarchical[string(scheme)] {
			dst = f.arrangeQuery(dst, start)
		}
	}
	return dst, nil
}

// maxRounds bounds how often a result is parsed again: one round changes the
// URL, a second one may change what became visible (white space at the end of an
// opaque path, whose fragment went), a third one has to agree.
const maxRounds = 4

// appendParsed is Append without the rules of the query, by the parser. What the
// shortcut does not know to be canonical already is parsed until it no longer
// changes.
func (f *URLForm) appendParsed(dst, raw, base []byte) ([]byte, error) {
	start := len(dst)
	if n := bytes.Count(raw, []byte{'@'}) + bytes.Count(base, []byte{'@'}); n > maxAt {
		return dst, fmt.Errorf("%.200q is %w: it has %d @ signs, of which %d are allowed", raw, ErrURL, n, maxAt)
	}
	text := string(encodeInvalid(raw))
	if len(base) > 0 {
		u, err := f.parser.ParseRef(string(encodeInvalid(base)), text)
		if err != nil {
			return dst, fmt.Errorf("%.200q in %.200q is %w: %s", raw, base, ErrURL, reason(err))
		}
		// What is written out in full stays as it is written, for rules that keep it.
		full, err := f.parser.Parse(text)
		if err != nil || full.Href(false) != u.Href(false) {
			text = u.Href(false)
		}
	}
	for range maxRounds {
		form, err := f.parse(text)
		if err != nil {
			return dst[:start], fmt.Errorf("%.200q is %w: %s", raw, ErrURL, reason(err))
		}
		if form == text {
			return append(dst[:start], form...), nil
		}
		var ok bool
		if dst, ok = f.appendCanonical(dst[:start], []byte(form)); ok {
			return dst, nil
		}
		text = form
	}
	return dst[:start], fmt.Errorf("%.200q is %w: it has no canonical form", raw, ErrURL)
}

// reason says why the parser refused a URL, without the URL.
func reason(err error) string {
	t := parserrors.Type(err)
	if t == parserrors.MissingSchemeNonRelativeURL {
		return "it has no scheme, such as https:"
	}
	return string(t)
}

// encodeInvalid percent-encodes the bytes of b that are not UTF-8. The parser
// would put one and the same character for all of them, and keys that differ in
// them would become one.
func encodeInvalid(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	var out []byte
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			out = fmt.Appendf(out, "%%%02X", b[0])
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

// parse applies the rules once.
func (f *URLForm) parse(text string) (string, error) {
	u, err := f.parser.Parse(text)
	if err != nil {
		return "", err
	}
	form := u.Href(!f.config.KeepFragment)
	if !hierarchical[u.Scheme()] {
		return form, nil
	}
	if f.config.KeepHost || f.config.KeepDots {
		form = f.restore(form, text)
	}
	if !f.config.KeepEscapes {
		form = normaliseEscapes(form, len(u.Scheme())+len("://"))
	}
	return form, nil
}

// hierarchical are the schemes whose URLs all have a host and a path of segments
// that mean the same however a character is escaped. The URL standard calls them
// special; file, which it counts among them, has drive letters.
var hierarchical = map[string]bool{"http": true, "https": true, "ws": true, "wss": true, "ftp": true}

// restore puts the host and the path of the text that was parsed back into its
// form, where they are to stay as they were written.
func (f *URLForm) restore(form, text string) string {
	// The parser took these away as well.
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
	was, is := cut(text), cut(form)
	host, path := is.host, is.path
	if f.config.KeepHost {
		host = was.host
	}
	if f.config.KeepDots {
		path = f.parser.PercentEncodeString(strings.ReplaceAll(was.path, `\`, "/"), whatwg.PathPercentEncodeSet)
		if path == "" {
			path = "/"
		}
	}
	return is.before + host + is.between + path + is.rest
}

// parts are the pieces of a hierarchical URL. All of them together are the URL.
type parts struct {
	before  string // scheme, slashes, user and password
	host    string
	between string // port
	path    string
	rest    string // query and fragment
}

// cut takes a URL apart that the parser has accepted, by the parser's borders.
func cut(text string) parts {
	begin := strings.IndexByte(text, ':') + 1
	for begin < len(text) && (text[begin] == '/' || text[begin] == '\\') {
		begin++
	}
	rest := len(text)
	if i := strings.IndexAny(text[begin:], "?#"); i >= 0 {
		rest = begin + i
	}
	path := rest
	if i := strings.IndexAny(text[begin:rest], `/\`); i >= 0 {
		path = begin + i
	}
	host := begin + strings.LastIndexByte(text[begin:path], '@') + 1
	port := path
	if i := strings.LastIndexByte(text[host:path], ':'); i > strings.LastIndexByte(text[host:path], ']') {
		port = host + i
	}
	return parts{text[:host], text[host:port], text[port:path], text[path:rest], text[rest:]}
}

// normaliseEscapes puts the digits of percent escapes in upper case and decodes
// those of characters that need none, from a position behind the scheme on. A
// percent sign that begins no escape could become part of one by what is decoded
// behind it; then nothing is decoded.
func normaliseEscapes(form string, from int) string {
	if strings.IndexByte(form[from:], '%') < 0 {
		return form
	}
	decode := true
	for i := from; i < len(form); i++ {
		if form[i] != '%' {
			continue
		}
		if !isEscape(form[i:]) {
			decode = false
			break
		}
		i += 2
	}
	b := append(make([]byte, 0, len(form)), form[:from]...)
	for i := from; i < len(form); i++ {
		if !isEscape(form[i:]) {
			b = append(b, form[i])
			continue
		}
		c := unhex[form[i+1]]<<4 | unhex[form[i+2]]
		if decode && classes[c]&unreserved != 0 {
			b = append(b, c)
		} else {
			b = append(b, bytes.ToUpper([]byte(form[i:i+3]))...)
		}
		i += 2
	}
	return string(b)
}

// isEscape reports whether s begins with a percent sign and two hex digits.
func isEscape[T string | []byte](s T) bool {
	return len(s) >= 3 && s[0] == '%' && classes[s[1]]&hexDigit != 0 && classes[s[2]]&hexDigit != 0
}
