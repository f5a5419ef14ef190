package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// occupy keeps all cores from trying passwords until release is called.
func occupy(l *logins) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	cores := l.cores
	l.cores = 0
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.cores = cores
		l.next()
	}
}

// queued returns how many passwords wait to be tried.
func (l *logins) queued() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
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
	_, err := s.acl.authenticate(context.Background(), name, []byte(password), from, false)
	return err
}

// A right password does not wait behind wrong ones of other addresses, however many
// there are.
func TestRightPasswordsBeforeWrongOnes(t *testing.T) {
	s := start(t)
	slowUser(t, s, "app", "right", bcrypt.MinCost)
	l := s.acl.logins
	if err := s.as("attacker", "app", "wrong"); !errors.Is(err, errWrong) {
		t.Fatal(err)
	}
	occupy(l)
	var order []string
	var mu sync.Mutex
	var wg sync.WaitGroup
	queue := func(from, password string) {
		before := l.queued()
		wg.Go(func() {
			_ = s.as(from, "app", password)
			mu.Lock()
			defer mu.Unlock()
			order = append(order, from)
		})
		eventually(t, "the arrival of the password", func() bool { return l.queued() > before })
	}
	for i := range 50 {
		queue("attacker", fmt.Sprint("guess", i))
	}
	queue("friend", "right")
	// One core, so that the order is that of the trials.
	l.mu.Lock()
	l.cores = 1
	l.next()
	l.mu.Unlock()
	wg.Wait()
	for at, from := range order {
		if from == "friend" && at > 2 {
			t.Errorf("the right password was the %dth to be answered", at+1)
		}
	}
	if err := s.as("attacker", "app", "another guess"); err == nil || !strings.Contains(err.Error(), "too many failed log-ins from attacker") {
		t.Errorf("after 50 guesses: %v", err)
	}
}

// A password that nobody waits for any more is not tried, unless that has begun.
func TestAbandonedTrialsKeepNoPlace(t *testing.T) {
	s := start(t)
	slowUser(t, s, "app", "right", bcrypt.MinCost)
	l := s.acl.logins
	release := occupy(l)
	var wg sync.WaitGroup
	ask := func(ctx context.Context, password string) {
		wg.Go(func() { _, _ = s.acl.authenticate(ctx, "app", []byte(password), "client", false) })
	}
	leaving, leave := context.WithCancel(t.Context())
	for i := range 20 {
		ask(leaving, fmt.Sprint("guess", i))
	}
	ask(leaving, "right")
	stays := make(chan error, 1)
	wg.Go(func() { stays <- s.as("client", "app", "right") })
	eventually(t, "the arrival of the passwords", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		t := l.trials[trialID{l.digest("app", []byte("right")), "client"}]
		return len(l.waiting) == 21 && t != nil && t.callers == 2
	})
	leave()
	eventually(t, "the end of the trials for which nobody waits", func() bool { return l.queued() == 1 })
	release()
	if err := <-stays; err != nil {
		t.Errorf("the log-in of who stayed: %v", err)
	}
	wg.Wait()
	if err := s.as("client", "app", "guess0"); !errors.Is(err, errWrong) {
		t.Errorf("a password after its trial was dropped: %v", err)
	}
}

// Passwords are tried on several cores, those that are the same only once, and again
// only when users have changed.
func TestVerifiedPasswordsAreRemembered(t *testing.T) {
	s := start(t)
	slowUser(t, s, "app", "right", bcrypt.MinCost)
	l := s.acl.logins
	tried := 0
	count := func() *user { tried++; return s.acl.try("app", []byte("right")) }
	d := l.digest("app", []byte("right"))
	for i := range 10 {
		if u, err := l.decide(context.Background(), d, fmt.Sprint("10.0.0.", i), count); err != nil || u != s.acl.get("app") {
			t.Fatalf("%v, %v", u, err)
		}
	}
	if tried != 1 {
		t.Errorf("a password was tried %d times", tried)
	}
	for _, change := range []func() error{
		func() error { s.run(t, "ACL", "SETUSER", "app", ">other"); return nil },
		func() error {
			s.run(t, "ACL", "DELUSER", "other")
			s.run(t, "CONFIG", "SET", "requirepass", "")
			return nil
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		before := tried
		if _, err := l.decide(context.Background(), d, "10.0.0.1", count); err != nil || tried != before+1 {
			t.Errorf("after a change: tried %d times, %v", tried-before, err)
		}
	}
	s.run(t, "ACL", "SETUSER", "app", "resetpass", ">new")
	if err := s.as("10.0.0.1", "app", "right"); !errors.Is(err, errWrong) {
		t.Errorf("the former password: %v", err)
	}
	if digestOf := newLogins(time.Now).digest("app", []byte("right")); digestOf == d {
		t.Error("another process has the same digests")
	}
	if l.digest("ab", []byte("c")) == l.digest("a", []byte("bc")) {
		t.Error("name and password run into each other")
	}
}

// The number of wrong passwords from an address is limited, over every way to log in;
// other addresses, and credentials that the address has used, go on.
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
		for i := range maxFailures {
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
		s.clock.advance(3 * forgiveness)
		if out := httpAs(s, "other", "its own"); out.Code != 200 {
			t.Errorf("%s: later HTTP answers %d %s", kind, out.Code, out.Body)
		}
	}
}

