package cli

import (
	"net"
	"testing"
)

// A listener for few connections accepts the next when one of them has gone, and
// can be closed while it waits for that.
func TestFewListener(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newFewListener(inner, 2)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	for range 4 {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first, second := <-accepted, <-accepted
	if n := len(l.slots); n != 2 {
		t.Fatalf("%d places are taken", n)
	}
	_ = first.Close()
	_ = first.Close() // twice frees one place
	third := <-accepted
	if n := len(l.slots); n != 2 {
		t.Fatalf("%d places are taken after one was left", n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if c, more := <-accepted; more {
		t.Errorf("a connection too many was accepted: %v", c.RemoteAddr())
	}
	_, _ = second.Close(), third.Close()
}
