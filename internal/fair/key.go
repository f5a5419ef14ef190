package fair

import (
	"net"
	"net/netip"
)

// unixKey is the key of all clients on Unix sockets.
const unixKey = "unix"

// Key returns the key under which an address is counted: an IPv4 address itself, the /64
// network of an IPv6 address, because one customer has a whole network.
func Key(a net.Addr) string {
	switch a := a.(type) {
	case nil:
		return "unknown"
	case *net.UnixAddr:
		return unixKey
	case *net.TCPAddr:
		return ipKey(a.AddrPort().Addr())
	}
	return KeyOf(a.String())
}

// KeyOf is Key for an address in text form, with or without a port.
func KeyOf(text string) string {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ipKey(ap.Addr())
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return ipKey(ip)
	}
	return text
}

func ipKey(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// Local reports whether an address is on this machine: a Unix socket or the loopback
// interface.
func Local(a net.Addr) bool {
	switch a := a.(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		return a != nil && a.IP.IsLoopback()
	}
	return false
}

// LocalText is Local for an address in text form, with a port.
func LocalText(text string) bool {
	ap, err := netip.ParseAddrPort(text)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}
