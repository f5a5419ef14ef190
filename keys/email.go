package keys

import (
	"bytes"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// ErrEmail is wrapped by every error about text that is not a mail address.
var ErrEmail = errors.New("not a mail address")

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
// Elsewhere dots and tags stay, since there they can tell two people apart. The form of a
// form is the form itself.
//
// An address has one @ with a user before it and a host after it. A comma, a semicolon,
// white space or < and > are only in a quoted user ("a b"@host), and the host has no quotes
// either: such text is a line of a file with columns, or a list of addresses. What else
// mail servers refuse is an address here.
type EmailConfig struct {
	// KeepHost leaves hosts in the script that they are written in.
	KeepHost bool
	// DropTags drops what follows the first + before the @ at every domain. A quoted
	// user ("a+b"@host) and one that begins with a + stay as they are.
	DropTags bool
}

// AppendEmail appends the canonical form of a mail address under the zero EmailConfig to
// dst. The error is that of [EmailConfig.Append].
func AppendEmail(dst, address []byte) ([]byte, error) { return EmailConfig{}.Append(dst, address) }

// Append appends the canonical form of a mail address to dst. An address with an ASCII host
// costs no allocation. The error, an ErrEmail, names text that is not an address; dst is
// then returned as it was.
func (c EmailConfig) Append(dst, address []byte) ([]byte, error) {
	start := len(dst)
	trimmed := trimEmail(address)
	if what := notEmail(trimmed); what != "" {
		return dst, emailError(address, what)
	}
	dst = c.appendForm(dst, trimmed)
	for {
		// What was left out may have uncovered white space or a dot. Each round but the
		// last makes the form shorter.
		form := trimEmail(dst[start:])
		end := len(dst)
		if len(form) == end-start {
			if what := notEmail(form); what != "" { // nothing is left of ...@gmail.com
				return dst[:start], emailError(address, what)
			}
			return dst, nil
		}
		dst = c.appendForm(dst, form)
		dst = append(dst[:start], dst[end:]...)
	}
}

func emailError(text []byte, what string) error {
	return fmt.Errorf("%.200q is %w: %s", text, ErrEmail, what)
}

// notEmail says why a trimmed text is not a mail address, "" if it is one.
func notEmail(b []byte) string {
	at := bytes.LastIndexByte(b, '@')
	switch {
	case at < 0:
		return "it has no @"
	case at == 0:
		return "it has no user before the @"
	case at == len(b)-1:
		return "it has no host after the @"
	}
	quoted := false
	for i := 0; i < len(b); {
		r, size := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(b[i:])
		}
		switch {
		case r == '"' && i > at:
			return "its host has a quote"
		case r == '"':
			quoted = !quoted
		case quoted && r == '\\' && i+1 < at:
			size = 2 // the next byte is not a quote
		case quoted && i >= at:
			return "a quote does not end before the @"
		case quoted:
		case r == '@' && i != at:
			return "it has more than one @"
		case r == ',' || r == ';' || r == '<' || r == '>':
			return fmt.Sprintf("it has a %q outside quotes", r)
		case r < ' ' || unicode.IsSpace(r):
			return "it has white space outside quotes"
		}
		i += size
	}
	return ""
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
