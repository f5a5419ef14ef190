package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// healthTime is how long CheckHealth waits for an answer.
const healthTime = 5 * time.Second

// CheckHealth asks the server that runs on this machine with the settings whether it is
// ready: on its first HTTP address, which tells more, or else on its first address for
// Redis clients or its Unix socket. It needs no password.
func CheckHealth(ctx context.Context, c *Config) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	var secure *tls.Config
	if c.tls != nil {
		// The certificate is of the name under which clients know the server, and nothing
		// secret is sent.
		secure = &tls.Config{Certificates: c.tls.Certificates, InsecureSkipVerify: true}
	}
	var address string
	var err error
	switch {
	case len(c.http) > 0:
		address = nearAddress(c.http[0])
		err = askReady(ctx, address, secure)
	case len(c.addr) > 0:
		address = nearAddress(c.addr[0])
		err = ping(ctx, "tcp", address, secure)
	default:
		address = UnixScheme + string(c.unix)
		err = ping(ctx, "unix", string(c.unix), nil)
	}
	var refused *net.OpError
	if errors.As(err, &refused) && refused.Op == "remote error" {
		return nil // the server is there, and accepts only clients with a certificate
	}
	if err != nil {
		return fmt.Errorf("the server on %s is not ready: %w", address, err)
	}
	return nil
}

// nearAddress returns the address of a listener as a client on this machine reaches it.
func nearAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address // dialling it says what is wrong
	}
	switch ip := net.ParseIP(host); {
	case host == "" || ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip.Equal(net.IPv6zero):
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}

func askReady(ctx context.Context, address string, secure *tls.Config) error {
	scheme := "http"
	if secure != nil {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(strings.TrimSpace(string(text)))
	}
	return err
}

// ping sends PING. A server that asks for a password is ready, too.
func ping(ctx context.Context, network, address string, secure *tls.Config) error {
	var conn net.Conn
	var err error
	if secure != nil {
		conn, err = (&tls.Dialer{Config: secure}).DialContext(ctx, network, address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
	}
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is lost
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	reply := make([]byte, len("+PONG"))
	if _, err := io.ReadFull(conn, reply); err != nil {
		return err
	}
	switch string(reply) {
	case "+PONG", "-NOAU":
		return nil
	}
	return fmt.Errorf("it answers PING with %q", reply)
}