// A client that goes on with one wrong password is told to stop, and does not shut out
// others of its address.
func TestSameWrongPassword(t *testing.T) {
	s := start(t)
	s.run(t, "ACL", "SETUSER", "app", "on", ">right", "+@all", "~*")
	var err error
	for range 1000 {
		err = s.as("10.0.0.1", "app", "former")
	}
	var tooMany *tooManyFailures
	if !errors.As(err, &tooMany) {
		t.Errorf("after 1000 times: %v", err)
	}
	if err := s.as("10.0.0.1", "app", "right"); err != nil {
		t.Errorf("another client: %v", err)
	}
}

// What is remembered is bounded, and an address cannot be made to be forgotten by
// others that have failed less.
func TestLoginsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	now := time.Unix(1e9, 0)
	l := newLogins(func() time.Time { return now })
	no := func() *user { return nil }
	for i := range maxFailures {
		_, _ = l.decide(context.Background(), l.digest("x", fmt.Append(nil, i)), "attacker", no)
	}
	for i := range maxSources + 1000 {
		from := fmt.Sprint("helper", i)
		_, _ = l.decide(context.Background(), l.digest("x", []byte(from)), from, no)
	}
	if len(l.sources) > maxSources {
		t.Errorf("%d addresses are remembered", len(l.sources))
	}
	var tooMany *tooManyFailures
	if _, err := l.decide(context.Background(), l.digest("x", []byte("new")), "attacker", no); !errors.As(err, &tooMany) {
		t.Errorf("the attacker was forgotten: %v", err)
	}
	u := &user{name: "u"}
	for i := range maxVerified + 100 {
		_, _ = l.decide(context.Background(), l.digest("u", fmt.Append(nil, i)), fmt.Sprint("a", i), func() *user { return u })
	}
	d := l.digest("u", []byte("one"))
	for i := range 100 {
		_, _ = l.decide(context.Background(), d, fmt.Sprint("a", i), func() *user { return u })
	}
	if len(l.verified) > maxVerified || len(l.verified[d].addresses) > maxAddresses {
		t.Errorf("%d credentials, %d addresses", len(l.verified), len(l.verified[d].addresses))
	}
	now = now.Add(-time.Hour) // a clock that goes back forgives nothing and breaks nothing
	if _, err := l.decide(context.Background(), l.digest("x", []byte("newer")), "attacker", no); !errors.As(err, &tooMany) {
		t.Errorf("with another clock: %v", err)
	}
	if len(l.trials) != 0 || len(l.waiting) != 0 || l.running != 0 || l.suspect != 0 {
		t.Errorf("left: %d trials, %d waiting, %d running, %d suspect", len(l.trials), len(l.waiting), l.running, l.suspect)
	}
}

// Finding out that a password is wrong takes the same work for every name.
func TestWorkTellsNoNames(t *testing.T) {
	s := start(t)
	slowUser(t, s, "four", "right", 4)
	slowUser(t, s, "five", "right", 5)
	s.run(t, "ACL", "SETUSER", "fast", "on", ">right")
	five := s.acl.get("five").rights.Load().passwords[0].text
	s.run(t, "ACL", "SETUSER", "off", "off", "#"+five)
	if got, want := s.acl.logins.work, uint64(1<<5); got != want {
		t.Errorf("the work is %d, want %d", got, want)
	}
	least := map[string]time.Duration{}
	for range 50 {
		for _, name := range []string{"four", "five", "fast", "off", "nobody"} {
			began := time.Now()
			s.acl.try(name, []byte("wrong"))
			if took := time.Since(began); least[name] == 0 || took < least[name] {
				least[name] = took
			}
		}
	}
	for name, took := range least {
		if r := float64(took) / float64(least["five"]); r < 0.5 || r > 2 {
			t.Errorf("%s takes %.2f times as long as five: %v", name, r, least)
		}
	}
}

// The log-in of a client that is cut off does not wait for its turn.
func TestLogInsEndWithTheirConnections(t *testing.T) {
	s := start(t)
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	s.run(t, "ACL", "SETUSER", "app", "on", "#"+string(hash), "+@all")
	defer occupy(s.acl.logins)()
	s.dial(t).send("AUTH", "app", "right")
	eventually(t, "the arrival of the password", func() bool { return s.acl.logins.queued() == 1 })
	s.clients.list()[0].cut()
	eventually(t, "the end of the connection", func() bool { return s.clients.count() == 0 && s.acl.logins.queued() == 0 })
}
