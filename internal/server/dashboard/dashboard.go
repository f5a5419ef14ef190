package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"seen/internal/resp"
	"seen/internal/server/rest"
	"seen/internal/store"
	"seen/internal/web"
)

// Config is what a dashboard gets from the server.
type Config struct {
	Store *store.Store
	// Users logs visitors in.
	Users Users
	// Warn writes a warning to the log; pairs are names and values.
	Warn func(message string, pairs ...any)
	// Ending is closed when the server begins to shut down.
	Ending <-chan struct{}
	// Now is the clock.
	Now func() time.Time
	// Listed is how many filters the overview lists, the largest first. 0 means 10,000.
	Listed int
}

// Users logs users in. Its errors are a *rest.LoginError or the error of the request's
// context.
type Users interface {
	// Enter returns the user with a name and a password.
	Enter(r *http.Request, name, password string) (User, error)
	// Anybody returns the user for requests without a password, nil if every request needs
	// one.
	Anybody(r *http.Request) (User, error)
}

// A User is a user who has logged in, or does not have to.
type User interface {
	// Name returns the name.
	Name() string
	// Valid reports whether the session may go on: the user still exists, with the same
	// passwords as at the log-in.
	Valid() bool
	// MayAll reports whether the user may run every command on every value.
	MayAll() bool
	// May reports whether the user may run a command.
	May(words ...string) bool
	// MaySome reports whether the user may run a command on values with some names.
	MaySome(command string) bool
	// Ask runs a command and returns its reply (RESP3) once the change is durable.
	Ask(words ...[]byte) (resp.Value, error)
}

// A Dashboard is the web.Source of a server.
type Dashboard struct {
	Config
	filters  filterList
	pastRate pastRate
}

// New returns a dashboard that has not looked at the filters yet.
func New(c Config) *Dashboard {
	c.Listed = cmp.Or(c.Listed, 10_000)
	return &Dashboard{Config: c, filters: filterList{store: c.Store, most: c.Listed}}
}

// Keep looks at the filters again if the last look is old enough. Call it about once a
// second.
func (d *Dashboard) Keep() {
	now := d.Now()
	d.filters.keep(now)
	d.pastRate.keep(d.Store, d.Warn, now)
}

// PastRate returns how many filters were past their error rate at the last look. It does
// not start a look, which may take seconds with millions of filters.
func (d *Dashboard) PastRate() int { return int(d.pastRate.past.Load()) }

// Enter returns the visitor with a name and a password.
func (d *Dashboard) Enter(r *http.Request, name, password string) (web.Visitor, error) {
	u, err := d.Users.Enter(r, name, password)
	if err != nil {
		return nil, refusedLogin(err)
	}
	return &visitor{d, u}, nil
}

// Anybody returns the visitor for requests without a password, nil if every request needs
// one. Its error is for clients on other machines, which always need one.
func (d *Dashboard) Anybody(r *http.Request) (web.Visitor, error) {
	u, err := d.Users.Anybody(r)
	if u == nil || err != nil {
		return nil, refusedLogin(err)
	}
	return &visitor{d, u}, nil
}

// refusedLogin returns the error of a log-in as an error for visitors.
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

// Done is closed when the server begins to shut down.
func (d *Dashboard) Done() <-chan struct{} { return d.Ending }
