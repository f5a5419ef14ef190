package rest

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// LoginError says why a log-in failed.
type LoginError struct {
	Status int    // HTTP status: 401 (password wrong or missing), 403 (denied) or 429 (too many failures)
	Wait   int    // seconds until the next attempt, with status 429
	Text   string // for the user
}

func (e *LoginError) Error() string { return e.Text }

// refuseLogin answers a request whose log-in failed.
func (r *request) refuseLogin(err error) {
	var refused *LoginError
	if !errors.As(err, &refused) { // the client has gone
		r.fail(http.StatusServiceUnavailable, err.Error())
		return
	}
	switch refused.Status {
	case http.StatusUnauthorized:
		r.out.Header().Set("WWW-Authenticate", `Bearer realm="seen"`)
		r.out.Header().Add("WWW-Authenticate", `Basic realm="seen"`)
	case http.StatusTooManyRequests:
		r.out.Header().Set("Retry-After", strconv.Itoa(refused.Wait))
	}
	r.fail(refused.Status, refused.Text)
}

// defaultUser is the user of requests with a password but no name.
const defaultUser = "default"

// credentials returns the user name and the password of a request. A bearer token is the
// password of the default user.
func credentials(r *http.Request) (name, password string, given bool) {
	if name, password, ok := r.BasicAuth(); ok {
		return name, password, true
	}
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(kind, "Bearer") {
		return defaultUser, strings.TrimSpace(token), true
	}
	return defaultUser, "", false
}

// KnownHost reports whether a Host header certainly names this server: by one of names, as
// localhost or by an IP address. Any other name could have been resolved to this server by
// somebody else.
func KnownHost(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.EqualFold(host, "localhost") || net.ParseIP(host) != nil ||
		slices.ContainsFunc(names, func(h string) bool { return strings.EqualFold(h, host) })
}
