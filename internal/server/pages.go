package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"seen/internal/web"
)

// pages is what the pages for browsers show of a server.
type pages struct {
	*Server
	board *board
}

// Enter returns who has a name and a password, or why nobody does.
func (p *pages) Enter(r *http.Request, name, password string) (web.Visitor, error) {
	from := p.placeOfRequest(r)
	u, err := p.acl.authenticate(r.Context(), name, []byte(password), from.key, from.far)
	var tooMany *tooManyFailures
	switch {
	case errors.Is(err, errWrong):
		return nil, &web.Refused{Status: http.StatusUnauthorized, Text: "The name or the password is wrong."}
	case errors.As(err, &tooMany):
		return nil, &web.Refused{Status: http.StatusTooManyRequests, Text: fmt.Sprintf("Too many log-ins from your address have failed. Try again in %d s.", tooMany.seconds())}
	case errors.Is(err, errFar):
		return nil, &web.Refused{Status: http.StatusForbidden, Text: denied}
	case err != nil:
		return nil, err
	}
	return &visitor{pages: p, user: u, far: from.far, passwords: u.rights.Load().passwords}, nil
}

// Anybody returns the default user if it needs no password, and an error if that is not
// for clients of other machines.
func (p *pages) Anybody(r *http.Request) (web.Visitor, error) {
	if !p.acl.open() {
		return nil, nil
	}
	if p.placeOfRequest(r).far {
		p.noteFar(r.RemoteAddr)
		return nil, &web.Refused{Status: http.StatusForbidden, Text: denied}
	}
	return &visitor{pages: p, user: p.acl.nobody, open: true}, nil
}

// Done is closed when the server is about to end.
func (p *pages) Done() <-chan struct{} { return p.stopping }

// A visitor is a user who looks at pages.
type visitor struct {
	*pages
	user      *user
	open      bool // nobody has asked for a password
	far       bool // came in from another machine
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
	return v.acl.get(v.user.name) == v.user && r.enabled && slices.Equal(r.passwords, v.passwords) && !(v.far && r.open)
}

// Overview returns the filters that the user may read.
func (v *visitor) Overview() (o web.Overview, err error) {
	r := v.user.rights.Load()
	if d, _ := r.check(v.table.find([][]byte{[]byte("SCAN")}), [][]byte{[]byte("SCAN"), []byte("0")}); d != denyNothing {
		return o, &web.Refused{Status: http.StatusForbidden, Text: "The user " + v.user.name + " may not list filters; that takes the right to SCAN."}
	}
	o.Filters, o.Others, o.At = v.board.show(v.store, v.config.Now())
	o.Partial = o.Others > 0
	if !r.allKeys || !r.all {
		readable := map[string]bool{} // types that the user may ask about
		for _, k := range valueKinds {
			cmd := v.table.find([][]byte{[]byte(k.info)})
			readable[k.name] = r.all || r.allowed.has(cmd.index)
		}
		o.Filters = slices.DeleteFunc(slices.Clone(o.Filters), func(f *web.Filter) bool {
			return !readable[f.Type] || !r.allKeys && !r.mayUse([]byte(f.Name), reads)
		})
		o.Others = 0 // which of them the user may read is not known
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
