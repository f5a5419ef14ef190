package server

import (
	"errors"
	"net/http"

	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/server/dashboard"
	"seen/internal/server/rest"
)

// enter returns the user with a name and a password. Its error is a *rest.LoginError or the
// error of the request's context.
func (s *Server) enter(r *http.Request, from peer, name, password string) (*acl.User, error) {
	u, err := s.acl.Authenticate(r.Context(), name, []byte(password), from.key, from.far)
	var tooMany *acl.TooManyFailures
	switch {
	case errors.As(err, &tooMany):
		return nil, &rest.LoginError{Status: http.StatusTooManyRequests, Wait: tooMany.Seconds(), Text: err.Error()}
	case errors.Is(err, acl.ErrFar):
		return nil, errFarHTTP
	case errors.Is(err, acl.ErrWrong):
		return nil, errPassword
	}
	return u, err
}

// anybody returns the default user for a request without a password, nil if every request
// needs one.
func (s *Server) anybody(r *http.Request, from peer) (*acl.User, error) {
	switch {
	case !s.acl.Open():
		return nil, nil
	case from.far:
		s.noteFar(r.RemoteAddr)
		return nil, errFarHTTP
	}
	return s.acl.Default, nil
}

// Errors of log-ins.
var (
	errFarHTTP  = &rest.LoginError{Status: http.StatusForbidden, Text: denied}
	errPassword = &rest.LoginError{
		Status: http.StatusUnauthorized, Text: "a password is required: send Authorization: Bearer PASSWORD, or Basic with user and password",
	}
)

// speaker returns the Speaker of a request, with a name and a password if given is true.
// Its commands are stopped when the request ends.
func (s *Server) speaker(r *http.Request, name, password string, given bool) (rest.Speaker, error) {
	from := s.placeOfRequest(r)
	var u *acl.User
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

// pageUsers are the users that log in on the pages.
type pageUsers struct{ *Server }

// Enter returns the user with a name and a password.
func (p pageUsers) Enter(r *http.Request, name, password string) (dashboard.User, error) {
	from := p.placeOfRequest(r)
	u, err := p.enter(r, from, name, password)
	if err != nil {
		return nil, err
	}
	return &pageUser{server: p.Server, user: u, session: p.acl.Session(u, from.far)}, nil
}

// Anybody returns the default user if it needs no password.
func (p pageUsers) Anybody(r *http.Request) (dashboard.User, error) {
	u, err := p.anybody(r, p.placeOfRequest(r))
	if u == nil || err != nil {
		return nil, err
	}
	return &pageUser{server: p.Server, user: u}, nil
}

// A pageUser is a user who looks at pages.
type pageUser struct {
	server  *Server
	user    *acl.User
	session *acl.Session // nil: came in without a password
}

// Name returns the name.
func (p *pageUser) Name() string { return p.user.Name }

// Valid reports whether the user still exists, with the same passwords as at the log-in.
func (p *pageUser) Valid() bool {
	if p.session == nil {
		return p.server.acl.Open()
	}
	return p.session.Valid()
}

// MayAll reports whether the user may run every command on every value.
func (p *pageUser) MayAll() bool { return p.user.Rights().All() }

// May reports whether the user may run a command.
func (p *pageUser) May(words ...string) bool {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	d, _ := p.user.Rights().Check(p.server.table.find(args).acl, args)
	return d == acl.Allowed
}

// MaySome reports whether the user may run a command on values with some names.
func (p *pageUser) MaySome(command string) bool {
	args := [][]byte{[]byte(command)}
	d, _ := p.user.Rights().Check(p.server.table.find(args).acl, args)
	return d != acl.DeniedCommand
}

// Ask runs a command and returns its reply once the change is durable.
func (p *pageUser) Ask(words ...[]byte) (resp.Value, error) {
	return p.server.newLocalClient(p.user).Ask(words...)
}
