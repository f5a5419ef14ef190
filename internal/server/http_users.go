package server

import (
	"errors"
	"net/http"
	"slices"

	"seen/internal/resp"
	"seen/internal/server/dashboard"
	"seen/internal/server/rest"
)

// enter returns the user of a request with a name and a password. An error is a
// *rest.LoginError, or that of the request's context.
func (s *Server) enter(r *http.Request, from peer, name, password string) (*user, error) {
	u, err := s.acl.authenticate(r.Context(), name, []byte(password), from.key, from.far)
	var tooMany *tooManyFailures
	switch {
	case errors.As(err, &tooMany):
		return nil, &rest.LoginError{Status: http.StatusTooManyRequests, Wait: tooMany.seconds(), Text: err.Error()}
	case errors.Is(err, errFar):
		return nil, errFarHTTP
	case errors.Is(err, errWrong):
		return nil, errPassword
	}
	return u, err
}

// anybody returns the default user for a request without a name and a password, nil if
// there must be one.
func (s *Server) anybody(r *http.Request, from peer) (*user, error) {
	switch {
	case !s.acl.open():
		return nil, nil
	case from.far:
		s.noteFar(r.RemoteAddr)
		return nil, errFarHTTP
	}
	return s.acl.nobody, nil
}

// The reasons why a request is not let in.
var (
	errFarHTTP  = &rest.LoginError{Status: http.StatusForbidden, Text: denied}
	errPassword = &rest.LoginError{
		Status: http.StatusUnauthorized, Text: "a password is required: send Authorization: Bearer PASSWORD, or Basic with user and password",
	}
)

// speaker returns who speaks with a name and a password, or without them, or why nobody
// does. What it runs is stopped when the request ends.
func (s *Server) speaker(r *http.Request, name, password string, given bool) (rest.Speaker, error) {
	from := s.placeOfRequest(r)
	var u *user
	var err error
	if given {
		u, err = s.enter(r, from, name, password)
	} else if u, err = s.anybody(r, from); u == nil && err == nil {
		err = errPassword
	}
	if err != nil {
		return nil, err
	}
	return s.newLocalClient(u).until(r.Context()), nil
}

// pageUsers are the users of the pages.
type pageUsers struct{ *Server }

// Enter returns the user of a name and a password.
func (p pageUsers) Enter(r *http.Request, name, password string) (dashboard.User, error) {
	from := p.placeOfRequest(r)
	u, err := p.enter(r, from, name, password)
	if err != nil {
		return nil, err
	}
	return &pageUser{server: p.Server, user: u, far: from.far, passwords: u.rights.Load().passwords}, nil
}

// Anybody returns the default user if it needs no password.
func (p pageUsers) Anybody(r *http.Request) (dashboard.User, error) {
	u, err := p.anybody(r, p.placeOfRequest(r))
	if u == nil || err != nil {
		return nil, err
	}
	return &pageUser{server: p.Server, user: u, open: true}, nil
}

// A pageUser is a user who looks at pages.
type pageUser struct {
	server    *Server
	user      *user
	open      bool // came in without a password
	far       bool // came in from another machine
	passwords []passwordHash
}

// Name returns the name.
func (p *pageUser) Name() string { return p.user.name }

// Valid reports whether the user still is what it was when it came in.
func (p *pageUser) Valid() bool {
	if p.open {
		return p.server.acl.open()
	}
	r := p.user.rights.Load()
	return p.server.acl.get(p.user.name) == p.user && r.enabled && slices.Equal(r.passwords, p.passwords) && !(p.far && r.open)
}

// MayAll reports whether the user may run every command, on every value.
func (p *pageUser) MayAll() bool {
	r := p.user.rights.Load()
	return r.all && r.allKeys
}

// May reports whether the user may run a command.
func (p *pageUser) May(words ...string) bool {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	d, _ := p.user.rights.Load().check(p.server.table.find(args), args)
	return d == denyNothing
}

// Ask runs a command and returns its reply once it is durable.
func (p *pageUser) Ask(words ...[]byte) (resp.Value, error) {
	return p.server.newLocalClient(p.user).Ask(words...)
}
