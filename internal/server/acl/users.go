package acl

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultName is the name of the default user.
const DefaultName = "default"

// A User may log in. Its rights may be replaced while it is in use.
type User struct {
	Name   string
	rights atomic.Pointer[Rights]
}

// Rights returns what the user may do now.
func (u *User) Rights() *Rights { return u.rights.Load() }

// Users are all users of a server.
type Users struct {
	// Default is the default user, for clients that do not log in.
	Default *User
	// File is the path of the ACL file, "" for none.
	File string
	// Log has what was denied.
	Log Log
	// Changed is called after every change, without locks held. Set it before the first
	// change.
	Changed func()

	commands *Commands
	logins   *logins

	changing sync.Mutex // serializes changes; locked before mu

	mu    sync.RWMutex
	users map[string]*User
}

// NewUsers returns a list with the default user, who may do everything and needs the
// password; "" means no password. Save writes the file; NewUsers does not read it.
func NewUsers(cs *Commands, password, file string, now func() time.Time) *Users {
	a := &Users{
		Default: &User{Name: DefaultName}, File: file, Changed: func() {},
		commands: cs, logins: newLogins(now), users: map[string]*User{},
	}
	r := newRights(cs)
	r.enabled, r.allKeys, r.allChannels = true, true, true
	r.setAll(true)
	r.setPassword(password)
	a.Default.rights.Store(r)
	a.users[DefaultName] = a.Default
	return a
}

// setPassword sets the only password; "" means that no password is needed.
func (r *Rights) setPassword(password string) {
	r.passwords, r.open = nil, password == ""
	if password != "" {
		r.passwords = []passwordHash{hashPassword(password)}
	}
}

// update applies a change and forgets the results for passwords.
func (a *Users) update(change func()) {
	a.mu.Lock()
	change()
	work := uint64(0) // of the slowest user
	for _, u := range a.users {
		work = max(work, u.Rights().work())
	}
	a.logins.forget(work)
	a.mu.Unlock()
	a.Changed()
}

// put sets the rights of a user and creates the user if necessary. mu is held.
func (a *Users) put(name string, r *Rights) {
	u := a.users[name]
	if u == nil {
		u = &User{Name: name}
		a.users[name] = u
	}
	u.rights.Store(r)
}

// SetPassword sets the only password of the default user; "" means that no password is
// needed.
func (a *Users) SetPassword(password string) {
	a.changing.Lock()
	defer a.changing.Unlock()
	r := a.Default.Rights().clone()
	r.setPassword(password)
	a.update(func() { a.put(DefaultName, r) })
}

// Get returns the user of a name, nil if there is none.
func (a *Users) Get(name string) *User {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.users[name]
}

// List returns all users, sorted by name.
func (a *Users) List() []*User {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return slices.SortedFunc(maps.Values(a.users), func(x, y *User) int { return strings.Compare(x.Name, y.Name) })
}

// Remove removes a user and returns it, nil if there was none.
func (a *Users) Remove(name string) (gone *User) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.update(func() {
		gone = a.users[name]
		delete(a.users, name)
	})
	return gone
}

// Change applies rules to a user and creates the user if necessary. If a rule is wrong, it
// changes nothing and returns the rule and the problem.
func (a *Users) Change(name string, rules []string) (rule, problem string) {
	if problem := NameProblem(name); problem != "" {
		return name, problem
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	r := newRights(a.commands)
	if u := a.Get(name); u != nil {
		r = u.Rights().clone()
	}
	for _, rule := range rules {
		if problem := r.apply(a.commands, rule); problem != "" {
			return rule, problem
		}
	}
	a.update(func() { a.put(name, r) })
	return "", ""
}

// Open reports whether clients can use the server without logging in.
func (a *Users) Open() bool {
	return a.Default.Rights().Open()
}
