package server

import (
	"net/http"
	"slices"

	"seen/internal/web"
)

// pages is what the pages for browsers show of a server.
type pages struct {
	*Server
	board *board
}

// Enter returns who has a name and a password, nil if they are wrong.
func (p *pages) Enter(name, password string) web.Visitor {
	u := p.acl.authenticate(name, []byte(password))
	if u == nil {
		return nil
	}
	return &visitor{pages: p, user: u, passwords: u.rights.Load().passwords}
}

// Anybody returns the user default if it needs no password.
func (p *pages) Anybody() web.Visitor {
	if !p.acl.open() {
		return nil
	}
	return &visitor{pages: p, user: p.acl.nobody, open: true}
}

// Done is closed when the server is about to end.
func (p *pages) Done() <-chan struct{} { return p.stopping }

// A visitor is a user who looks at pages.
type visitor struct {
	*pages
	user      *user
	open      bool // nobody has asked for a password
	passwords []passwordHash
}

// User returns the name.
func (v *visitor) User() string { return v.user.name }

// Valid reports whether the user still is what it was when the visitor came in: a
// password that was changed, or a user that was deleted, ends sessions.
func (v *visitor) Valid() bool {
	r := v.user.rights.Load()
	if v.open {
		return v.acl.open()
	}
	return v.acl.get(v.user.name) == v.user && r.enabled && slices.Equal(r.passwords, v.passwords)
}

// Overview returns the filters that the user may read.
func (v *visitor) Overview() (o web.Overview, err error) {
	r := v.user.rights.Load()
	if d, _ := r.check(v.table.find([][]byte{[]byte("SCAN")}), [][]byte{[]byte("SCAN"), []byte("0")}); d != denyNothing {
		return o, &web.Refused{Status: http.StatusForbidden, Text: "The user " + v.user.name + " may not list filters; that takes the right to SCAN."}
	}
	o.Filters, o.At = v.board.show(v.store, v.config.Now())
	if !r.allKeys || !r.all {
		readable := map[string]bool{} // types that the user may ask about
		for _, k := range valueKinds {
			cmd := v.table.find([][]byte{[]byte(k.info)})
			readable[k.name] = r.all || r.allowed.has(cmd.index)
		}
		o.Filters = slices.DeleteFunc(slices.Clone(o.Filters), func(f *web.Filter) bool {
			return !readable[f.Type] || !r.allKeys && !r.mayUse([]byte(f.Name), reads)
		})
	}
	if d, _ := r.check(v.table.byName["info"], [][]byte{[]byte("INFO")}); d == denyNothing {
		stats := v.store.Stats()
		o.Memory, o.MaxMemory, o.DiskFree = stats.Memory, v.store.MaxMemory(), stats.DiskFree
		o.Lag = uint64(max(stats.Last, stats.Durable) - stats.Durable) // they are read one after the other
		if err := v.store.Failed(); err != nil {
			o.Trouble = err.Error()
		}
	}
	return o, nil
}
