package keys

// What a byte may be in a canonical URL.
const (
	hostByte   = 1 << iota // in a host that needs no look by the parser
	pathByte               // in a path, by itself, between slashes
	queryByte              // in a query, by itself
	hexDigit               // behind a percent sign
	lowerHex               // a hex digit that is to be in upper case
	unreserved             // never to be escaped, RFC 3986 2.3
)

// classes are the bits of each byte, and unhex the value of a hex digit. Paths
// and queries follow the percent-encode sets of the URL standard; a percent sign
// is in neither, for it depends on what follows.
var classes, unhex = func() (c [256]uint8, h [256]uint8) {
	set := func(bytes string, class uint8) {
		for i := range len(bytes) {
			c[bytes[i]] |= class
		}
	}
	for b := '!'; b <= '~'; b++ {
		c[b] |= pathByte | queryByte
	}
	for _, b := range "\"#<>%" {
		c[b] &^= pathByte | queryByte
	}
	for _, b := range "/?`{}\\" {
		c[b] &^= pathByte
	}
	c['\''] &^= queryByte
	const digits, letters, capitals = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	set(digits+letters+capitals+"-.", hostByte)
	set(digits+letters+capitals+"-._~", unreserved)
	set("0123456789abcdefABCDEF", hexDigit)
	set("abcdef", lowerHex)
	for b := range 16 {
		h["0123456789abcdef"[b]], h["0123456789ABCDEF"[b]] = uint8(b), uint8(b)
	}
	return c, h
}()

// appendCanonical appends the form of an http or https URL that needs no parser,
// before the rules of the query: of what it accepts only the letters of scheme
// and host may have to change, a slash to be added for the path, and the
// fragment to go. It reports false for all others; dst then has to be cut to its
// former length. A fuzz test holds it against the parser.
func (f *URLForm) appendCanonical(dst, raw []byte) ([]byte, bool) {
	scheme := 0
	switch {
	case len(raw) > 8 && raw[4]|0x20 == 's' && string(raw[5:8]) == "://":
		scheme = 5
	case len(raw) > 7 && string(raw[4:7]) == "://":
		scheme = 4
	default:
		return dst, false
	}
	if raw[0]|0x20 != 'h' || raw[1]|0x20 != 't' || raw[2]|0x20 != 't' || raw[3]|0x20 != 'p' {
		return dst, false
	}
	start := scheme + len("://")
	end := start
	for end < len(raw) && classes[raw[end]]&hostByte != 0 {
		end++
	}
	if !f.plainHost(raw[start:end]) {
		return dst, false
	}
	port := end
	if end < len(raw) && raw[end] == ':' {
		if end = f.plainPort(raw, end+1, scheme); end < 0 {
			return dst, false
		}
	}
	if end < len(raw) && raw[end] != '/' && raw[end] != '?' && raw[end] != '#' {
		return dst, false // a byte of a host that the parser has to see
	}
	dst = AppendFold(dst, raw[:port])
	dst = append(dst, raw[port:end]...)
	if end == len(raw) || raw[end] != '/' {
		dst = append(dst, '/')
	}
	return f.appendRest(dst, raw, end)
}

// plainHost reports whether the parser would only put a host in lower case: it
// has labels of letters, digits and hyphens, none is empty or may be punycode,
// and it cannot be an IP address, whose last label begins with a digit.
func (f *URLForm) plainHost(host []byte) bool {
	label := 0 // where it begins
	for i, c := range host {
		if c != '.' {
			if f.config.KeepHost && 'A' <= c && c <= 'Z' {
				return false
			}
			continue
		}
		if !plainLabel(host[label:i]) {
			return false
		}
		label = i + 1
	}
	last := host[label:]
	return plainLabel(last) && (last[0] < '0' || last[0] > '9')
}

func plainLabel(l []byte) bool {
	return len(l) > 0 && l[0] != '-' && l[len(l)-1] != '-' && (len(l) < 4 || l[2] != '-' || l[3] != '-')
}

// plainPort returns where the port that begins at at ends, or -1 where the parser
// might change or refuse it.
func (f *URLForm) plainPort(raw []byte, at, scheme int) int {
	port, begin := 0, at
	for ; at < len(raw) && '0' <= raw[at] && raw[at] <= '9'; at++ {
		if at-begin == 5 {
			return -1
		}
		port = port*10 + int(raw[at]-'0')
	}
	standard := 80
	if scheme == len("https") {
		standard = 443
	}
	if at == begin || raw[begin] == '0' || port > 65535 || port == standard && !f.config.KeepPort {
		return -1
	}
	return at
}

// appendRest appends path and query if nothing has to change in them.
func (f *URLForm) appendRest(dst, raw []byte, from int) ([]byte, bool) {
	at := from
path:
	for at < len(raw) {
		c := raw[at]
		switch {
		case classes[c]&pathByte != 0:
			at++
		case c == '/':
			at++
			if at < len(raw) && raw[at] == '.' && dots(raw[at:]) && !f.config.KeepDots {
				return dst, false
			}
		case c == '%' && f.plainEscape(raw[at:], true):
			at += 3
		default:
			break path
		}
	}
	if at < len(raw) && raw[at] == '?' {
		at++
		for at < len(raw) {
			c := raw[at]
			if classes[c]&queryByte != 0 {
				at++
			} else if c == '%' && f.plainEscape(raw[at:], false) {
				at += 3
			} else {
				break
			}
		}
	}
	if at < len(raw) && (raw[at] != '#' || f.config.KeepFragment) {
		return dst, false
	}
	return append(dst, raw[from:at]...), true
}

// dots reports whether a path that begins with a dot begins with the segment . or
// the segment .. alone.
func dots(path []byte) bool {
	n := 1
	if len(path) > 1 && path[1] == '.' {
		n = 2
	}
	return n == len(path) || path[n] == '/' || path[n] == '?' || path[n] == '#'
}

// plainEscape reports whether b begins with a percent escape that stays as it is.
// In a path that of a dot never does: it is a dot to the parser.
func (f *URLForm) plainEscape(b []byte, path bool) bool {
	if !isEscape(b) {
		return false
	}
	c := unhex[b[1]]<<4 | unhex[b[2]]
	if f.config.KeepEscapes {
		return !path || c != '.'
	}
	return (classes[b[1]]|classes[b[2]])&lowerHex == 0 && classes[c]&unreserved == 0
}
