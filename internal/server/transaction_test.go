package server

import (
	"fmt"
	"testing"
)

func TestTransactionTranscript(t *testing.T) { transcript(t, "transactions") }

// EXEC is atomic for other clients: they never see a part of it.
func TestTransactionsAreWhole(t *testing.T) {
	s := start(t)
	writer, reader := s.dial(t), s.dial(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			writer.send("MULTI")
			writer.send("BF.ADD", "a", fmt.Sprint(i))
			writer.send("BF.ADD", "b", fmt.Sprint(i))
			writer.send("EXEC")
		}
		for range 4 * 300 {
			if _, err := writer.next(); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for i := 0; i < 300; {
		reader.send("MULTI")
		reader.send("BF.CARD", "a")
		reader.send("BF.CARD", "b")
		reader.send("EXEC")
		for range 3 {
			reader.read()
		}
		v := reader.read()
		if v.Elems[0].Int != v.Elems[1].Int {
			t.Fatalf("a has %d keys, b has %d", v.Elems[0].Int, v.Elems[1].Int)
		}
		i = int(v.Elems[0].Int) + 10 // filters may take some keys for known
	}
	<-done
}

// The commands of a transaction are kept within the budget of all buffers.
func TestTransactionsAreBounded(t *testing.T) {
	s := start(t, func(c *Config) { c.Limits.Queued = 3; c.Limits.Buffers = 100_000 })
	c := s.dial(t)
	c.do("MULTI")
	for range 3 {
		c.want("+QUEUED", "PING")
	}
	c.want("-ERR the transaction has too many commands", "PING")
	c.want("-EXECABORT Transaction discarded because of previous errors.", "EXEC")

	c.do("MULTI")
	large := string(make([]byte, 10_000))
	c.want("+QUEUED", "ECHO", large)
	if used := s.buffers.Used(); used < 10_000 {
		t.Errorf("%d bytes are accounted for", used)
	}
	c.do("DISCARD")
	if used := s.buffers.Used(); used >= 10_000 {
		t.Errorf("%d bytes are accounted for after DISCARD", used)
	}
	for range 2 {
		c.do("MULTI")
		for range 3 {
			c.want("+QUEUED", "ECHO", large)
		}
		c.do("EXEC")
	}
	if used := s.buffers.Used(); used >= 10_000 {
		t.Errorf("%d bytes are accounted for after EXEC", used)
	}
	huge := string(make([]byte, 45_000))
	c.do("MULTI")
	c.do("ECHO", huge)
	c.want("-ERR the buffers of all clients together have reached their limit; make the transaction smaller or try again", "ECHO", huge)
	c.want("-EXECABORT Transaction discarded because of previous errors.", "EXEC")
	c.want("+PONG", "PING")
}
