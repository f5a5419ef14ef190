package cli

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// The pages are served until a signal comes, and that is a good end.
func TestWeb(t *testing.T) {
	cmd := command("web", "--addr", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"": "BF.RESERVE KEY", "how": "The bits", "plan?n=1M": "1,000,000"} {
		answer, err := http.Get(strings.TrimSpace(address) + path)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), want) {
			t.Errorf("%q: %s, %v", path, answer.Status, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

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
