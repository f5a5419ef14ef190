package acl

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// maxFailures is how many wrong passwords an address may try in a row.
	maxFailures = 20
	// forgiveness is the time after which one failure is forgotten.
	forgiveness = time.Second
	// maxSources limits the addresses whose failures are remembered.
	maxSources = 16384
	// maxVerified limits the correct credentials that are remembered.
	maxVerified = 4096
	// maxAddresses limits the addresses that are remembered for each of them.
	maxAddresses = 16
	// maxWrong limits the wrong credentials that are remembered for an address.
	maxWrong = 4
)

// logins checks credentials. Slow passwords (bcrypt) are tried on several cores, those of
// addresses without failures first. Correct credentials are remembered until a user
// changes. An address that fails too often must wait.
type logins struct {
	now   func() time.Time
	key   [sha256.Size]byte // of the digests, so that they are useless outside this process
	cores int

	mu       sync.Mutex
	age      uint64 // counts the changes of the users
	work     uint64 // to try all passwords of the slowest user; 0: no password is slow
	verified map[digest]*verified
	sources  map[string]*source
	trials   map[trialID]*trial // waiting and running
	waiting  []*trial           // in order of arrival
	running  int
	suspect  int // how many of running are for addresses with failures
}

type digest [sha256.Size]byte

// verified is a user whose password was correct, and from which addresses.
type verified struct {
	user      *User
	addresses []string // the latest is last
}

// source is what is remembered of an address with failures.
type source struct {
	failures float64 // as of at
	at       time.Time
	running  int // trials
	age      uint64
	wrong    []wrong // recent failures, as of that age of the users
}

// wrong is credentials that failed, and how often they were tried since.
type wrong struct {
	digest digest
	again  int
}

// trial is one attempt to verify a password.
type trial struct {
	trialID
	try     func() *User // returns the user if the password is correct
	callers int          // waiting for the result
	suspect bool
	done    chan struct{}
	user    *User // valid once done is closed
	err     error
}

type trialID struct {
	digest digest
	from   string
}

func newLogins(now func() time.Time) *logins {
	l := &logins{
		now:      now,
		verified: map[digest]*verified{}, sources: map[string]*source{}, trials: map[trialID]*trial{},
	}
	_, _ = rand.Read(l.key[:]) // never fails
	return l
}

// digest returns the digest of a name and a password.
func (l *logins) digest(name string, password []byte) (d digest) {
	m := hmac.New(sha256.New, l.key[:])
	m.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(name))))
	m.Write([]byte(name))
	m.Write(password)
	return digest(m.Sum(d[:0]))
}

// forget forgets the results for all passwords because users have changed.
func (l *logins) forget(work uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.age++
	l.work = work
	clear(l.verified)
}

// ErrWrong is the error for wrong credentials.
var ErrWrong = errors.New("wrong password")

// ErrFar is the error for a user without a password on another machine.
var ErrFar = errors.New("a user without a password is for clients on the machine of the server")

// TooManyFailures is the error for an address that has failed too often.
type TooManyFailures struct {
	from string
	wait time.Duration
}

// Seconds returns how long the address must wait, rounded up.
func (e *TooManyFailures) Seconds() int { return int(math.Ceil(e.wait.Seconds())) }

func (e *TooManyFailures) Error() string {
	return fmt.Sprintf("too many failed log-ins from %s; try again in %d s", e.from, e.Seconds())
}

// decide returns the user with these credentials or an error. try finds the user. If ctx
// ends first, decide returns its error.
func (l *logins) decide(ctx context.Context, d digest, from string, try func() *User) (*User, error) {
	l.mu.Lock()
	if u, err := l.known(d, from); u != nil || err != nil {
		l.mu.Unlock()
		return u, err
	}
	if l.work == 0 {
		age := l.age
		l.mu.Unlock()
		u := try()
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.note(d, from, age, u)
	}
	id := trialID{d, from}
	t := l.trials[id]
	if t == nil {
		t = &trial{trialID: id, try: try, done: make(chan struct{})}
		l.trials[id] = t
		l.waiting = append(l.waiting, t)
		l.next()
	}
	t.callers++
	l.mu.Unlock()
	select {
	case <-t.done:
		return t.user, t.err
	case <-ctx.Done():
		l.abandon(t, ctx.Err())
		return nil, ctx.Err()
	}
}

