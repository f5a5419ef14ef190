package acl

import (
	"slices"
	"strings"
)

// Rights are what a user may do and how it proves who it is. They do not change: a
// change of a user replaces them.
type Rights struct {
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
	access Access
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
func newRights(cs *Commands) *Rights {
	return &Rights{allowed: make(set, len(cs.all)/64+1), rules: []string{"-@all"}}
}

// clone returns a copy that may be changed.
func (r *Rights) clone() *Rights {
	c := *r
	c.passwords, c.patterns, c.channels = slices.Clone(r.passwords), slices.Clone(r.patterns), slices.Clone(r.channels)
	c.allowed, c.rules = slices.Clone(r.allowed), slices.Clone(r.rules)
	return &c
}

// work returns about how much work it is to try a password.
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

// Check returns whether the user may run a command with these words, and which word
// is the key that it may not use.
func (r *Rights) Check(cmd *Command, args [][]byte) (d Denial, at int) {
	if !r.all && !r.allowed.has(cmd.index) && !cmd.Free {
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

// mayUse reports whether a pattern allows all of the access to the key.
func (r *Rights) mayUse(key []byte, a Access) bool {
	for _, p := range r.patterns {
		if a&^p.access&(Reads|Writes) == 0 && Match([]byte(p.glob), key) {
			return true
		}
	}
	return false
}

// Open reports whether the user can be used without a password.
func (r *Rights) Open() bool { return r.enabled && r.open }

// NoPassword reports whether any password is the right one, also while the user may not
// log in.
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

// Rules returns the rules about commands, in one line.
func (r *Rights) Rules() string { return strings.Join(r.rules, " ") }

// Describe returns the rules that make these rights, in one line.
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

// Flags are the rules without a parameter.
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

// Keys returns the rules about keys, in one line.
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

// Channels returns the rules about channels, in one line.
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
