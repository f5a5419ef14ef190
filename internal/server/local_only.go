package server

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"seen/internal/fair"
)

// A server without a password serves only clients on its own machine. The password can be
// removed at any time, so this is checked for every connection and for every command
// before a log-in.

// peer says where a client is.
type peer struct {
	key string // see package fair
	// far: it is on another machine, has not shown a certificate, and the server is not
	// configured as insecure.
	far bool
}

// denied is the error for far clients while no password is needed.
const denied = "DENIED This server can be used without a password, so it serves clients of its own machine only. " +
	"To let in others, give the default user a password (--password-file, --acl-file or CONFIG SET requirepass), " +
	"ask clients for certificates (--tls-client-ca), or allow it (--insecure)"

// place returns where a client is; state is nil without TLS.
func (s *Server) place(key string, local bool, state *tls.ConnectionState) peer {
	return peer{key: key, far: !local && !s.config.Insecure && (state == nil || len(state.VerifiedChains) == 0)}
}

// placeOf is place for a socket.
func (s *Server) placeOf(socket net.Conn, secured *tls.Conn) peer {
	var state *tls.ConnectionState
	if secured != nil {
		now := secured.ConnectionState()
		state = &now
	}
	return s.place(fair.Key(socket.RemoteAddr()), fair.Local(socket.RemoteAddr()), state)
}

// placeOfRequest is place for an HTTP request.
func (s *Server) placeOfRequest(r *http.Request) peer {
	return s.place(fair.KeyOf(r.RemoteAddr), fair.LocalText(r.RemoteAddr), r.TLS)
}

// denied reports whether the client is refused because no password is needed.
func (c *conn) denied() bool { return c.peer.far && !c.authenticated.Load() && c.server.acl.Open() }

// noteFar logs, at most once a minute, that a client was refused.
func (s *Server) noteFar(address string) {
	now := s.config.Now().UnixNano()
	last := s.lastFar.Load()
	if (last == 0 || now-last > int64(time.Minute)) && s.lastFar.CompareAndSwap(last, now) {
		s.event(Warning, "a client on another machine was refused because the default user needs no password; logged at most once a minute", "client", address)
	}
}

// usersChanged logs when the default user begins or stops to need a password.
func (s *Server) usersChanged() {
	open := s.acl.Open()
	if s.wasOpen.Swap(open) == open || s.config.Insecure {
		return
	}
	if open {
		s.event(Warning, "the default user no longer needs a password: clients on other machines are now refused unless they have a certificate")
	} else {
		s.event(Info, "the default user now needs a password")
	}
}