// abandon removes a caller of a trial. A waiting trial without callers is dropped, so that
// clients that have gone do not delay others.
func (l *logins) abandon(t *trial, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.callers--
	if i := slices.Index(l.waiting, t); i >= 0 && t.callers == 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.finish(t, nil, why)
	}
}

// known returns what is already known about credentials, nil and nil if nothing is. An
// address with too many failures gets an answer only for credentials that it has used
// before: clients that share the address and know their passwords can go on, and others
// cannot guess. mu is held.
func (l *logins) known(d digest, from string) (*User, error) {
	s := l.source(from)
	v := l.verified[d]
	if v != nil && (s.failures < maxFailures || slices.Contains(v.addresses, from)) {
		v.add(from)
		return v.user, nil
	}
	if s.age == l.age {
		// A client that repeats the same wrong password does not guess: it does not count
		// against other clients of its address.
		if i := slices.IndexFunc(s.wrong, func(w wrong) bool { return w.digest == d }); i >= 0 {
			if s.wrong[i].again++; s.wrong[i].again >= maxFailures {
				return nil, &TooManyFailures{from, forgiveness}
			}
			return nil, ErrWrong
		}
	}
	if s.failures >= maxFailures {
		wait := time.Duration((s.failures - maxFailures + 1) * float64(forgiveness))
		return nil, &TooManyFailures{from, wait}
	}
	return nil, nil
}

func (v *verified) add(from string) {
	if i := slices.Index(v.addresses, from); i >= 0 {
		v.addresses = slices.Delete(v.addresses, i, i+1)
	} else if len(v.addresses) == maxAddresses {
		v.addresses = slices.Delete(v.addresses, 0, 1)
	}
	v.addresses = append(v.addresses, from)
}

// source returns what is remembered of an address, without what is forgiven by now. The
// caller may change it; note keeps it. mu is held.
func (l *logins) source(from string) *source {
	s, now := l.sources[from], l.now()
	if s == nil {
		return &source{at: now}
	}
	if passed := now.Sub(s.at); passed > 0 {
		s.failures = max(0, s.failures-float64(passed)/float64(forgiveness))
		s.at = now
	}
	return s
}

// keep remembers an address. If there are too many, the one with the fewest failures is
// forgotten. mu is held.
func (l *logins) keep(from string, s *source) {
	if l.sources[from] == nil && len(l.sources) >= maxSources {
		least, fewest := "", math.Inf(1)
		for key := range l.sources {
			switch other := l.source(key); {
			case other.running > 0:
			case other.failures == 0:
				delete(l.sources, key)
			case other.failures < fewest:
				least, fewest = key, other.failures
			}
		}
		if len(l.sources) >= maxSources {
			delete(l.sources, least)
		}
	}
	l.sources[from] = s
}

// note remembers the result for credentials that were tried at an age of the users. mu is
// held.
func (l *logins) note(d digest, from string, age uint64, u *User) (*User, error) {
	if u == nil {
		s := l.source(from)
		s.failures++
		if s.age != l.age {
			s.age, s.wrong = l.age, nil
		}
		if age == l.age {
			if len(s.wrong) == maxWrong {
				s.wrong = slices.Delete(s.wrong, 0, 1)
			}
			s.wrong = append(s.wrong, wrong{digest: d})
		}
		l.keep(from, s)
		return nil, ErrWrong
	}
	if age != l.age {
		return u, nil // it was correct; the next log-in checks again
	}
	v := l.verified[d]
	if v == nil {
		if len(l.verified) >= maxVerified {
			for other := range l.verified {
				delete(l.verified, other) // any one
				break
			}
		}
		v = &verified{user: u}
		l.verified[d] = v
	}
	v.add(from)
	return u, nil
}

