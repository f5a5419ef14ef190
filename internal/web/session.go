package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

// A browser has a random token in its cookie. After a log-in, the token identifies the
// visitor. Every browser gets a token, since the proof that a form is ours is made from it.

const (
	cookieName = "seen_session"
	// secureName is the name under TLS: browsers accept and send such a cookie only over
	// TLS and only for this host.
	secureName = "__Host-seen_session"

	tokenBytes = 32
	// maxSessions bounds the memory of sessions.
	maxSessions = 4096
	// sessionIdle is how long a session lasts without a request.
	sessionIdle = 12 * time.Hour
)

// sessions are the sessions of all visitors who have logged in.
type sessions struct {
	secret [sha256.Size]byte // key of the proofs that forms are ours

	mu  sync.Mutex
	all map[string]*session // by token
}

type session struct {
	visitor Visitor
	seen    time.Time
}

func newSessions() *sessions {
	s := &sessions{all: map[string]*session{}}
	rand.Read(s.secret[:]) // never fails
	return s
}

func newToken() string {
	var b [tokenBytes]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// begin makes a session for a visitor and returns its token. If there are too many
// sessions, the one that was idle for longest ends.
func (s *sessions) begin(v Visitor, now time.Time) string {
	token := newToken()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[token] = &session{v, now}
	for t, one := range s.all {
		if one.expired(now) {
			delete(s.all, t)
		}
	}
	for len(s.all) > maxSessions {
		oldest := ""
		for t, one := range s.all {
			if oldest == "" || one.seen.Before(s.all[oldest].seen) {
				oldest = t
			}
		}
		delete(s.all, oldest)
	}
	return token
}

func (s *session) expired(now time.Time) bool { return now.Sub(s.seen) > sessionIdle }

// visitor returns the visitor with a token, nil if the token has no session.
func (s *sessions) visitor(token string, now time.Time) Visitor {
	s.mu.Lock()
	one := s.all[token]
	if one == nil || one.expired(now) {
		s.mu.Unlock()
		return nil
	}
	one.seen = now
	s.mu.Unlock()
	if !one.visitor.Valid() {
		s.end(token)
		return nil
	}
	return one.visitor
}

// end ends a session.
func (s *sessions) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, token)
}

// proof returns what a form must send to show that it is ours. It is a MAC of the token, so
// another site cannot make it.
func (s *sessions) proof(token string) string {
	m := hmac.New(sha256.New, s.secret[:])
	m.Write([]byte(token))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// proves reports whether a form with a proof is ours.
func (s *sessions) proves(token, proof string) bool {
	return token != "" && hmac.Equal([]byte(proof), []byte(s.proof(token)))
}

// cookieToken returns the token of a request, "" if it has none.
func cookieToken(r *http.Request) string {
	name := cookieName
	if r.TLS != nil {
		name = secureName
	}
	c, err := r.Cookie(name)
	if err != nil || len(c.Value) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return ""
	}
	return c.Value
}

// setCookie gives the browser a token, which it keeps until it is closed.
func setCookie(out http.ResponseWriter, r *http.Request, token string) {
	c := &http.Cookie{Name: cookieName, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if r.TLS != nil {
		c.Name, c.Secure = secureName, true
	}
	http.SetCookie(out, c)
}
