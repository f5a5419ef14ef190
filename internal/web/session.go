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

// A session is what a browser has in its cookie: a random token. The token of
// somebody who has logged in stands for the visitor. Everybody has one, since what
// proves that a form is ours is made from it.

const (
	cookieName = "seen_session"
	// secureName is the name under TLS: browsers take it for this host only, and over
	// TLS only.
	secureName = "__Host-seen_session"

	tokenBytes = 32
	// maxSessions bounds the memory of those who have logged in.
	maxSessions = 4096
	// sessionIdle is how long a session lasts in which nothing is asked for.
	sessionIdle = 12 * time.Hour
)

// sessions are those of everybody who has logged in.
type sessions struct {
	secret [sha256.Size]byte // of the proofs that forms are ours

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

// begin makes a session for a visitor and returns its token. Where there are too
// many, that ends which was idle for longest.
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

// visitor returns who has the token, nil if nobody has logged in with it.
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

// proof returns what a form must bring to be ours: only who knows the secret can make
// it of the token.
func (s *sessions) proof(token string) string {
	m := hmac.New(sha256.New, s.secret[:])
	m.Write([]byte(token))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// proves reports whether a form that brings a proof is ours.
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

// setCookie gives the browser a token, which it forgets when it ends.
func setCookie(out http.ResponseWriter, r *http.Request, token string) {
	c := &http.Cookie{Name: cookieName, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if r.TLS != nil {
		c.Name, c.Secure = secureName, true
	}
	http.SetCookie(out, c)
}
