package acl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// cores is how many passwords the tests try at once.
const cores = 4

// newTestUsers returns users with one who may do everything, called app, whose password
// is "right" and is kept as a bcrypt hash of that cost; 0: as SHA-256.
func newTestUsers(t *testing.T, cost int) *Users {
	t.Helper()
	a := NewUsers(&Commands{}, "", "", time.Now)
	a.TryAtOnce(cores)
	setUser(t, a, "app", "on", "+@all", "~*", password(t, "right", cost))
	return a
}

// setUser applies rules to a user.
func setUser(t *testing.T, a *Users, name string, rules ...string) {
	t.Helper()
	if rule, problem := a.Change(name, rules); problem != "" {
		t.Fatalf("%s: %s", rule, problem)
	}
}

// password returns the rule for a password, which is kept as a bcrypt hash of that cost;
// 0: as SHA-256.
func password(t *testing.T, text string, cost int) string {
	t.Helper()
	if cost == 0 {
		return ">" + text
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(text), cost)
	if err != nil {
		t.Fatal(err)
	}
	return "#" + string(hash)
}

// as tries to log in from an address.
func (a *Users) as(from, name, password string) error {
	_, err := a.Authenticate(context.Background(), name, []byte(password), from, false)
	return err
}

// eventually waits until something is true.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not happen: %s", what)
		}
	}
}

// queued returns how many passwords wait to be tried.
func (l *logins) queued() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// A correct password does not wait behind wrong ones of other addresses, however many
// there are.
func TestRightPasswordsBeforeWrongOnes(t *testing.T) {
	s := newTestUsers(t, bcrypt.MinCost)
	l := s.logins
	if err := s.as("attacker", "app", "wrong"); !errors.Is(err, ErrWrong) {
		t.Fatal(err)
	}
	s.TryAtOnce(0)
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
	s.TryAtOnce(1)
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

// A waiting password without callers is not tried.
func TestAbandonedTrialsKeepNoPlace(t *testing.T) {
	s := newTestUsers(t, bcrypt.MinCost)
	l := s.logins
	s.TryAtOnce(0)
	var wg sync.WaitGroup
	ask := func(ctx context.Context, password string) {
		wg.Go(func() { _, _ = s.Authenticate(ctx, "app", []byte(password), "client", false) })
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
	eventually(t, "the end of the trials without callers", func() bool { return l.queued() == 1 })
	s.TryAtOnce(cores)
	if err := <-stays; err != nil {
		t.Errorf("the log-in of the client that stayed: %v", err)
	}
	wg.Wait()
	if err := s.as("client", "app", "guess0"); !errors.Is(err, ErrWrong) {
		t.Errorf("a password after its trial was dropped: %v", err)
	}
}

// A password is tried once, and again only after users have changed.
func TestVerifiedPasswordsAreRemembered(t *testing.T) {
	s := newTestUsers(t, bcrypt.MinCost)
	l := s.logins
	tried := 0
	count := func() *User { tried++; return s.try("app", []byte("right")) }
	d := l.digest("app", []byte("right"))
	for i := range 10 {
		if u, err := l.decide(context.Background(), d, fmt.Sprint("10.0.0.", i), count); err != nil || u != s.Get("app") {
			t.Fatalf("%v, %v", u, err)
		}
	}
	if tried != 1 {
		t.Errorf("a password was tried %d times", tried)
	}
	for _, change := range []func(){
		func() { setUser(t, s, "app", ">other") },
		func() { s.Remove("other"); s.SetPassword("") },
	} {
		change()
		before := tried
		if _, err := l.decide(context.Background(), d, "10.0.0.1", count); err != nil || tried != before+1 {
			t.Errorf("after a change: tried %d times, %v", tried-before, err)
		}
	}
	setUser(t, s, "app", "resetpass", ">new")
	if err := s.as("10.0.0.1", "app", "right"); !errors.Is(err, ErrWrong) {
		t.Errorf("the former password: %v", err)
	}
	if digestOf := newLogins(time.Now).digest("app", []byte("right")); digestOf == d {
		t.Error("another process has the same digests")
	}
	if l.digest("ab", []byte("c")) == l.digest("a", []byte("bc")) {
		t.Error("name and password run into each other")
	}
}

// A client that repeats one wrong password is stopped and does not lock out others of its
// address.
func TestSameWrongPassword(t *testing.T) {
	s := newTestUsers(t, 0)
	var err error
	for range 1000 {
		err = s.as("10.0.0.1", "app", "former")
	}
	var tooMany *TooManyFailures
	if !errors.As(err, &tooMany) {
		t.Errorf("after 1000 times: %v", err)
	}
	if err := s.as("10.0.0.1", "app", "right"); err != nil {
		t.Errorf("another client: %v", err)
	}
}

// Memory for log-ins is limited, and addresses with few failures cannot displace one with
// many.
func TestLoginsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	now := time.Unix(1e9, 0)
	l := newLogins(func() time.Time { return now })
	no := func() *User { return nil }
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
	var tooMany *TooManyFailures
	if _, err := l.decide(context.Background(), l.digest("x", []byte("new")), "attacker", no); !errors.As(err, &tooMany) {
		t.Errorf("the attacker was forgotten: %v", err)
	}
	u := &User{Name: "u"}
	for i := range maxVerified + 100 {
		_, _ = l.decide(context.Background(), l.digest("u", fmt.Append(nil, i)), fmt.Sprint("a", i), func() *User { return u })
	}
	d := l.digest("u", []byte("one"))
	for i := range 100 {
		_, _ = l.decide(context.Background(), d, fmt.Sprint("a", i), func() *User { return u })
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

// A wrong password takes the same work for every name.
func TestWorkTellsNoNames(t *testing.T) {
	s := newTestUsers(t, 0)
	setUser(t, s, "four", "on", password(t, "right", 4))
	setUser(t, s, "five", "on", password(t, "right", 5))
	setUser(t, s, "fast", "on", ">right")
	setUser(t, s, "off", "off", "#"+s.Get("five").Rights().Passwords()[0])
	if got, want := s.logins.work, uint64(1<<5); got != want {
		t.Errorf("the work is %d, want %d", got, want)
	}
	least := map[string]time.Duration{}
	for range 50 {
		for _, name := range []string{"four", "five", "fast", "off", "nobody"} {
			began := time.Now()
			s.try(name, []byte("wrong"))
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
