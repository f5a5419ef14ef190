package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"seen/internal/resp"
	"seen/internal/server/rest"
	"seen/internal/store"
	"seen/internal/web"
)

// Config says what a dashboard shows, and what it gets from the server.
type Config struct {
	Store *store.Store
	// Users decides who may come in.
	Users Users
	// Warn is told what is worth a line in a log; pairs are names and values.
	Warn func(message string, pairs ...any)
	// Ending is closed when the server is about to end.
	Ending <-chan struct{}
	// Now is the clock.
	Now func() time.Time
	// Listed is the number of filters on the overview, the largest; 0 stands for 10,000.
	Listed int
}

// Users are the users of a server. Errors are a *rest.LoginError, or that of the request's
// context.
type Users interface {
	// Enter returns the user of a name and a password.
	Enter(r *http.Request, name, password string) (User, error)
	// Anybody returns the user of requests without a password, nil if all need one.
	Anybody(r *http.Request) (User, error)
}

// A User is somebody who has come in.
type User interface {
	// Name returns the name.
	Name() string
	// Valid reports whether the user still is what it was when it came in: a password
	// that was changed, or a user that was deleted, ends sessions.
	Valid() bool
	// MayAll reports whether the user may run every command, on every value.
	MayAll() bool
	// May reports whether the user may run a command.
	May(words ...string) bool
	// Ask runs a command and returns its reply, of version 3 of the protocol, once it is
	// durable.
	Ask(words ...[]byte) (resp.Value, error)
}

// A Dashboard is the Source of the pages of a server.
type Dashboard struct {
	Config
	filters  filterList
	pastRate pastRate
}

// New returns a dashboard that has not looked at the filters yet.
func New(c Config) *Dashboard {
	if c.Listed == 0 {
		c.Listed = 10_000
	}
	return &Dashboard{Config: c, filters: filterList{store: c.Store, most: c.Listed}}
}

// Keep looks at the filters again if it is time for that. It is to be called about once
// a second.
func (d *Dashboard) Keep() {
	now := d.Now()
	d.filters.keep(now)
	d.pastRate.keep(d.Store, d.Warn, now)
}

// PastRate returns how many filters were past their error rate at the last look. It does
// not wait for the next, which may take seconds where there are millions of filters.
func (d *Dashboard) PastRate() int { return d.pastRate.count() }

// Enter returns who has a name and a password, or why nobody does.
func (d *Dashboard) Enter(r *http.Request, name, password string) (web.Visitor, error) {
	u, err := d.Users.Enter(r, name, password)
	if err != nil {
		return nil, refusedLogin(err)
	}
	return &visitor{d, u}, nil
}

// Anybody returns the default user if it needs no password, and an error if that is not
// for clients of other machines.
func (d *Dashboard) Anybody(r *http.Request) (web.Visitor, error) {
	u, err := d.Users.Anybody(r)
	if u == nil || err != nil {
		return nil, refusedLogin(err)
	}
	return &visitor{d, u}, nil
}

// refusedLogin returns the error of a login as one for visitors.
func refusedLogin(err error) error {
	var refused *rest.LoginError
	if !errors.As(err, &refused) {
		return err
	}
	text := refused.Text
	switch refused.Status {
	case http.StatusUnauthorized:
		text = "The name or the password is wrong."
	case http.StatusTooManyRequests:
		text = fmt.Sprintf("Too many log-ins from your address have failed. Try again in %d s.", refused.Wait)
	}
	return &web.Refused{Status: refused.Status, Text: text}
}

// Done is closed when the server is about to end.
func (d *Dashboard) Done() <-chan struct{} { return d.Ending }
