package server

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const defaultUserName = "default"

// A user is somebody who may log in. Its rights may be replaced while it is in use.
type user struct {
	name   string
	rights atomic.Pointer[rights]
}

// acl is the list of users.
type acl struct {
	table  *table
	file   string
	logins *logins
	// changed is called after every change, without a lock.
	changed func()

	changing sync.Mutex // held by changes, so that none is lost, before mu

	mu     sync.RWMutex
	users  map[string]*user
	nobody *user // the default user, for clients that do not log in
	log    aclLog
}

func newACL(t *table, password, file string, now func() time.Time) *acl {
	a := &acl{table: t, file: file, users: map[string]*user{}, logins: newLogins(now), changed: func() {}}
	a.nobody = &user{name: defaultUserName}
	a.nobody.rights.Store(defaultRights(t, password))
	a.users[defaultUserName] = a.nobody
	return a
}

// defaultRights are those of the default user until a rule changes them. The password
// "" opens it to everybody.
func defaultRights(t *table, password string) *rights {
	r := newRights(t)
	r.enabled, r.allKeys, r.allChannels = true, true, true
	r.setAll(true)
	r.setPassword(password)
	return r
}

// setPassword makes a password the only one; "" means that none is needed.
func (r *rights) setPassword(password string) {
	r.passwords, r.open = nil, password == ""
	if password != "" {
		r.passwords = []passwordHash{hashPassword(password)}
	}
}

// update makes a change to the users, under the lock. What was found out about
// passwords is forgotten.
func (a *acl) update(change func()) {
	a.mu.Lock()
	change()
	work := uint64(0) // of the user whose passwords take longest to try
	for _, u := range a.users {
		work = max(work, u.rights.Load().work())
	}
	a.logins.forget(work)
	a.mu.Unlock()
	a.changed()
}

// put gives a user its rights, a new one if there is none of that name. mu is held.
func (a *acl) put(name string, r *rights) {
	u := a.users[name]
	if u == nil {
		u = &user{name: name}
		a.users[name] = u
	}
	u.rights.Store(r)
}

// setPassword makes a password the only one of the default user; "" opens that user
// to everybody.
func (a *acl) setPassword(password string) {
	a.changing.Lock()
	defer a.changing.Unlock()
	r := a.nobody.rights.Load().clone()
	r.setPassword(password)
	a.update(func() { a.put(defaultUserName, r) })
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
func (a *acl) remove(name string) (gone *user) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.update(func() {
		gone = a.users[name]
		delete(a.users, name)
	})
	return gone
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
	a.update(func() { a.put(name, r) })
	return "", ""
}

// open reports whether clients that do not log in may use the server.
func (a *acl) open() bool {
	r := a.nobody.rights.Load()
	return r.enabled && r.open
}
