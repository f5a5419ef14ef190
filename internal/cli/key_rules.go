package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"seen/bloom"
	"seen/internal/stream/keyspec"
	"seen/keys"
)

// A filter file keeps what build did to its keys, so that check, filter, add and remove do
// the same without being told. Where the key is in a line is of the input, and is not kept.

// rules returns what the flags do to a key.
func (r *recordFlags) rules() (keys.Rules, error) {
	k := &r.key
	url, err := r.url.config()
	if err != nil {
		return keys.Rules{}, err
	}
	email, err := r.email.config()
	if err != nil {
		return keys.Rules{}, err
	}
	rules := keys.Rules{URL: url, Email: email, Trim: k.Trim, Lower: k.Lower, IgnoreCase: k.FoldCase, Encoding: r.keyEncoding()}
	if len(k.Keys) == 1 && !rules.IgnoreCase { // -k 2,2f
		part, err := keyspec.Compile(keyspec.Options{Keys: k.Keys, Separator: k.Separator})
		if err != nil {
			return keys.Rules{}, usageError{err}
		}
		rules.IgnoreCase = part.FoldsCase()
	}
	return rules, nil
}

// keptRules returns rules as the text that a file keeps.
func (r *recordFlags) keptRules() (string, error) {
	rules, err := r.rules()
	if err != nil {
		return "", err
	}
	text := rules.String()
	if len(text) > bloom.MaxRules {
		return "", usagef("the options about keys need %d bytes in the file, which has room for %d; give fewer --url-drop", len(text), bloom.MaxRules)
	}
	return text, nil
}

// setRules sets the flags for rules.
func (r *recordFlags) setRules(rules keys.Rules) {
	k := &r.key
	k.Trim, k.Lower, k.FoldCase = rules.Trim, rules.Lower, rules.IgnoreCase
	if rules.Email != nil {
		r.email = emailFlags{on: true, rules: *rules.Email}
	}
	if rules.URL != nil {
		r.url = urlFlags{on: true, rules: *rules.URL}
	}
	if rules.Encoding != keys.Text {
		r.encoding.Value = string(rules.Encoding)
	}
}

// ruledSet is a filter with the rules that its file keeps, "" if it keeps none.
type ruledSet struct{ name, rules string }

// follow sets the flags to the rules of the filters, unless some are given. Rules that
// contradict each other or the flags are an error: every answer would be "no".
func (r *recordFlags) follow(sets ...ruledSet) error {
	own, err := r.rules()
	if err != nil {
		return err
	}
	asked := own.String()
	given := asked != ""
	var kept keys.Rules
	for i, s := range sets {
		rules, err := keys.ParseRules(s.rules)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if r.encoding.Value == encodingText { // the keys of this input are written as they are
			rules.Encoding = keys.Text
			s.rules = rules.String()
		}
		switch {
		case given && s.rules != "" && s.rules != asked:
			return usagef("the keys of %s were made with %s, not with %s; give the same options about keys, or none", s.name, optionsOf(rules), optionsOf(own))
		case !given && i > 0 && s.rules != kept.String():
			return usagef("the keys of %s were made with %s, and those of %s with %s; give one SET at a time, or the options that fit both",
				sets[0].name, optionsOf(kept), s.name, optionsOf(rules))
		case i == 0:
			kept = rules
		}
	}
	if !given {
		r.setRules(kept)
	}
	return nil
}

// keepIn lets an empty filter without rules keep those of the flags, and tells of one with
// keys that it cannot.
func (r *recordFlags) keepIn(a *app, cmd *cobra.Command, name string, v bloom.View) error {
	rules, err := r.keptRules()
	if err != nil || rules == "" || v.Rules() != "" {
		return err
	}
	if v.Added() == 0 && v.Stats().Ones == 0 {
		return v.SetRules(rules)
	}
	r.sayUnkept(a, cmd, name, rules)
	return nil
}

// sayUnkept tells that a file does not keep the options about keys.
func (r *recordFlags) sayUnkept(a *app, cmd *cobra.Command, name, rules string) {
	if rules != "" && !r.quiet {
		a.say(cmd, "note: %s does not keep how its keys are made; give %s also when you ask it", name, optionsOfRules(rules))
	}
}

// optionsOf returns the options that make keys by rules.
func optionsOf(rules keys.Rules) string {
	var list []string
	add := func(on bool, option string) {
		if on {
			list = append(list, option)
		}
	}
	if u := rules.URL; u != nil {
		add(true, "--url")
		add(u.SortQuery, "--url-sort-query")
		add(u.DropTracking, "--url-drop-tracking")
		for _, name := range u.Drop {
			add(true, "--url-drop "+shellWord(name))
		}
		var kept []string
		for _, part := range urlParts(u) {
			if *part.keep {
				kept = append(kept, part.word)
			}
		}
		add(len(kept) > 0, "--url-keep "+strings.Join(kept, ","))
	}
	if e := rules.Email; e != nil {
		add(true, "--email")
		add(e.KeepHost, "--email-keep "+emailHost)
		add(e.DropTags, "--email-plus")
	}
	add(rules.Trim, "--trim")
	add(rules.Lower, "--lower")
	add(rules.IgnoreCase, "-i")
	add(rules.Encoding != keys.Text, "--key-encoding "+string(rules.Encoding))
	if len(list) == 0 {
		return "no option about keys"
	}
	return strings.Join(list, " ")
}

// shellWord returns s, in quotes if a shell would not read it as one word.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r > ' ' && r <= '~' && !strings.ContainsRune(`"'\$&;<>()|*?[]#~=%!{}`+"`", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// optionsOfRules is optionsOf for the rules in a file. Rules that this version does not know
// are shown as they are.
func optionsOfRules(text string) string {
	rules, err := keys.ParseRules(text)
	if err != nil {
		return fmt.Sprintf("%s (not known to this version)", text)
	}
	return optionsOf(rules)
}
