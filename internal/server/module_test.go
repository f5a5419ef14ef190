package server

import (
	"strings"
	"testing"
)

// Clients look for the module in three places before they use its commands.
func TestModuleIsListed(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	for _, proto := range []string{"2", "3"} {
		hello := c.do("HELLO", proto)
		list := c.do("MODULE", "LIST")
		if len(list.Elems) != 1 || len(list.Elems[0].Elems) != 8 || list.Elems[0].Elems[1].Text != "bf" {
			t.Fatalf("MODULE LIST in version %s: %v", proto, list)
		}
		if n := len(hello.Elems); n != 14 || hello.Elems[n-2].Text != "modules" || hello.Elems[n-1].String() != list.String() {
			t.Errorf("HELLO %s: %v; want the modules %v", proto, hello, list)
		}
	}
	if text := c.do("INFO", "modules").Text; !strings.Contains(text, "module:name=bf,ver=20802,") {
		t.Errorf("INFO modules: %q", text)
	}
}
