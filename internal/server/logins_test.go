package server

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// allowedFailures is how many wrong passwords package acl lets an address try in a row.
const allowedFailures = 20

// occupy keeps all cores from trying passwords until release is called.
func (s *testServer) occupy() (release func()) {
	s.acl.TryAtOnce(0)
	return func() { s.acl.TryAtOnce(2) }
}

// awaitLogin waits until the server tries the password of its only client.
func (s *testServer) awaitLogin(t *testing.T) {
	t.Helper()
	eventually(t, "the arrival of the password", func() bool {
		list := s.clients.list()
		return len(list) == 1 && list[0].since.Load() > 0 && !list[0].asking.Load()
	})
}

// slowUser makes a user whose password is kept as a bcrypt hash.
func slowUser(t *testing.T, s *testServer, name, password string, cost int) {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	if err != nil {
		t.Fatal(err)
	}
	s.dial(t).want("+OK", "ACL", "SETUSER", name, "on", "#"+string(hash), "+@all", "~*")
}

// as tries to log in from an address.
func (s *testServer) as(from, name, password string) error {
	_, err := s.acl.Authenticate(context.Background(), name, []byte(password), from, false)
	return err
}

// The number of wrong passwords from an address is limited, over all ways to log in. Other
// addresses, and credentials that the address has used before, still work.
func TestFailuresAreLimitedByAddress(t *testing.T) {
	for _, kind := range []string{"plain", "bcrypt"} {
		s := start(t)
		if kind == "bcrypt" {
			slowUser(t, s, "app", "right", bcrypt.MinCost)
		} else {
			s.run(t, "ACL", "SETUSER", "app", "on", ">right", "+@all", "~*")
		}
		s.run(t, "ACL", "SETUSER", "other", "on", ">its own", "+@all", "~*")
		c := s.dial(t)
		c.want("+OK", "AUTH", "app", "right")
		for i := range allowedFailures {
			c.want("-"+wrongPassword, "AUTH", "app", fmt.Sprint("wrong", i))
		}
		for _, words := range [][]string{{"AUTH", "app", "x"}, {"AUTH", "nobody", "x"}, {"HELLO", "3", "AUTH", "app", "x"}, {"AUTH", "other", "its own"}} {
			if v := c.do(words...).String(); v != "-ERR too many failed log-ins from 127.0.0.1; try again in 1 s" {
				t.Errorf("%s: %q: %s", kind, words, v)
			}
		}
		c.want("+OK", "AUTH", "app", "right")
		if err := s.as("203.0.113.7", "other", "its own"); err != nil {
			t.Errorf("%s: another address: %v", kind, err)
		}
		if err := s.as("203.0.113.7", "app", "right"); err != nil {
			t.Errorf("%s: another address: %v", kind, err)
		}
		out := httpAs(s, "other", "its own")
		if out.Code != http.StatusTooManyRequests || out.Header().Get("Retry-After") == "" {
			t.Errorf("%s: HTTP answers %d %s", kind, out.Code, out.Body)
		}
		if out := httpAs(s, "app", "right"); out.Code != 200 {
			t.Errorf("%s: HTTP answers %d %s", kind, out.Code, out.Body)
		}
		s.clock.advance(3 * time.Second)
		if out := httpAs(s, "other", "its own"); out.Code != 200 {
			t.Errorf("%s: later HTTP answers %d %s", kind, out.Code, out.Body)
		}
	}
}

// The log-in of a closed connection does not wait for its turn.
func TestLogInsEndWithTheirConnections(t *testing.T) {
	s := start(t)
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	s.run(t, "ACL", "SETUSER", "app", "on", "#"+string(hash), "+@all")
	defer s.occupy()()
	s.dial(t).send("AUTH", "app", "right")
	s.awaitLogin(t)
	s.clients.list()[0].cut()
	eventually(t, "the end of the connection", func() bool { return s.clients.count() == 0 })
}
