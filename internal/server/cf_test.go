package server

import (
	"fmt"
	"testing"
)

func TestCuckooTranscript(t *testing.T) { transcript(t, "cf") }

// While a cuckoo filter is created, even one whose first keys take very long, transactions
// of other clients run.
func TestCuckooFiltersBesideTransactions(t *testing.T) {
	s := start(t)
	c, other := s.dial(t), s.dial(t)
	c.want("+OK", "CONFIG", "SET", "cf-max-iterations", "65535")
	done, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			for _, words := range [][]string{{"MULTI"}, {"CF.RESERVE", "others", "10"}, {"DEL", "others"}, {"EXEC"}} {
				other.send(words...)
				if _, err := other.next(); err != nil {
					ended <- err
					return
				}
			}
			select {
			case <-done:
				ended <- nil
				return
			default:
			}
		}
	}()
	for i := range 10 {
		if v := c.do(numbered(1000, "CF.INSERT", fmt.Sprint("filter", i), "ITEMS")...); len(v.Elems) != 1000 {
			t.Errorf("%.100s", v)
		}
	}
	close(done)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
