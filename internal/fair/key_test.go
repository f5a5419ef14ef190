package fair

import (
	"net"
	"testing"
)

func TestKey(t *testing.T) {
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 4711, Zone: ""} }
	for _, c := range []struct {
		addr  net.Addr
		want  string
		local bool
	}{
		{tcp("203.0.113.7"), "203.0.113.7", false},
		{tcp("::ffff:203.0.113.7"), "203.0.113.7", false},
		{tcp("127.0.0.1"), "127.0.0.1", true},
		{tcp("::ffff:127.9.0.1"), "127.9.0.1", true},
		{tcp("::1"), "::1", true},
		{tcp("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64", false},
		{tcp("2001:db8:1:2:ffff::"), "2001:db8:1:2::/64", false},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}, "fe80::/64", false},
		{&net.UnixAddr{Name: "/run/x", Net: "unix"}, unixKey, true},
		{&net.TCPAddr{}, "invalid IP", false},
		{nil, "unknown", false},
	} {
		if got := Key(c.addr); got != c.want {
			t.Errorf("Key(%v) is %q, want %q", c.addr, got, c.want)
		}
		if got := Local(c.addr); got != c.local {
			t.Errorf("Local(%v) is %v", c.addr, got)
		}
		if a, ok := c.addr.(*net.TCPAddr); ok && a.IP != nil {
			if got := KeyOf(a.String()); got != c.want {
				t.Errorf("KeyOf(%q) is %q, want %q", a, got, c.want)
			}
			if got := LocalText(a.String()); got != c.local {
				t.Errorf("LocalText(%q) is %v", a, got)
			}
		}
	}
}
