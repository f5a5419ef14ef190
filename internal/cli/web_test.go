package cli

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
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
	for path, want := range map[string]string{"": "seen build -o SET", "how": "The bits", "plan?n=1M": "1,000,000"} {
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
	// There is a limit of connections. The next waits until one has gone.
	url := strings.TrimSpace(address)
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	idle := make([]net.Conn, maxWebConnections)
	for i := range idle {
		if idle[i], err = net.Dial("tcp", host); err != nil {
			t.Fatal(err)
		}
		defer idle[i].Close()
	}
	waiting := make(chan error, 1)
	go func() {
		answer, err := http.Get(url)
		if err == nil {
			err = answer.Body.Close()
		}
		waiting <- err
	}()
	select {
	case err := <-waiting:
		t.Errorf("a connection over the limit was served (%v)", err)
	case <-time.After(200 * time.Millisecond):
		_ = idle[0].Close()
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	}
	for _, c := range idle {
		_ = c.Close()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
