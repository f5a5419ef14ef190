package server

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const defaultUserName = "default"

// A user is somebody who may log in. Its rights may be replaced while it is in use.
type user struct {
	name   string
	rights atomic.Pointer[rights]
}

// acl is the list of users.
type acl struct {
	table *table
	file  string

	changing sync.Mutex // held by changes, so that none is lost, before mu

	mu      sync.RWMutex
	users   map[string]*user
	nobody  *user         // the user default, of whom nobody has to ask
	slow    chan struct{} // held while bcrypt runs, so that it does not take all processors
	log     aclLog
	hasSlow bool // a password is a bcrypt hash
}

func newACL(t *table, password, file string) *acl {
	a := &acl{table: t, file: file, users: map[string]*user{}, slow: make(chan struct{}, 1)}
	r := defaultRights(t)
	if password != "" {
		_ = r.apply(t, ">"+password) // any text is a password
	}
	a.nobody = a.put(defaultUserName, r)
	return a
}

// defaultRights are those of the user default until a rule changes them.
func defaultRights(t *table) *rights {
	r := newRights(t)
	r.enabled, r.open, r.allKeys, r.allChannels = true, true, true, true
	r.setAll(true)
	return r
}

// put gives a user its rights, a new one if there is none of that name.
func (a *acl) put(name string, r *rights) *user {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.users[name]
	if u == nil {
		u = &user{name: name}
		a.users[name] = u
	}
	u.rights.Store(r)
	a.hasSlow = false
	for _, u := range a.users {
		a.hasSlow = a.hasSlow || slices.ContainsFunc(u.rights.Load().passwords, passwordHash.slow)
	}
	return u
}

// setPassword makes a password the only one of the user default; "" opens that user
// to everybody.
func (a *acl) setPassword(password string) {
	a.changing.Lock()
	defer a.changing.Unlock()
	r := a.nobody.rights.Load().clone()
	r.passwords, r.open = nil, password == ""
	if password != "" {
		r.passwords = []passwordHash{hashPassword(password)}
	}
	a.put(defaultUserName, r)
}

// get returns the user of a name, nil if there is none.
func (a *acl) get(name string) *user {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.users[name]
}

// list returns all users by their names.
func (a *acl) list() []*user {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.SortedFunc(maps.Values(a.users), func(x, y *user) int { return strings.Compare(x.name, y.name) })
}

// remove removes a user and returns it, nil if there was none.
func (a *acl) remove(name string) *user {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.users[name]
	delete(a.users, name)
	return u
}

// change applies rules to a user, a new one if there is none of that name: all of
// them, or none and a problem with one.
func (a *acl) change(name string, rules []string) (rule, problem string) {
	if !plainPattern(name) {
		return name, "Usernames can't contain spaces or null characters"
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	r := newRights(a.table)
	if u := a.get(name); u != nil {
		r = u.rights.Load().clone()
	}
	for _, rule := range rules {
		if problem := r.apply(a.table, rule); problem != "" {
			return rule, problem
		}
	}
	a.put(name, r)
	return "", ""
}

// open reports whether somebody who has told nothing may use the server.
func (a *acl) open() bool {
	r := a.nobody.rights.Load()
	return r.enabled && r.open
}

// slowSum is the bcrypt hash that is tried for users who do not exist where others
// have one, so that the time of an answer does not tell who exists.
const slowSum = "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"

// authenticate returns the user of a name if it has the password, nil if it has
// not.
func (a *acl) authenticate(name string, password []byte) *user {
	u := a.get(name)
	r := &rights{}
	if u != nil {
		r = u.rights.Load()
	}
	if r.enabled && r.open {
		return u
	}
	a.mu.RLock()
	hasSlow := a.hasSlow
	a.mu.RUnlock()
	sum := hashPassword(string(password)).text
	ok, slow := false, false
	for _, p := range r.passwords {
		slow = slow || p.slow()
		if a.matches(p, password, sum) {
			ok = true
		}
	}
	if hasSlow && !slow {
		a.matches(passwordHash{slowSum}, password, sum)
	}
	if !ok || !r.enabled {
		return nil
	}
	return u
}

func (a *acl) matches(p passwordHash, password []byte, sum string) bool {
	if p.slow() {
		a.slow <- struct{}{}
		defer func() { <-a.slow }()
	}
	return p.matches(password, sum)
}
