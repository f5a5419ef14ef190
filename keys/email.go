package keys

import (
	"bytes"
	"unicode"

	"golang.org/x/net/idna"
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

// EmailConfig says which of the spellings of a mail address are one key. The zero value
// is what reaches one person as far as that is known:
//
//   - white space around the address goes, and of "Name <user@host>" (RFC 5322 3.4)
//     only the address stays
//   - everything is in lower case, by Unicode: the host is without case (RFC 5321
//     2.4), and no large provider tells users apart by case
//   - the host is in punycode, as mail servers look it up (RFC 6531 3.7.1), by the rules
//     that URLs have here (UTS 46); final dots go. A host that these rules refuse
//     stays as it is, in lower case (KeepHost)
//   - at providers known to deliver user+tag to user the tag goes (RFC 5233 calls it the
//     detail): Gmail, Outlook, iCloud, Proton and Fastmail under their own domains
//   - at Gmail the dots before the @ go too, and googlemail.com becomes gmail.com
//
// Elsewhere dots and tags stay, since there they can tell two people apart. Text without
// an @ is trimmed and in lower case. Text that is not an address is treated alike, and the
// form of a form is the form itself, whatever the text.
type EmailConfig struct {
	// KeepHost leaves hosts in the script that they are written in.
	KeepHost bool
	// DropTags drops what follows the first + before the @ at every domain. A quoted
	// user ("a+b"@host) and one that begins with a + stay as they are.
	DropTags bool
}

// AppendEmail appends the canonical form of a mail address under the zero EmailConfig to
// dst.
func AppendEmail(dst, address []byte) []byte { return EmailConfig{}.Append(dst, address) }

// Append appends the canonical form of a mail address to dst. An address with an ASCII host
// costs no allocation.
func (c EmailConfig) Append(dst, address []byte) []byte {
	start := len(dst)
	dst = c.appendForm(dst, trimEmail(address))
	for {
		// What was left out may have uncovered white space or a dot. Each round but the
		// last makes the form shorter.
		form := trimEmail(dst[start:])
		end := len(dst)
		if len(form) == end-start {
			return dst
		}
		dst = c.appendForm(dst, form)
		dst = append(dst[:start], dst[end:]...)
	}
}

// trimEmail returns the address in b without what is around it.
func trimEmail(b []byte) []byte {
	for n := -1; n != len(b); {
		n = len(b)
		b = bareAddress(b)
		if bytes.IndexByte(b, '@') >= 0 {
			b = bytes.TrimRightFunc(b, func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
		}
	}
	return b
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

// appendForm appends what stays of an address that is trimmed.
func (c EmailConfig) appendForm(dst, address []byte) []byte {
	at := bytes.LastIndexByte(address, '@')
	if at < 0 {
		return AppendLower(dst, address)
	}
	start := len(dst)
	dst = AppendLower(dst, address[:at])
	end := len(dst)
	dst = append(dst, '@')
	dst = c.appendHost(dst, address[at+1:])
	user, host := dst[start:end], dst[end+1:]
	if !c.DropTags && !taggedDomains[string(host)] || len(user) == 0 || user[0] == '"' {
		return dst
	}
	if plus := bytes.IndexByte(user, '+'); plus > 0 {
		user = user[:plus]
	}
	gmail := string(host) == "gmail.com" || string(host) == "googlemail.com"
	dst = dst[:start] // what stays only moves towards the front
	for _, b := range user {
		if b != '.' || !gmail {
			dst = append(dst, b)
		}
	}
	dst = append(dst, '@')
	if gmail {
		return append(dst, "gmail.com"...)
	}
	return append(dst, host...)
}

// maxHost is the length in bytes beyond which a host is not converted: the time for that
// grows with the square of its length, strangers write addresses, and the longest name of
// the DNS has 253 bytes in punycode, which is less than this in any script.
const maxHost = 1024

// hosts converts hosts as the parser of URLs does: by UTS 46, not transitional, without
// limits on the length of names.
var hosts = idna.New(
	idna.MapForLookup(), idna.BidiRule(), idna.VerifyDNSLength(false), idna.StrictDomainName(true),
	idna.ValidateLabels(true), idna.CheckHyphens(false), idna.CheckJoiners(true), idna.Transitional(false),
)

// appendHost appends a host in lower case and in punycode. What is ASCII already is only
// put in lower case, so that the form of a form is itself.
func (c EmailConfig) appendHost(dst, host []byte) []byte {
	if !c.KeepHost && len(host) <= maxHost && ASCII(host) < len(host) {
		if form, err := hosts.ToASCII(string(host)); err == nil {
			return append(dst, form...)
		}
	}
	return AppendLower(dst, host)
}
