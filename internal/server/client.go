package server

import (
	"strings"

	"seen/internal/resp"
)

const (
	forAll   = flagNoScript | flagLoading | flagStale | flagAlone
	forAdmin = forAll | flagAdmin
)

var clientCommands = []command{
	{name: "id", arity: 2, flags: forAll, handle: clientID, since: "5.0.0", complexity: "O(1)", summary: "Tells the number of the connection."},
	{name: "info", arity: 2, flags: forAll, handle: clientInfo, since: "6.2.0", complexity: "O(1)", summary: "Describes the connection."},
	{
		name: "list", arity: -2, flags: forAdmin, handle: clientList, since: "2.4.0", complexity: "O(n), n connections", summary: "Describes connections.",
		arguments: arguments("[TYPE normal|master|replica|pubsub] [ID client-id [client-id ...]]"),
	},
	{name: "getname", arity: 2, flags: forAll, handle: clientGetName, since: "2.6.9", complexity: "O(1)", summary: "Tells the name of the connection."},
	{
		name: "setname", arity: 3, flags: forAll, handle: clientSetName, since: "2.6.9", complexity: "O(1)", summary: "Names the connection.",
		arguments: arguments("connection-name"),
	},
	{
		name: "setinfo", arity: 4, flags: forAll, handle: clientSetInfo, since: "7.2.0", complexity: "O(1)", summary: "Tells the library of the client and its version.",
		arguments: arguments("LIB-NAME|LIB-VER value"),
	},
	{
		name: "kill", arity: -3, flags: forAdmin, handle: clientKill, since: "2.4.0", complexity: "O(n), n connections", summary: "Ends connections.",
		arguments: arguments("[ip:port] [ID client-id] [TYPE normal|master|replica|pubsub] [USER username] [ADDR address] [LADDR address] [SKIPME yes|no]"),
	},
	{
		// Not within a transaction: EXEC announces how many replies come.
		name: "reply", arity: 3, flags: forAll | flagNoMulti, handle: clientReply, since: "3.2.0", complexity: "O(1)", summary: "Chooses whether commands are answered.",
		arguments: arguments("ON|OFF|SKIP"),
	},
	{
		name: "no-evict", arity: 3, flags: forAdmin, handle: clientNoEvict, since: "7.0.0", complexity: "O(1)", summary: "Is noted; no client is closed to save memory.",
		arguments: arguments("ON|OFF"),
	},
	{
		name: "no-touch", arity: 3, flags: forAll, handle: clientNoTouch, since: "7.2.0", complexity: "O(1)", summary: "Is noted; the last use of keys is not kept.",
		arguments: arguments("ON|OFF"),
	},
	{
		name: "tracking", arity: -3, flags: forAll, handle: clientTracking, since: "6.0.0", complexity: "O(1)", summary: "Accepts OFF; changes are not told to clients.",
		arguments: arguments("ON|OFF"),
	},
	{name: "trackinginfo", arity: 2, flags: forAll, handle: clientTrackingInfo, since: "6.2.0", complexity: "O(1)", summary: "Tells that changes are not told."},
	{
		name: "caching", arity: 3, flags: forAll, handle: clientCaching, since: "6.0.0", complexity: "O(1)", summary: "Is refused, as without tracking.",
		arguments: arguments("YES|NO"),
	},
	{name: "getredir", arity: 2, flags: forAll, handle: clientGetRedir, since: "6.0.0", complexity: "O(1)", summary: "Tells that changes are not told."},
	help("5.0.0"),
}

const badClientName = "ERR Client names cannot contain spaces, newlines or special characters."

func clientID(c *call) { c.out.Int(c.id) }

func clientInfo(c *call) {
	c.tell()
	c.out.Verbatim("txt", c.describe()+"\n")
}

func clientList(c *call) {
	c.tell()
	rest := c.args[2:]
	wanted := func(*conn) bool { return true }
	switch {
	case len(rest) == 0:
	case len(rest) == 2 && isWord(rest[0], "TYPE"):
		normal, ok := clientType(rest[1])
		if !ok {
			c.out.Error("ERR Unknown client type '" + string(rest[1]) + "'")
			return
		}
		wanted = func(*conn) bool { return normal }
	case len(rest) >= 2 && isWord(rest[0], "ID"):
		ids := map[int64]bool{}
		for _, arg := range rest[1:] {
			id, ok := resp.ParseInt(arg)
			if !ok || id < 1 {
				c.out.Error("ERR Invalid client ID")
				return
			}
			ids[id] = true
		}
		wanted = func(other *conn) bool { return ids[other.id] }
	default:
		c.out.Error(syntaxError)
		return
	}
	var text strings.Builder
	for _, other := range c.server.clients.list() {
		if wanted(other) {
			text.WriteString(other.describe())
			text.WriteByte('\n')
		}
	}
	c.out.Verbatim("txt", text.String())
}

// clientType reports whether a type of clients is the only one that there is here,
// and whether there is such a type at all.
func clientType(word []byte) (normal, ok bool) {
	switch strings.ToLower(string(word)) {
	case "normal":
		return true, true
	case "master", "replica", "slave", "pubsub":
		return false, true
	}
	return false, false
}

func clientGetName(c *call) {
	if name := c.name(); name != "" {
		c.out.BulkString(name)
	} else {
		c.out.Null()
	}
}

