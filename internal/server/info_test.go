package server

import (
	"strings"
	"testing"
	"time"
)

// Expired values are counted in INFO. The store's own search may find them first, so the
// test checks the sum.
func TestInfoCountsExpired(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.want(":1", "BF.ADD", "a", "x")
	c.want(":1", "BF.ADD", "b", "x")
	c.want(":1", "EXPIRE", "a", "10")
	if text := c.do("INFO", "stats").Text; !strings.Contains(text, "\nexpired_keys:0\r\n") {
		t.Errorf("before: %q", text)
	}
	s.clock.advance(11 * time.Second)
	s.config.Store.Sweep()
	if text := c.do("INFO", "stats").Text; !strings.Contains(text, "\nexpired_keys:1\r\n") {
		t.Errorf("after: %q", text)
	}
}
