package crashtest

import (
	"io"
	"net"
	"strings"
	"time"

	"seen/internal/resp"
)

// Client is a connection to a server.
type Client struct {
	net.Conn
	in   []byte
	part [64 << 10]byte
}

// Dial connects to an address, HOST:PORT or unix:PATH.
func Dial(addr string) (*Client, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, addr = "unix", path
	}
	conn, err := net.DialTimeout(network, addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return &Client{Conn: conn}, nil
}

// Do sends a command and returns its reply. An error means that the connection
// failed and nothing is known about the command.
func (c *Client) Do(args ...string) (resp.Value, error) {
	if err := c.Send(args...); err != nil {
		return resp.Value{}, err
	}
	return c.Receive()
}

// Send sends a command and does not wait for its reply.
func (c *Client) Send(args ...string) error {
	_, err := c.Write(resp.AppendCommand(nil, args...))
	return err
}

// Receive waits for the next reply. io.ErrUnexpectedEOF means that the connection
// ended within it.
func (c *Client) Receive() (resp.Value, error) {
	for {
		v, n, err := resp.ParseReply(c.in)
		if n > 0 || err != nil {
			c.in = c.in[n:]
			return v, err
		}
		if n, err = c.Read(c.part[:]); err != nil {
			if err == io.EOF && len(c.in) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return resp.Value{}, err
		}
		c.in = append(c.in, c.part[:n]...)
	}
}
