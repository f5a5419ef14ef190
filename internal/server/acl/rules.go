package acl

import (
	"slices"
	"strings"
)

// Error texts of Redis.
const (
	badName        = "Usernames can't contain spaces or null characters"
	badRule        = "Syntax error"
	unknownRule    = "Unknown command or category name in ACL"
	uselessPattern = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. " +
		"Try 'resetkeys' to start with an empty list of patterns"
	uselessChannel = "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. " +
		"Try 'resetchannels' to start with an empty list of channels"
	badHash       = "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
	noSuchHash    = "The password you are trying to remove from the user does not exist"
	firstArgOfSub = "Allowing first-arg of a subcommand is not supported"
)

// apply changes the rights by one rule and returns what is wrong with the rule, "" if
// nothing is. Selectors and rules about the first argument of a command are not supported.
func (r *Rights) apply(cs *Commands, rule string) (problem string) {
	switch strings.ToLower(rule) {
	case "":
		return badRule
	case "on", "off":
		r.enabled = strings.EqualFold(rule, "on")
	case "nopass":
		r.open, r.passwords = true, nil
	case "resetpass":
		r.open, r.passwords = false, nil
	case "allkeys":
		r.allKeys, r.patterns = true, nil
	case "resetkeys":
		r.allKeys, r.patterns = false, nil
	case "allchannels":
		r.allChannels, r.channels = true, nil
	case "resetchannels":
		r.allChannels, r.channels = false, nil
	case "allcommands":
		r.setAll(true)
	case "nocommands":
		r.setAll(false)
	case "sanitize-payload":
		// Payloads are always checked.
	case "clearselectors":
		// There are no selectors.
	case "reset":
		*r = *newRights(cs)
	default:
		return r.applyPrefixed(cs, rule)
	}
	return ""
}

func (r *Rights) applyPrefixed(cs *Commands, rule string) (problem string) {
	text := rule[1:]
	switch rule[0] {
	case '>', '<', '#', '!':
		return r.applyPassword(rule[0], text)
	case '~':
		return r.addPattern(Reads|Writes, text)
	case '%':
		kind, glob, ok := strings.Cut(text, "~")
		a, known := map[string]Access{"R": Reads, "W": Writes, "RW": Reads | Writes, "WR": Reads | Writes}[strings.ToUpper(kind)]
		if !ok || !known {
			return badRule
		}
		return r.addPattern(a, glob)
	case '&':
		switch {
		case !plain(text):
			return badRule
		case r.allChannels:
			return uselessChannel
		case text == "*":
			r.allChannels, r.channels = true, nil
		case !slices.Contains(r.channels, text):
			r.channels = append(r.channels, text)
		}
	case '+', '-':
		if category, ok := strings.CutPrefix(text, "@"); ok {
			return r.applyCategory(cs, rule[0] == '+', strings.ToLower(category))
		}
		return r.applyCommand(cs, rule[0] == '+', strings.ToLower(text))
	default:
		return badRule
	}
	return ""
}

// NameProblem returns what is wrong with the name of a user, "" if nothing is.
func NameProblem(name string) string {
	if !plain(name) {
		return badName
	}
	return ""
}

// plain reports whether a name or pattern can be a word on a line of a file.
func plain(text string) bool { return !strings.ContainsAny(text, " \x00\t\n\v\f\r") }

func (r *Rights) addPattern(a Access, glob string) (problem string) {
	switch {
	case !plain(glob):
		return badRule
	case r.allKeys:
		return uselessPattern
	case glob == "*" && a == Reads|Writes:
		r.allKeys, r.patterns = true, nil
		return ""
	}
	for i, p := range r.patterns {
		if p.glob == glob {
			r.patterns[i].access |= a
			return ""
		}
	}
	r.patterns = append(r.patterns, keyPattern{a, glob})
	return ""
}

func (r *Rights) applyPassword(kind byte, text string) (problem string) {
	var p passwordHash
	if kind == '>' || kind == '<' {
		p = hashPassword(text)
	} else if p.text = text; !p.valid() {
		return badHash
	}
	at := slices.Index(r.passwords, p)
	switch {
	case kind == '>' || kind == '#':
		if at < 0 {
			r.passwords = append(r.passwords, p)
		}
		r.open = false
	case at < 0:
		return noSuchHash
	default:
		r.passwords = slices.Delete(r.passwords, at, at+1)
	}
	return ""
}

func (r *Rights) setAll(in bool) {
	for i := range r.allowed {
		r.allowed[i] = in
	}
	r.all = in
	r.rules = []string{sign(in) + "@all"}
}

func sign(in bool) string {
	if in {
		return "+"
	}
	return "-"
}

func (r *Rights) applyCategory(cs *Commands, in bool, name string) (problem string) {
	if name == "all" {
		r.setAll(in)
		return ""
	}
	commands, ok := cs.Category(name)
	if !ok {
		return unknownRule
	}
	for _, cmd := range commands {
		r.put(cmd, in)
	}
	r.addRule(in, "@"+name)
	return ""
}

func (r *Rights) applyCommand(cs *Commands, in bool, name string) (problem string) {
	name, sub, hasSub := strings.Cut(name, "|")
	cmd := cs.byName[name]
	if cmd == nil {
		return unknownRule
	}
	if hasSub {
		switch {
		case strings.Contains(sub, "|"):
			return firstArgOfSub
		case sub == "" || cmd.Subs == nil:
			return badRule
		case cmd.Subs[sub] == nil:
			return unknownRule
		}
		cmd = cmd.Subs[sub]
	}
	r.put(cmd, in)
	r.addRule(in, cmd.Name)
	return ""
}

func (r *Rights) put(cmd *Command, in bool) {
	r.allowed[cmd.index] = in
	for _, sub := range cmd.Subs {
		r.allowed[sub.index] = in
	}
	if !in {
		r.all = false
	}
}

// addRule adds a rule and removes those that it overrides.
func (r *Rights) addRule(in bool, what string) {
	r.rules = slices.DeleteFunc(r.rules, func(old string) bool {
		return old[1:] == what || strings.HasPrefix(old[1:], what+"|")
	})
	r.rules = append(r.rules, sign(in)+what)
}
