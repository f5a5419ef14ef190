package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"seen/internal/resp"
)

// load is what the lean client sends: prepared requests, each a pipeline of commands,
// with the expected size of the replies.
type load struct {
	requests [][]byte
	lines    int   // lines of reply to one request
	keys     int   // keys in one request
	digits   []int // positions of the digits of the keys in each request; nil: keys are repeated
}

// keyDigits is the number of digits of a key.
const keyDigits = 12

// key appends the key with a number, in the form of redis-benchmark.
func key(b []byte, n uint64) []byte {
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], n, 10)
	b = append(b, "key:"...)
	for range keyDigits - len(text) {
		b = append(b, '0')
	}
	return append(b, text...)
}

// newLoad returns requests with pipeline commands each. The function command makes a
// command from keysEach keys below limit; its reply has linesEach lines.
func newLoad(pipeline, keysEach, linesEach int, limit uint64, command func(keys [][]byte) [][]byte) *load {
	r := rand.New(rand.NewPCG(1, uint64(pipeline)))
	l := &load{lines: pipeline * linesEach, keys: pipeline * keysEach}
	// Use enough keys that the lines of the filter are not all in the caches.
	for range max(16, min(20_000, 2_000_000/l.keys)) {
		var b []byte
		for range pipeline {
			keys := make([][]byte, keysEach)
			for i := range keys {
				keys[i] = key(nil, r.Uint64N(limit))
			}
			b = resp.AppendCommand(b, command(keys)...)
		}
		l.requests = append(l.requests, b)
	}
	return l
}

// newAdditions returns requests that have new keys each time: to add a key again would
// only be a look-up.
func newAdditions(pipeline, keysEach, linesEach int, command func(keys [][]byte) [][]byte) *load {
	l := newLoad(pipeline, keysEach, linesEach, 1, command)
	l.requests = l.requests[:1]
	for from := 0; ; {
		i := bytes.Index(l.requests[0][from:], []byte("key:"))
		if i < 0 {
			return l
		}
		from += i + len("key:")
		l.digits = append(l.digits, from)
	}
}

// renew numbers the keys of a request from counter on, and advances counter.
func (l *load) renew(request []byte, counter *[keyDigits]byte) {
	for _, at := range l.digits {
		copy(request[at:], counter[:])
		for i := keyDigits - 1; i >= 0; i-- {
			if counter[i]++; counter[i] <= '9' {
				break
			}
			counter[i] = '0'
		}
	}
}

// words returns a function that appends keys to the fixed words of a command.
func words(fixed ...string) func(keys [][]byte) [][]byte {
	return func(keys [][]byte) [][]byte {
		var all [][]byte
		for _, w := range fixed {
			all = append(all, []byte(w))
		}
		return append(all, keys...)
	}
}

// outcome is the result of one run of a client.
type outcome struct {
	rate float64 // keys per second
	cpu  float64 // seconds of the server's processor time per key
}

// client is a connection that sends requests and counts the lines of replies.
type client struct {
	conn net.Conn
	in   []byte
}

func dial(ctx context.Context, addr string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: make([]byte, 64<<10)}, nil
}

// ask sends a request and waits for all lines of its replies.
func (c *client) ask(request []byte, lines int) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	for lines > 0 {
		n, err := c.conn.Read(c.in)
		if err != nil {
			return err
		}
		if i := bytes.IndexByte(c.in[:n], '-'); i >= 0 {
			return fmt.Errorf("a reply is an error or null: %.100q", c.in[i:n])
		}
		lines -= bytes.Count(c.in[:n], []byte{'\n'})
	}
	if lines < 0 {
		return fmt.Errorf("the replies have %d lines too many", -lines)
	}
	return nil
}

// do runs one command and returns its reply.
func (c *client) do(args ...string) (resp.Value, error) {
	if _, err := c.conn.Write(resp.AppendCommand(nil, args...)); err != nil {
		return resp.Value{}, err
	}
	var b []byte
	for {
		n, err := c.conn.Read(c.in)
		if err != nil {
			return resp.Value{}, err
		}
		b = append(b, c.in[:n]...)
		v, n, err := resp.ParseReply(b)
		if err != nil {
			return v, err
		}
		if n > 0 {
			if v.Kind == resp.Error {
				return v, fmt.Errorf("%s: %s", args[0], v.Text)
			}
			return v, nil
		}
	}
}

// do runs one command on a connection of its own.
func (p *process) do(ctx context.Context, args ...string) error {
	c, err := dial(ctx, p.addr)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	_, err = c.do(args...)
	return err
}

// drive sends the load over some connections for a time.
func (p *process) drive(ctx context.Context, l *load, connections int, span time.Duration) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	var (
		group    sync.WaitGroup
		mutex    sync.Mutex
		requests int
		failure  error
	)
	before, err := p.cpu()
	if err != nil {
		return outcome{}, err
	}
	began := time.Now()
	for i := range connections {
		group.Go(func() {
			n, err := p.driveOne(ctx, l, i*len(l.requests)/connections)
			mutex.Lock()
			defer mutex.Unlock()
			requests += n
			if failure == nil {
				failure = err
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	after, err := p.cpu()
	if failure != nil {
		err = failure
	}
	keys := float64(requests * l.keys)
	return outcome{rate: keys / took.Seconds(), cpu: (after - before).Seconds() / keys}, err
}

// driveOne sends requests over one connection, beginning with the given one, until ctx
// ends.
func (p *process) driveOne(ctx context.Context, l *load, from int) (n int, err error) {
	c, err := dial(ctx, p.addr)
	if err != nil {
		return 0, err
	}
	defer c.conn.Close()
	var counter [keyDigits]byte
	copy(counter[:], key(nil, 1e11+rand.Uint64N(8e11))[len("key:"):])
	own := bytes.Clone(l.requests[0])
	for ; ctx.Err() == nil; n++ {
		request := l.requests[(from+n)%len(l.requests)]
		if l.digits != nil {
			request = own
			l.renew(request, &counter)
		}
		if err := c.ask(request, l.lines); err != nil {
			return n, err
		}
	}
	return n, nil
}

// fill sends commands of 1000 keys each for the keys from 0 to n.
func (p *process) fill(ctx context.Context, n uint64, lines int, command func(keys [][]byte) [][]byte) error {
	c, err := dial(ctx, p.addr)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	const each = 1000
	keys := make([][]byte, each)
	var b []byte
	for from := uint64(0); from < n; from += each {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range keys {
			keys[i] = key(keys[i][:0], from+uint64(i))
		}
		b = resp.AppendCommand(b[:0], command(keys)...)
		if err := c.ask(b, lines); err != nil {
			return err
		}
	}
	return nil
}
