package acl

import (
	"slices"
	"strings"
)

// Rights are what a user may do and the passwords of the user. They do not change: a
// change of a user replaces them.
type Rights struct {
	enabled   bool
	open      bool // needs no password
	passwords []passwordHash

	allKeys  bool
	patterns []keyPattern

	// The server has no channels; the rules are kept so that they can be listed.
	allChannels bool
	channels    []string

	allowed []bool   // commands by index
	all     bool     // every command is allowed
	rules   []string // that led to allowed, the first +@all or -@all
}

// keyPattern allows access to the keys that match.
type keyPattern struct {
	access Access
	glob   string
}

// newRights returns the rights of a new user: nothing is allowed.
func newRights(cs *Commands) *Rights {
	return &Rights{allowed: make([]bool, len(cs.all)), rules: []string{"-@all"}}
}

// clone returns a copy that may be changed.
func (r *Rights) clone() *Rights {
	c := *r
	c.passwords, c.patterns, c.channels = slices.Clone(r.passwords), slices.Clone(r.patterns), slices.Clone(r.channels)
	c.allowed, c.rules = slices.Clone(r.allowed), slices.Clone(r.rules)
	return &c
}

// work returns the cost of trying a password.
func (r *Rights) work() (n uint64) {
	for _, p := range r.passwords {
		n += p.work()
	}
	return n
}

// Denial says why a user may not run a command.
type Denial uint8

// What a user may not do.
const (
	Allowed       Denial = iota
	DeniedCommand        // the command
	DeniedKey            // a key
)

// Check returns whether the user may run a command with these words, and the index of the
// denied key.
func (r *Rights) Check(cmd *Command, args [][]byte) (d Denial, at int) {
	if !r.all && !r.allowed[cmd.index] && !cmd.Free {
		return DeniedCommand, 0
	}
	if r.allKeys {
		return Allowed, 0
	}
	return r.checkKeys(cmd, args)
}

func (r *Rights) checkKeys(cmd *Command, args [][]byte) (d Denial, at int) {
	cmd.Keys(args, func(i int, a Access) {
		if d == Allowed && !r.mayUse(args[i], a) {
			d, at = DeniedKey, i
		}
	})
	return d, at
}

func (r *Rights) mayUse(key []byte, a Access) bool {
	for _, p := range r.patterns {
		if a&^p.access&(Reads|Writes) == 0 && Match([]byte(p.glob), key) {
			return true
		}
	}
	return false
}

// Open reports whether anybody can log in as the user, without a password.
func (r *Rights) Open() bool { return r.enabled && r.open }

// NoPassword reports whether every password is accepted, even if the user is disabled.
func (r *Rights) NoPassword() bool { return r.open }

// All reports whether the user may run every command on every key.
func (r *Rights) All() bool { return r.all && r.allKeys }

// Passwords returns the hashes of the passwords.
func (r *Rights) Passwords() (hashes []string) {
	for _, p := range r.passwords {
		hashes = append(hashes, p.text)
	}
	return hashes
}

// Rules returns the rules about commands on one line.
func (r *Rights) Rules() string { return strings.Join(r.rules, " ") }

// Describe returns all rules of the user on one line.
func (r *Rights) Describe() string {
	words := r.Flags()
	for _, p := range r.passwords {
		words = append(words, "#"+p.text)
	}
	if keys := r.Keys(); keys != "" {
		words = append(words, keys)
	}
	if !r.allChannels {
		words = append(words, "resetchannels")
	}
	if channels := r.Channels(); channels != "" {
		words = append(words, channels)
	}
	return strings.Join(append(words, r.rules...), " ")
}

// Flags returns the rules without a parameter.
func (r *Rights) Flags() []string {
	words := []string{"off"}
	if r.enabled {
		words[0] = "on"
	}
	if r.open {
		words = append(words, "nopass")
	}
	return words
}

// Keys returns the rules about keys on one line.
func (r *Rights) Keys() string {
	if r.allKeys {
		return "~*"
	}
	var words []string
	for _, p := range r.patterns {
		words = append(words, map[Access]string{Reads | Writes: "~", Reads: "%R~", Writes: "%W~"}[p.access]+p.glob)
	}
	return strings.Join(words, " ")
}

// Channels returns the rules about channels on one line.
func (r *Rights) Channels() string {
	if r.allChannels {
		return "&*"
	}
	var words []string
	for _, c := range r.channels {
		words = append(words, "&"+c)
	}
	return strings.Join(words, " ")
}
