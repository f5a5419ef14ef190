package server

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/store"
)

// A setting can be read by CONFIG GET and may be changed by CONFIG SET.
type setting struct {
	name string
	get  func(s *Server) string
	// check returns a function that sets the value, or what is wrong with the value. nil:
	// the setting cannot be changed.
	check func(s *Server, value string) (set func(), problem string)
}

// constant is a setting that has the same value in every server.
func constant(name, value string) setting {
	return setting{name: name, get: func(*Server) string { return value }}
}

// fixed is a setting that does not change after the start.
func fixed(name string, get func(s *Server) string) setting { return setting{name: name, get: get} }

func wholeNumber(name string, least, most int64, get func(s *Server) int64, set func(s *Server, n int64)) setting {
	return setting{
		name: name,
		get:  func(s *Server) string { return strconv.FormatInt(get(s), 10) },
		check: func(s *Server, value string) (func(), string) {
			n, ok := resp.ParseInt([]byte(value))
			if !ok {
				return nil, "argument couldn't be parsed into an integer"
			}
			if n < least || n > most {
				return nil, fmt.Sprintf("argument must be between %d and %d inclusive", least, most)
			}
			return func() { set(s, n) }, ""
		},
	}
}

// settings are all settings except the defaults of new filters.
var settings = []setting{
	{
		name: "maxmemory",
		get:  func(s *Server) string { return strconv.FormatUint(s.store.MaxMemory(), 10) },
		check: func(s *Server, value string) (func(), string) {
			n, ok := parseMemory(value)
			if !ok {
				return nil, "argument must be a memory value"
			}
			return func() { s.store.SetMaxMemory(n) }, ""
		},
	},
	{
		name: "appendfsync",
		get:  func(s *Server) string { return s.store.Fsync().String() },
		check: func(s *Server, value string) (func(), string) {
			f, err := store.ParseFsync(strings.ToLower(value))
			if err != nil {
				return nil, "argument(s) must be one of the following: everysec, always, no"
			}
			return func() { s.store.SetFsync(f) }, ""
		},
	},
	{
		name: "layout",
		get:  func(s *Server) string { return s.store.Layout().String() },
		check: func(s *Server, value string) (func(), string) {
			l, err := store.ParseLayout(strings.ToLower(value))
			if err != nil {
				return nil, "argument(s) must be one of the following: seen, redisbloom"
			}
			return func() { s.store.SetLayout(l) }, ""
		},
	},
	{
		name: "requirepass",
		get:  func(s *Server) string { return "" }, // the server keeps only the hash
		check: func(s *Server, value string) (func(), string) {
			return func() { s.acl.SetPassword(value) }, ""
		},
	},
	wholeNumber("maxclients", 1, math.MaxUint32, func(s *Server) int64 { return s.maxClients.Load() }, (*Server).setMaxClients),
	wholeNumber("timeout", 0, math.MaxInt32, func(s *Server) int64 { return s.idleLimit.Load() / int64(time.Second) },
		func(s *Server, n int64) { s.idleLimit.Store(n * int64(time.Second)) }),
	wholeNumber("slowlog-log-slower-than", -1, math.MaxInt64, func(s *Server) int64 { return s.slowLog.threshold.Load() },
		func(s *Server, n int64) { s.slowLog.threshold.Store(n) }),
	wholeNumber("slowlog-max-len", 0, math.MaxInt64, func(s *Server) int64 { return s.slowLog.length.Load() }, func(s *Server, n int64) { s.slowLog.length.Store(n) }),
	fixed("port", func(s *Server) string { return strconv.Itoa(s.port()) }),
	fixed("aclfile", func(s *Server) string { return s.config.ACLFile }),
	fixed("proto-max-bulk-len", func(s *Server) string { return strconv.Itoa(s.config.Limits.Command.Bulk) }),
	fixed("client-query-buffer-limit", func(s *Server) string { return strconv.Itoa(s.config.Limits.Command.Total) }),
	fixed("client-output-buffer-limit", func(s *Server) string {
		return fmt.Sprintf("normal %d 0 %d slave 0 0 0 pubsub 0 0 0", s.config.Limits.Output, int64(s.config.Limits.Stalled/time.Second))
	}),
	constant("appendonly", "yes"),
	constant("cluster-enabled", "no"),
	constant("databases", "1"),
	constant("maxmemory-policy", "noeviction"),
	constant("notify-keyspace-events", ""),
	constant("save", ""),
}

// parseMemory reads a number of bytes as Redis does: 100, 1k (1000), 1kb (1024).
func parseMemory(text string) (bytes uint64, ok bool) {
	digits := strings.TrimRight(strings.ToLower(text), "bkmgt")
	unit, ok := map[string]uint64{
		"": 1, "b": 1, "k": 1e3, "kb": 1 << 10, "m": 1e6, "mb": 1 << 20, "g": 1e9, "gb": 1 << 30,
	}[strings.ToLower(text)[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// settingsLike returns the names and values of settings that match a pattern.
func (s *Server) settingsLike(pattern string) (pairs [][2]string) {
	for _, one := range settings {
		if acl.Match([]byte(pattern), []byte(one.name)) {
			pairs = append(pairs, [2]string{one.name, one.get(s)})
		}
	}
	filters := s.filters.Load()
	for _, name := range filterSettingNames {
		if acl.Match([]byte(pattern), []byte(name)) {
			value, _ := filters.get(name)
			pairs = append(pairs, [2]string{name, value})
		}
	}
	return pairs
}

// A change is a setting and its new value.
type change struct{ name, value string }

// configure makes all changes. If one is wrong, it makes none and returns its name and the
// problem.
func (s *Server) configure(changes []change) (name, problem string) {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	filters := *s.filters.Load()
	var sets []func()
	for i, ch := range changes {
		if slices.ContainsFunc(changes[:i], func(other change) bool { return other.name == ch.name }) {
			return ch.name, "duplicate parameter"
		}
		at := slices.IndexFunc(settings, func(one setting) bool { return one.name == ch.name })
		if at < 0 {
			changed, problem := filters.set(ch.name, ch.value)
			if problem != "" {
				return ch.name, problem
			}
			filters = changed
			continue
		}
		if settings[at].check == nil {
			return ch.name, "can't set immutable config"
		}
		set, problem := settings[at].check(s, ch.value)
		if problem != "" {
			return ch.name, problem
		}
		sets = append(sets, set)
	}
	s.filters.Store(&filters)
	for _, set := range sets {
		set()
	}
	return "", ""
}

func isSetting(name string) bool {
	return slices.Contains(filterSettingNames, name) || slices.ContainsFunc(settings, func(one setting) bool { return one.name == name })
}