func clientSetName(c *call) {
	if !plainName(c.args[2]) {
		c.out.Error(badClientName)
		return
	}
	c.setName(c.args[2])
	c.out.OK()
}

func (c *call) setName(name []byte) {
	c.about.mu.Lock()
	defer c.about.mu.Unlock()
	c.about.name = string(name)
}

func clientSetInfo(c *call) {
	var field *string
	switch {
	case isWord(c.args[2], "LIB-NAME"):
		field = &c.about.library
	case isWord(c.args[2], "LIB-VER"):
		field = &c.about.version
	default:
		c.out.Error("ERR Unrecognized option '" + string(c.args[2]) + "'")
		return
	}
	value := c.args[3]
	if !plainName(value) {
		c.out.Error("ERR " + strings.ToLower(string(c.args[2])) + " cannot contain spaces, newlines or special characters.")
		return
	}
	c.about.mu.Lock()
	*field = string(value)
	c.about.mu.Unlock()
	c.out.OK()
}

func clientReply(c *call) {
	switch {
	case isWord(c.args[2], "ON"):
		c.mute = muteNothing
		c.out.OK()
	case isWord(c.args[2], "OFF"):
		c.mute = muteAll
	case isWord(c.args[2], "SKIP"):
		if c.mute != muteAll {
			c.mute = muteNext
		}
	default:
		c.out.Error(syntaxError)
	}
}

// onOff reads the last word of a command; it writes the error if it is neither.
func (c *call) onOff() (on, ok bool) {
	switch word := c.args[2]; {
	case isWord(word, "ON"):
		return true, true
	case isWord(word, "OFF"):
		return false, true
	}
	c.out.Error(syntaxError)
	return false, false
}

func clientNoEvict(c *call) { c.note(&c.about.noEvict) }
func clientNoTouch(c *call) { c.note(&c.about.noTouch) }

// note keeps a wish of the client that others see.
func (c *call) note(wish *bool) {
	on, ok := c.onOff()
	if !ok {
		return
	}
	c.about.mu.Lock()
	*wish = on
	c.about.mu.Unlock()
	c.out.OK()
}

func clientTracking(c *call) {
	on, ok := c.onOff()
	switch {
	case !ok:
	case on:
		c.out.Error("ERR this server does not tell clients about changes: client-side caching is not supported")
	default:
		c.out.OK()
	}
}

func clientTrackingInfo(c *call) {
	c.out.Map(3)
	c.out.BulkString("flags")
	c.out.Set(1)
	c.out.BulkString("off")
	c.out.BulkString("redirect")
	c.out.Int(-1)
	c.out.BulkString("prefixes")
	c.out.Array(0)
}

func clientCaching(c *call) {
	c.out.Error("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
}

func clientGetRedir(c *call) { c.out.Int(-1) }

func clientKill(c *call) {
	if len(c.args) == 3 {
		address := string(c.args[2])
		if c.kill(func(other *conn) bool { return other.address() == address }) == 0 {
			c.out.Error("ERR No such client")
		} else {
			c.out.OK()
		}
		return
	}
	wanted, problem := c.killOptions(c.args[2:])
	if problem != "" {
		c.out.Error(problem)
		return
	}
	c.out.Int(int64(c.kill(wanted)))
}

// killOptions reads which connections CLIENT KILL is to end.
func (c *call) killOptions(rest [][]byte) (wanted func(*conn) bool, problem string) {
	skipMe := true
	var tests []func(*conn) bool
	for ; len(rest) >= 2; rest = rest[2:] {
		value := string(rest[1])
		switch {
		case isWord(rest[0], "ID"):
			id, ok := resp.ParseInt(rest[1])
			if !ok || id < 1 {
				return nil, "ERR client-id should be greater than 0"
			}
			tests = append(tests, func(other *conn) bool { return other.id == id })
		case isWord(rest[0], "TYPE"):
			normal, ok := clientType(rest[1])
			if !ok {
				return nil, "ERR Unknown client type '" + value + "'"
			}
			tests = append(tests, func(*conn) bool { return normal })
		case isWord(rest[0], "ADDR"):
			tests = append(tests, func(other *conn) bool { return other.address() == value })
		case isWord(rest[0], "LADDR"):
			tests = append(tests, func(other *conn) bool { return other.localAddress() == value })
		case isWord(rest[0], "USER"):
			if c.server.acl.get(value) == nil {
				return nil, "ERR No such user '" + value + "'"
			}
			tests = append(tests, func(other *conn) bool { return other.user.Load().name == value })
		case isWord(rest[0], "SKIPME") && isWord(rest[1], "YES"):
			skipMe = true
		case isWord(rest[0], "SKIPME") && isWord(rest[1], "NO"):
			skipMe = false
		default:
			return nil, syntaxError
		}
	}
	if len(rest) > 0 {
		return nil, syntaxError
	}
	return func(other *conn) bool {
		if skipMe && other == c.conn {
			return false
		}
		for _, test := range tests {
			if !test(other) {
				return false
			}
		}
		return true
	}, ""
}

// kill ends the wanted connections and returns their number.
func (c *call) kill(wanted func(*conn) bool) (n int) {
	for _, other := range c.server.clients.list() {
		switch {
		case !wanted(other):
			continue
		case other == c.conn:
			c.ending = true
		default:
			other.cut()
		}
		n++
	}
	return n
}