// next starts trials while cores are free, those of addresses with the fewest failures
// first. Addresses with failures leave one core to the others. mu is held.
func (l *logins) next() {
	for l.running < l.cores {
		best, least := -1, 0.0
		for i := 0; i < len(l.waiting); i++ {
			t := l.waiting[i]
			if u, err := l.known(t.digest, t.from); u != nil || err != nil { // meanwhile
				l.waiting = slices.Delete(l.waiting, i, i+1)
				i--
				l.finish(t, u, err)
				continue
			}
			s := l.source(t.from)
			rank := s.failures + float64(s.running)/1e6
			if s.failures+float64(s.running) >= maxFailures || s.failures > 0 && l.suspect >= max(1, l.cores-1) || best >= 0 && rank >= least {
				continue
			}
			best, least = i, rank
		}
		if best < 0 {
			return
		}
		t := l.waiting[best]
		l.waiting = slices.Delete(l.waiting, best, best+1)
		s := l.source(t.from)
		t.suspect = s.failures > 0
		l.running++
		s.running++
		if t.suspect {
			l.suspect++
		}
		l.keep(t.from, s)
		go l.run(t, l.age)
	}
}

func (l *logins) run(t *trial, age uint64) {
	u := t.try()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.source(t.from).running--
	if t.suspect {
		l.suspect--
	}
	u, err := l.note(t.digest, t.from, age, u)
	l.finish(t, u, err)
	l.next()
}

// finish reports the result of a trial to its callers. mu is held.
func (l *logins) finish(t *trial, u *User, err error) {
	delete(l.trials, t.trialID)
	t.user, t.err = u, err
	close(t.done)
}

// Authenticate returns the user of a name if the password is correct, otherwise ErrWrong,
// ErrFar or *TooManyFailures. far means that the client is on another machine, where a
// user without a password cannot log in.
func (a *Users) Authenticate(ctx context.Context, name string, password []byte, from string, far bool) (*User, error) {
	if u := a.Get(name); u != nil {
		if r := u.Rights(); r.enabled && r.open {
			if far {
				return nil, ErrFar
			}
			return u, nil
		}
	}
	return a.logins.decide(ctx, a.logins.digest(name, password), from, func() *User { return a.try(name, password) })
}

// try returns the user of a name if it has the password. A wrong password takes the same
// time for all names, with or without a user.
func (a *Users) try(name string, password []byte) *User {
	sum := hashPassword(string(password)).text
	for {
		u, r := a.Get(name), &Rights{}
		if u != nil {
			r = u.Rights()
		}
		done := uint64(0)
		ok := slices.ContainsFunc(r.passwords, func(p passwordHash) bool {
			done += p.work()
			return p.matches(password, sum)
		})
		switch {
		case u != nil && u.Rights() != r:
			continue // the user has changed: try again
		case ok && r.enabled:
			return u
		}
		a.logins.mu.Lock()
		work := a.logins.work
		a.logins.mu.Unlock()
		waste(work-min(work, done), password)
		return nil
	}
}

// TryAtOnce sets how many slow passwords are tried at the same time. At 0, they wait.
func (a *Users) TryAtOnce(n int) {
	l := a.logins
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cores = n
	l.next()
}

// A Session is a log-in that outlasts a connection.
type Session struct {
	User *User

	users     *Users
	far       bool
	passwords []passwordHash
}

// Session returns a session for a user who has just logged in. far is as in Authenticate.
func (a *Users) Session(u *User, far bool) *Session {
	return &Session{User: u, users: a, far: far, passwords: u.Rights().passwords}
}

// Valid reports whether the user still exists, may log in and has the same passwords.
func (s *Session) Valid() bool {
	r := s.User.Rights()
	return s.users.Get(s.User.Name) == s.User && r.enabled && slices.Equal(r.passwords, s.passwords) && !(s.far && r.open)
}
