package keys

import (
	"bytes"
	"unicode"
)

// taggedDomains are the mail providers that deliver user+tag@domain to
// user@domain for every user and say so in their documentation.
var taggedDomains = map[string]bool{
	"gmail.com": true, "googlemail.com": true,
	"outlook.com": true, "hotmail.com": true, "live.com": true,
	"icloud.com": true, "me.com": true, "mac.com": true,
	"proton.me": true, "protonmail.com": true, "pm.me": true,
	"fastmail.com": true,
}

// AppendEmail appends the canonical form of a mail address to dst. White space
// around the address goes, and of "Name <user@host>" only the address stays. All
// of it becomes lower case (by Unicode) and the domain loses final dots. At
// providers known to deliver user+tag to user (Gmail, Outlook, iCloud, Proton,
// Fastmail under their own domains) the tag goes; at Gmail the dots before the @
// go too, and googlemail.com becomes gmail.com. Elsewhere dots and tags stay,
// since there they can tell two people apart. Text without an @ is trimmed and
// in lower case. Text that is not an address is treated alike, and the canonical form of a
// canonical form is itself, whatever the text.
func AppendEmail(dst, address []byte) []byte {
	start := len(dst)
	dst = AppendLower(dst, bareAddress(address))
	for n := -1; n != len(dst); {
		// What one step leaves out may uncover what another would: a dot behind a bracket,
		// white space behind a dot. Nothing is ever added, so that it ends.
		n = len(dst)
		dst = shortenEmail(dst, start)
	}
	return dst
}

// bareAddress returns the address of "Name <address>", without white space around it.
func bareAddress(b []byte) []byte {
	b = bytes.TrimSpace(b)
	if n := len(b) - 1; n > 0 && b[n] == '>' {
		if open := bytes.LastIndexByte(b, '<'); open >= 0 {
			b = bytes.TrimSpace(b[open+1 : n])
		}
	}
	return b
}

// shortenEmail takes out of the address that begins at start what does not tell it
// from others. What stays only moves towards the front.
func shortenEmail(dst []byte, start int) []byte {
	b := bareAddress(dst[start:])
	dst = append(dst[:start], b...)
	b = dst[start:]
	at := bytes.LastIndexByte(b, '@')
	if at < 0 {
		return dst
	}
	local, domain := b[:at], bytes.TrimRightFunc(b[at+1:], func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
	if !taggedDomains[string(domain)] || at == 0 || local[0] == '"' {
		return dst[:start+at+1+len(domain)]
	}
	if plus := bytes.IndexByte(local, '+'); plus > 0 {
		local = local[:plus]
	}
	gmail := string(domain) == "gmail.com" || string(domain) == "googlemail.com"
	dst = dst[:start]
	for _, c := range local {
		if c != '.' || !gmail {
			dst = append(dst, c)
		}
	}
	dst = append(dst, '@')
	if gmail {
		return append(dst, "gmail.com"...)
	}
	return append(dst, domain...)
}
