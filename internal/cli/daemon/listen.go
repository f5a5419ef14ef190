package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
)

// listeners are the open ports of a server.
type listeners struct {
	redis     []net.Listener // TCP and Unix
	encrypted int            // the first so many of redis use TLS, if it is configured
	http      []net.Listener
	tls       atomic.Pointer[tls.Config] // nil: no TLS
}

// openListeners opens all ports that the settings name, or none.
func (c *Config) openListeners(ctx context.Context) (_ *listeners, err error) {
	var l listeners
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	l.tls.Store(c.tls)
	for _, address := range c.addr {
		if err := l.open(ctx, &l.redis, address); err != nil {
			return nil, fmt.Errorf("--addr: %w", err)
		}
		l.encrypted = len(l.redis)
	}
	for _, address := range c.http {
		if err := l.open(ctx, &l.http, address); err != nil {
			return nil, fmt.Errorf("--http: %w", err)
		}
	}
	if c.unix != "" {
		socket, err := listenUnix(ctx, string(c.unix), fs.FileMode(c.unixMode))
		if err != nil {
			return nil, fmt.Errorf("--unix: %w", err)
		}
		l.redis = append(l.redis, socket)
	}
	return &l, nil
}

func (l *listeners) open(ctx context.Context, to *[]net.Listener, address string) error {
	var config net.ListenConfig
	tcp, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	*to = append(*to, tcp)
	return nil
}

// tlsConfig returns a configuration that follows reloads, nil if there is no TLS.
func (l *listeners) tlsConfig() *tls.Config {
	if l.tls.Load() == nil {
		return nil
	}
	return &tls.Config{
		// Called for each connection, so that a reload applies to the next one.
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return l.tls.Load(), nil },
	}
}

func (l *listeners) close() {
	for _, one := range slices.Concat(l.redis, l.http) {
		_ = one.Close() // the process ends
	}
}

// addresses returns where the listeners can be reached.
func addresses(all []net.Listener) (texts []string) {
	for _, l := range all {
		address := l.Addr().String()
		if l.Addr().Network() == "unix" {
			address = UnixScheme + address
		}
		texts = append(texts, address)
	}
	return texts
}

// UnixScheme is written before the path of a Unix socket, to tell it from an address
// of TCP.
const UnixScheme = "unix:"

// listenUnix listens on a Unix socket with the permissions of mode from its first
// moment. A socket that a crash has left behind is replaced; one that another process
// listens on is not.
func listenUnix(ctx context.Context, path string, mode fs.FileMode) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSocket == 0 {
			return nil, fmt.Errorf("%s exists and is not a socket", path)
		}
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = conn.Close() // nothing was sent
			return nil, fmt.Errorf("another server listens on %s", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// The socket is made in a folder that only this user can enter, gets its
	// permissions, and is then moved to its place.
	hidden, err := os.MkdirTemp(filepath.Dir(path), ".seen-socket-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(hidden) // it is empty
	made := filepath.Join(hidden, "s")
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", made)
	if err != nil {
		return nil, err
	}
	socket := l.(*net.UnixListener)
	socket.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(made, mode), os.Rename(made, path)); err != nil {
		_ = l.Close() // no client has connected
		return nil, err
	}
	return &unixListener{Listener: l, path: path}, nil
}

// unixListener is a listener on a socket that was moved after it was made.
type unixListener struct {
	net.Listener
	path string
}

func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

func (l *unixListener) Close() error {
	err := l.Listener.Close()
	if removeErr := os.Remove(l.path); err == nil && !errors.Is(removeErr, fs.ErrNotExist) {
		err = removeErr
	}
	return err
}
