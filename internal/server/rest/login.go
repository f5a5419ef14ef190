package rest

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// LoginError says why a request was not let in.
type LoginError struct {
	Status int    // of HTTP: 401 for a password that is wrong or missing, 403, or 429
	Wait   int    // seconds until the next attempt, with status 429
	Text   string // for people
}

func (e *LoginError) Error() string { return e.Text }

// refuseLogin answers a request of which nobody knows whose it is.
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

// defaultUser is the name of the user of a password that comes without a name.
const defaultUser = "default"

// credentials returns what the request says about who sends it. A bearer token is
// the password of the default user.
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

// KnownHost reports whether a Host header names this server for certain, by one of names,
// as localhost or by an address: an address cannot be made to lead elsewhere as a name can.
func KnownHost(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.EqualFold(host, "localhost") || net.ParseIP(host) != nil ||
		slices.ContainsFunc(names, func(h string) bool { return strings.EqualFold(h, host) })
}
