package keys

import (
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rules Rules
		want  string
	}{
		{Rules{}, ""},
		{Rules{Email: &EmailConfig{}, Trim: true, Lower: true, IgnoreCase: true}, "email"},
		{Rules{Email: &EmailConfig{KeepHost: true, DropTags: true}}, "email email-keep-host email-plus"},
		{Rules{Lower: true, IgnoreCase: true, Trim: true}, "lower trim"},
		{Rules{IgnoreCase: true, Encoding: Hex}, "hex ignore-case"},
		{Rules{URL: &URLConfig{}}, "url"},
		{Rules{URL: &URLConfig{SortQuery: true, Drop: []string{"z", "a b", "é*", "z", "50%"}}}, "url url-drop=%C3%A9* url-drop=50%25 url-drop=a%20b url-drop=z url-sort-query"},
		{Rules{URL: &URLConfig{DropTracking: true, KeepHost: true}, Lower: true}, "lower url url-drop-tracking-1 url-keep-host"},
	} {
		if got := c.rules.String(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.rules, got, c.want)
		}
		again, err := ParseRules(c.want)
		if err != nil || again.String() != c.want {
			t.Errorf("%q: %+v, %v", c.want, again, err)
		}
	}
}

func TestParseRulesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"email rule-17":        `its keys were made by the rule "rule-17", which this version does not know; use a newer one`,
		"url-drop-tracking-2":  `its keys were made by the rule "url-drop-tracking-2", which this version does not know; use a newer one`,
		"hex decimal":          `its keys were made by the rule "decimal", which this version does not know; use a newer one`,
		"email url":            "its keys were made by the rules of URLs and of mail addresses, which exclude each other",
		"url url-drop=%4":      `the parameter "%4" in the rules of keys has an escape without two hexadecimal digits`,
		"url url-drop=%zz":     `the parameter "%zz" in the rules of keys has an escape without two hexadecimal digits`,
		"url url-drop=a*b":     `cannot drop query parameters "a*b": want a name, or the start of one and a star`,
		"url url-drop=":        `cannot drop query parameters "": want a name, or the start of one and a star`,
		"Email":                `its keys were made by the rule "Email", which this version does not know; use a newer one`,
		"url-keep-host urlish": `its keys were made by the rule "urlish", which this version does not know; use a newer one`,
	} {
		r, err := ParseRules(text)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %+v, %v; want %s", text, r, err, want)
		}
		var unknown *UnknownRuleError
		if strings.Contains(want, "newer") && !errors.As(err, &unknown) {
			t.Errorf("%q: %v is not an UnknownRuleError", text, err)
		}
	}
}

// Rules come back from their text, whatever they are.
func TestRulesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Rules
		if rapid.Bool().Draw(t, "url") {
			r.URL = &URLConfig{}
			names := rapid.SliceOf(rapid.StringMatching(`[^*&#=]+\*?`)).Draw(t, "drop")
			slices.Sort(names)
			r.URL.Drop = slices.Compact(names)
		} else if rapid.Bool().Draw(t, "email") {
			r.Email = &EmailConfig{}
		}
		for _, w := range r.words() {
			*w.on = rapid.Bool().Draw(t, w.word)
		}
		r.Encoding = rapid.SampledFrom([]Encoding{Text, Hex, Decimal}).Draw(t, "encoding")
		text := r.String()
		again, err := ParseRules(text)
		if err != nil || again.String() != text {
			t.Fatalf("%+v: %q, which is %+v, %v", r, text, again, err)
		}
		if r.URL != nil && len(again.URL.Drop) != len(r.URL.Drop) {
			t.Fatalf("%q drops %q, want %q", text, again.URL.Drop, r.URL.Drop)
		}
	})
}

func FuzzParseRules(f *testing.F) {
	for _, text := range []string{"", "email", "lower trim", "url url-drop=%C3%A9* url-sort-query", "url-drop=%", "rule-9", "hex decimal"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRules(text)
		if err != nil {
			if r != (Rules{}) {
				t.Errorf("%q: rules and an error, %v", text, err)
			}
			return
		}
		again, err := ParseRules(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q is %q, which is %q, %v", text, r, again, err)
		}
	})
}

// TestTrackingWord: files say with a word that the tracking parameters of one version are
// dropped. A list that changed needs another word: url-drop-tracking-2.
func TestTrackingWord(t *testing.T) {
	h := fnv.New64a()
	for _, name := range TrackingParameters() {
		h.Write([]byte(name + " "))
	}
	if got := h.Sum64(); got != 0x694938098aaeb7fd {
		t.Errorf("the list has the hash %#x; a new list needs a new word in Rules", got)
	}
}
