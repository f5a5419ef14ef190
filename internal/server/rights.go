package server

import (
	"slices"
	"strings"
)

// rights are what a user may do and how it proves who it is. They do not change:
// whoever changes the rights of a user replaces them.
type rights struct {
	enabled   bool
	open      bool // needs no password
	passwords []passwordHash

	allKeys  bool
	patterns []keyPattern

	// Nothing is published here; rules about channels are kept for those who list
	// them.
	allChannels bool
	channels    []string

	allowed set      // commands by their index
	all     bool     // of them
	rules   []string // that made allowed, the first +@all or -@all
}

// keyPattern allows what access says with the keys that match.
type keyPattern struct {
	access access
	glob   string
}

// set is a set of small numbers.
type set []uint64

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s set) put(i int, in bool) {
	if in {
		s[i/64] |= 1 << (i % 64)
	} else {
		s[i/64] &^= 1 << (i % 64)
	}
}

// newRights returns those of a new user: none.
func newRights(t *table) *rights {
	return &rights{allowed: make(set, len(t.commands)/64+1), rules: []string{"-@all"}}
}

// clone returns a copy that may be changed.
func (r *rights) clone() *rights {
	c := *r
	c.passwords, c.patterns, c.channels = slices.Clone(r.passwords), slices.Clone(r.patterns), slices.Clone(r.channels)
	c.allowed, c.rules = slices.Clone(r.allowed), slices.Clone(r.rules)
	return &c
}

// work returns about how much work it is to try a password.
func (r *rights) work() (n uint64) {
	for _, p := range r.passwords {
		n += p.work()
	}
	return n
}

// denial says why a user may not run a command.
type denial uint8

const (
	denyNothing denial = iota
	denyCommand
	denyKey
)

// check returns whether the user may run a command with these words, and which word
// is the key that it may not use.
func (r *rights) check(cmd *command, args [][]byte) (d denial, at int) {
	if !r.all && !r.allowed.has(cmd.index) && cmd.flags&flagNoAuth == 0 {
		return denyCommand, 0
	}
	if r.allKeys {
		return denyNothing, 0
	}
	return r.checkKeys(cmd, args)
}

func (r *rights) checkKeys(cmd *command, args [][]byte) (d denial, at int) {
	cmd.eachKey(args, func(i int, a access) {
		if d == denyNothing && !r.mayUse(args[i], a) {
			d, at = denyKey, i
		}
	})
	return d, at
}

// mayUse reports whether a pattern allows all of the access to the key.
func (r *rights) mayUse(key []byte, a access) bool {
	for _, p := range r.patterns {
		if a&^p.access&(reads|writes) == 0 && globMatch([]byte(p.glob), key) {
			return true
		}
	}
	return false
}

// eachKey calls key with the position of every key and with what becomes of it.
func (cmd *command) eachKey(args [][]byte, key func(at int, a access)) {
	if cmd.keys != nil {
		cmd.keys(args, key)
		return
	}
	if cmd.first == 0 {
		return
	}
	a, last := cmd.accessOfKeys(), cmd.last
	if last < 0 {
		last += len(args)
	}
	for at := cmd.first; at <= last && at < len(args); at += max(cmd.step, 1) {
		key(at, a)
	}
}

// accessOfKeys returns what becomes of keys that the command finds by positions.
func (cmd *command) accessOfKeys() access {
	switch {
	case cmd.access != 0:
		return cmd.access
	case cmd.flags&flagWrite != 0:
		return reads | writes
	}
	return reads
}

// describe returns the rules that make these rights, in one line.
func (r *rights) describe() string {
	words := r.flagWords()
	for _, p := range r.passwords {
		words = append(words, "#"+p.text)
	}
	if keys := r.keysText(); keys != "" {
		words = append(words, keys)
	}
	if !r.allChannels {
		words = append(words, "resetchannels")
	}
	if channels := r.channelsText(); channels != "" {
		words = append(words, channels)
	}
	return strings.Join(append(words, r.rules...), " ")
}

// flagWords are the rules without a parameter.
func (r *rights) flagWords() []string {
	words := []string{"off"}
	if r.enabled {
		words[0] = "on"
	}
	if r.open {
		words = append(words, "nopass")
	}
	return words
}

func (r *rights) keysText() string {
	if r.allKeys {
		return "~*"
	}
	var words []string
	for _, p := range r.patterns {
		words = append(words, map[access]string{reads | writes: "~", reads: "%R~", writes: "%W~"}[p.access]+p.glob)
	}
	return strings.Join(words, " ")
}

func (r *rights) channelsText() string {
	if r.allChannels {
		return "&*"
	}
	var words []string
	for _, c := range r.channels {
		words = append(words, "&"+c)
	}
	return strings.Join(words, " ")
}
