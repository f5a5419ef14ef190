package daemon

import (
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"time"

	"seen/internal/cli/flagvalue"
	"seen/internal/figure"
	"seen/internal/pages"
)

// The types in this file are values that only settings of the server have.

type textSetting string

func (v *textSetting) Set(s string) error { *v = textSetting(s); return nil }
func (v *textSetting) String() string     { return string(*v) }
func (v *textSetting) Type() string       { return "TEXT" }

type boolSetting bool

func (v *boolSetting) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("%q is not true or false", s)
	}
	*v = boolSetting(b)
	return nil
}
func (v *boolSetting) String() string { return strconv.FormatBool(bool(*v)) }
func (v *boolSetting) Type() string   { return "bool" }

// numberSetting is a whole number between limits.
type numberSetting struct {
	value       uint64
	least, most uint64
}

func (v *numberSetting) Set(s string) error {
	n, err := figure.ParseCount(s)
	if err != nil {
		return err
	}
	if n < v.least || n > v.most {
		return fmt.Errorf("%s is outside %d to %d", s, v.least, v.most)
	}
	v.value = n
	return nil
}
func (v *numberSetting) String() string { return strconv.FormatUint(v.value, 10) }
func (v *numberSetting) Type() string   { return "N" }

// off means none, instead of an address, a size or a time span.
const off = "off"

// limitSetting is an amount of memory, auto, or off: no limit.
type limitSetting struct {
	auto bool
	size flagvalue.Size // 0: no limit
}

// The limit auto is this share of the memory that the process may use.
const (
	auto            = "auto"
	autoNumerator   = 4
	autoDenominator = 5
)

func (v *limitSetting) Set(s string) error {
	switch s {
	case auto:
		*v = limitSetting{auto: true}
		return nil
	case off, "0":
		*v = limitSetting{}
		return nil
	}
	v.auto = false
	return v.size.Set(s)
}

func (v *limitSetting) String() string {
	switch {
	case v.auto:
		return auto
	case v.size == 0:
		return off
	}
	return formatSize(uint64(v.size))
}
func (v *limitSetting) Type() string { return "SIZE" }

// bytes returns the limit, or 0 if there is none. If the memory of the machine is
// unknown, auto sets no limit.
func (v *limitSetting) bytes() uint64 {
	if v.auto {
		return pages.Machine() / autoDenominator * autoNumerator
	}
	return uint64(v.size)
}

// sizeSetting is an amount of memory above 0.
type sizeSetting uint64

func (v *sizeSetting) Set(s string) error {
	var size flagvalue.Size
	if err := size.Set(s); err != nil {
		return err
	}
	if size == 0 {
		return fmt.Errorf("%q is not a size above 0; write for example 64MiB", s)
	}
	*v = sizeSetting(size)
	return nil
}
func (v *sizeSetting) String() string { return formatSize(uint64(*v)) }
func (v *sizeSetting) Type() string   { return "SIZE" }

// formatSize writes a size in the largest binary unit that leaves no remainder.
func formatSize(n uint64) string {
	for _, unit := range []struct {
		bytes uint64
		name  string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return strconv.FormatUint(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatUint(n, 10)
}

// timeoutSetting is a time span, or off: never.
type timeoutSetting time.Duration

func (v *timeoutSetting) Set(s string) error {
	if s == off || s == "0" {
		*v = 0
		return nil
	}
	return (*flagvalue.Duration)(v).Set(s)
}
func (v *timeoutSetting) String() string {
	if *v == 0 {
		return off
	}
	return flagvalue.FormatDuration(time.Duration(*v))
}
func (v *timeoutSetting) Type() string { return "SPAN" }

// checkpointSetting says how often filters are written to disk: after so many bytes of
// log (0: the default of the store), and after so much time (0: never).
type checkpointSetting struct {
	bytes uint64
	every time.Duration
}

func (v *checkpointSetting) Set(s string) error {
	var next checkpointSetting
	for part := range strings.SplitSeq(s, ",") {
		var size flagvalue.Size
		if d, err := flagvalue.ParseDuration(part); err == nil && next.every == 0 {
			next.every = d
		} else if err := size.Set(part); err == nil && size > 0 && next.bytes == 0 {
			next.bytes = uint64(size)
		} else {
			return fmt.Errorf("%q is not a size, a time span, or both with a comma; write for example 64MiB, 5m or 64MiB,5m", s)
		}
	}
	*v = next
	return nil
}
func (v *checkpointSetting) String() string {
	var parts []string
	if v.bytes > 0 {
		parts = append(parts, formatSize(v.bytes))
	}
	if v.every > 0 {
		parts = append(parts, flagvalue.FormatDuration(v.every))
	}
	return strings.Join(parts, ",")
}
func (v *checkpointSetting) Type() string { return "LIMIT" }

// modeSetting is the permissions of a file, in octal.
type modeSetting fs.FileMode

func (v *modeSetting) Set(s string) error {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n > 0o777 {
		return fmt.Errorf("%q is not a file mode; write for example 600 or 660", s)
	}
	*v = modeSetting(n)
	return nil
}
func (v *modeSetting) String() string { return strconv.FormatUint(uint64(*v), 8) }
func (v *modeSetting) Type() string   { return "MODE" }

// addressSetting is addresses to listen on, HOST:PORT each, or off: none.
type addressSetting []string

func (v *addressSetting) Set(s string) error {
	next := addressSetting{}
	if s != off && s != "" {
		for address := range strings.SplitSeq(s, ",") {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return fmt.Errorf("%q is not an address; write for example 127.0.0.1:6380, [::1]:6380, or :6380 for all addresses of the machine", address)
			}
			if n, err := strconv.ParseUint(port, 10, 16); err != nil {
				return fmt.Errorf("%q has no port between 0 and 65535", address)
			} else if n == 0 && port != "0" {
				return fmt.Errorf("%q has no port; write port 0 to have one chosen", address)
			}
			next = append(next, address)
		}
	}
	*v = next
	return nil
}
func (v *addressSetting) String() string { return strings.Join(*v, ",") }
func (v *addressSetting) Type() string   { return "ADDR" }
func (*addressSetting) isList()          {}

// namesSetting is names, separated by commas.
type namesSetting []string

func (v *namesSetting) Set(s string) error {
	next := namesSetting{}
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name != "" {
			next = append(next, name)
		}
	}
	*v = next
	return nil
}
func (v *namesSetting) String() string { return strings.Join(*v, ",") }
func (v *namesSetting) Type() string   { return "NAMES" }
func (*namesSetting) isList()          {}

// isLoopback reports whether only this machine can reach an address to listen on.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
