package keys

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Rules says what is done to a key before it is added to a filter or looked up in one: what
// "seen build" did by its options. Rules are stored with a filter as a text, see
// [Rules.String] and SetRules of package bloom. They are applied in the order of the fields;
// the zero value leaves keys as they are.
type Rules struct {
	URL        *URLConfig   // the canonical form of a URL, URLForm.Append, unless nil
	Email      *EmailConfig // the canonical form of a mail address, unless nil; includes the next three
	Trim       bool         // white space goes from both ends, bytes.TrimSpace
	Lower      bool         // lower case by Unicode, AppendLower; includes the next one
	IgnoreCase bool         // lower case of A to Z, AppendFold
	Encoding   Encoding     // what bytes the text of the key means
}

// Encoding says what bytes the text of a key means.
type Encoding string

const (
	Text    Encoding = ""        // its own bytes
	Hex     Encoding = "hex"     // two hexadecimal digits for each byte
	Decimal Encoding = "decimal" // a whole number, as 8 bytes in two's complement, little-endian
)

// UnknownRuleError says that keys were made by a rule that this version does not know.
type UnknownRuleError struct{ Rule string }

func (e *UnknownRuleError) Error() string {
	return fmt.Sprintf("its keys were made by the rule %q, which this version does not know; use a newer one", e.Rule)
}

// words lists the rules that are on or off with their words, which files contain. A rule
// whose result changes gets another word.
func (r *Rules) words() []ruleWord {
	u := r.URL
	if u == nil {
		u = new(URLConfig)
	}
	e := r.Email
	if e == nil {
		e = new(EmailConfig)
	}
	return []ruleWord{
		{"trim", &r.Trim}, {"lower", &r.Lower}, {"ignore-case", &r.IgnoreCase},
		{"email-keep-host", &e.KeepHost}, {"email-plus", &e.DropTags},
		{"url-keep-host", &u.KeepHost}, {"url-keep-port", &u.KeepPort}, {"url-keep-dots", &u.KeepDots},
		{"url-keep-escapes", &u.KeepEscapes}, {"url-keep-fragment", &u.KeepFragment},
		{"url-sort-query", &u.SortQuery}, {"url-drop-tracking-1", &u.DropTracking},
	}
}

type ruleWord struct {
	word string
	on   *bool
}

const (
	emailWord = "email"
	urlWord   = "url"
	dropWord  = "url-drop=" // a parameter follows
)

// String returns the rules as words with blanks between them, in ascending order: "" for the
// zero value, "email", "url url-drop=ref url-sort-query". Rules with the same effect on every
// key have the same text, as far as their fields say so.
func (r Rules) String() string {
	if r.Email != nil {
		r.Trim, r.Lower, r.IgnoreCase = false, false, false
	}
	r.IgnoreCase = r.IgnoreCase && !r.Lower
	var list []string
	for _, w := range r.words() {
		if *w.on {
			list = append(list, w.word)
		}
	}
	if r.Email != nil {
		list = append(list, emailWord)
	}
	if r.URL != nil {
		list = append(list, urlWord)
		for _, name := range r.URL.Drop {
			list = append(list, dropWord+escapeName(name))
		}
	}
	if r.Encoding != Text {
		list = append(list, string(r.Encoding))
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

// ParseRules returns the rules that [Rules.String] wrote, by this version or another. An
// [UnknownRuleError] names a rule of a later version; without knowing it, no key can be
// looked up.
func ParseRules(text string) (Rules, error) {
	var r Rules
	var u URLConfig
	var e EmailConfig
	isURL, isEmail := false, false
	r.URL, r.Email = &u, &e // for words
	for word := range strings.FieldsSeq(text) {
		known := slices.ContainsFunc(r.words(), func(w ruleWord) bool {
			if w.word == word {
				*w.on = true
			}
			return w.word == word
		})
		name, isDrop := strings.CutPrefix(word, dropWord)
		switch {
		case known, word == urlWord, word == emailWord:
		case isDrop:
			name, err := unescapeName(name)
			if err != nil {
				return Rules{}, err
			}
			u.Drop = append(u.Drop, name)
		case (word == string(Hex) || word == string(Decimal)) && r.Encoding == Text:
			r.Encoding = Encoding(word)
		default:
			return Rules{}, &UnknownRuleError{word}
		}
		isURL = isURL || strings.HasPrefix(word, urlWord)
		isEmail = isEmail || strings.HasPrefix(word, emailWord)
	}
	if !isURL {
		r.URL = nil
	} else if _, err := NewURL(u); err != nil {
		return Rules{}, err
	}
	if !isEmail {
		r.Email = nil
	}
	if isEmail && isURL {
		return Rules{}, errors.New("its keys were made by the rules of URLs and of mail addresses, which exclude each other")
	}
	return r, nil
}

// escapeName writes the name of a parameter without blanks and other bytes that a text of
// rules cannot have.
func escapeName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescapeName reverses escapeName.
func unescapeName(text string) (string, error) {
	var b strings.Builder
	for rest := text; rest != ""; {
		before, after, escaped := strings.Cut(rest, "%")
		b.WriteString(before)
		if rest = after; escaped {
			c, err := hex.DecodeString(after[:min(2, len(after))])
			if err != nil || len(c) != 1 {
				return "", fmt.Errorf("the parameter %q in the rules of keys has an escape without two hexadecimal digits", text)
			}
			b.Write(c)
			rest = after[2:]
		}
	}
	return b.String(), nil
}
