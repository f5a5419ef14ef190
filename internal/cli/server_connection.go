package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"seen/internal/cli/daemon"
	"seen/internal/remote"
	"seen/internal/resp"
)

// serverFlags are the flags of backup and import that say how to reach the server.
type serverFlags struct {
	addr         string
	user         string
	passwordFile string
	tls          bool
	tlsCA        string
	tlsCert      string
	tlsKey       string
}

// register adds the flags to cmd.
func (f *serverFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "server", "127.0.0.1:6380", "the server listens on `ADDR`, HOST[:PORT] or unix:PATH")
	flags.StringVar(&f.user, "user", "default", "log in as the user `NAME`")
	flags.StringVar(&f.passwordFile, "password-file", "", "the password is the first line of `FILE`")
	flags.BoolVar(&f.tls, "tls", false, "use TLS; the options about it imply it")
	flags.StringVar(&f.tlsCA, "tls-ca", "", "trust servers with a certificate of an authority in `FILE`, instead of the authorities of the system")
	flags.StringVar(&f.tlsCert, "tls-cert", "", "the certificate of this client, in `FILE`")
	flags.StringVar(&f.tlsKey, "tls-key", "", "the key of the certificate, in `FILE`")
	for _, name := range []string{"server", "user"} {
		// It fails only for flags that do not exist or have a function already.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// order sends a command to the server and waits for its reply.
func (a *app) order(f *serverFlags, command ...[]byte) error {
	return a.orders(f, func(send func(command ...[]byte) (resp.Value, error)) error {
		_, err := send(command...)
		return err
	})
}

// orders lets talk send commands over one connection, one after another. An error reply
// is an error.
func (a *app) orders(f *serverFlags, talk func(send func(command ...[]byte) (resp.Value, error)) error) error {
	conn, err := f.dial(a.ctx)
	if err != nil {
		return f.unreachable(a.ended(err))
	}
	defer conn.Close() // the answer has come, or its error
	// An interrupt ends the wait; the command continues in the server.
	defer context.AfterFunc(a.ctx, func() { _ = conn.Close() })()
	replies := replyReader{conn: conn}
	send := func(command ...[]byte) (resp.Value, error) {
		// In pieces, because a word may be long.
		parts := net.Buffers{fmt.Appendf(nil, "*%d\r\n", len(command))}
		for _, word := range command {
			parts = append(parts, fmt.Appendf(nil, "$%d\r\n", len(word)), word, []byte("\r\n"))
		}
		if _, err := parts.WriteTo(conn); err != nil {
			return resp.Value{}, a.ended(err)
		}
		v, err := replies.next()
		if err != nil {
			return resp.Value{}, a.ended(err)
		}
		if v.Kind == resp.Error {
			return resp.Value{}, &serverError{v.Text}
		}
		return v, nil
	}
	if f.passwordFile != "" {
		password, err := daemon.ReadPassword(f.passwordFile)
		if err != nil {
			return err
		}
		if _, err := send([]byte("AUTH"), []byte(f.user), []byte(password)); err != nil {
			return err
		}
	}
	return talk(send)
}

// serverError is the error reply of a server.
type serverError struct{ text string }

func (e *serverError) Error() string { return "the server answers: " + e.text }

// denied reports whether the user has no right to the command or to one of its keys.
func (e *serverError) denied() bool { return strings.HasPrefix(e.text, "NOPERM ") }

// unknownCommand reports whether the server does not have the command.
func (e *serverError) unknownCommand() bool { return strings.HasPrefix(e.text, "ERR unknown command") }

// ended returns the signal that closed the connection, instead of the error that the
// closing causes.
func (a *app) ended(err error) error {
	if cause := context.Cause(a.ctx); cause != nil {
		return cause
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the server closed the connection")
	}
	return err
}

// unreachable says what to do about an error of dial.
func (f *serverFlags) unreachable(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return fmt.Errorf("no server can be reached at %s: %w; give the address of a seen serve with --server", f.addr, e.Err)
	}
	return err
}

// dial connects to the server.
func (f *serverFlags) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	if path, ok := strings.CutPrefix(f.addr, daemon.UnixScheme); ok {
		return d.DialContext(ctx, "unix", path)
	}
	address := f.addr
	if strings.Trim(address, "0123456789") == "" {
		return nil, usagef("--server %q has no host; write HOST:PORT, as in 127.0.0.1:%s", address, cmp.Or(address, remote.ServerPort))
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), remote.ServerPort)
	}
	if !f.tls && f.tlsCA == "" && f.tlsCert == "" {
		return d.DialContext(ctx, "tcp", address)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.tlsCA != "" {
		pool, err := daemon.ReadAuthorities(f.tlsCA)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		config.RootCAs = pool
	}
	if f.tlsCert != "" || f.tlsKey != "" {
		certificate, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return (&tls.Dialer{NetDialer: &d, Config: config}).DialContext(ctx, "tcp", address)
}

// replyReader reads replies from a connection.
type replyReader struct {
	conn net.Conn
	buf  []byte
}

// maxReply is the longest reply that a server of this project sends, in bytes.
const maxReply = 1 << 20

func (r *replyReader) next() (resp.Value, error) {
	for {
		if bytes.HasPrefix(r.buf, []byte("HTTP/")) {
			return resp.Value{}, errors.New("the server answers in HTTP; --server is the address of the Redis protocol, which seen serve --addr has, not that of --http")
		}
		v, n, err := resp.ParseReply(r.buf)
		if err != nil {
			return v, fmt.Errorf("the server does not speak this protocol: %w", err)
		}
		if n > 0 {
			r.buf = r.buf[n:]
			return v, nil
		}
		if len(r.buf) > maxReply {
			return v, fmt.Errorf("the server does not speak this protocol: a reply has more than %d bytes", maxReply)
		}
		part := make([]byte, 4096)
		if n, err = r.conn.Read(part); err != nil {
			return v, err
		}
		r.buf = append(r.buf, part[:n]...)
	}
}
