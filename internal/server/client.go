package server

import (
	"strings"

	"seen/internal/server/args"
)

const (
	forAll   = flagNoScript | flagLoading | flagStale | flagAlone
	forAdmin = forAll | flagAdmin
)

var clientCommands = []command{
	{name: "id", arity: 2, flags: forAll, handle: clientID, since: "5.0.0", complexity: "O(1)", summary: "Returns the ID of the connection."},
	{name: "info", arity: 2, flags: forAll, handle: clientInfo, since: "6.2.0", complexity: "O(1)", summary: "Describes the connection."},
	clientListCommand,
	{name: "getname", arity: 2, flags: forAll, handle: clientGetName, since: "2.6.9", complexity: "O(1)", summary: "Returns the name of the connection."},
	{
		name: "setname", arity: 3, flags: forAll, handle: clientSetName, since: "2.6.9", complexity: "O(1)", summary: "Names the connection.",
		syntax: "connection-name",
	},
	{
		name: "setinfo", arity: 4, flags: forAll, handle: clientSetInfo, since: "7.2.0", complexity: "O(1)", summary: "Sets the name or the version of the client library.",
		syntax: "LIB-NAME|LIB-VER value",
	},
	clientKillCommand,
	clientReplyCommand,
	{
		name: "no-evict", arity: 3, flags: forAdmin, handle: clientNoEvict, since: "7.0.0", complexity: "O(1)", summary: "Accepted without effect: no client is closed to save memory.",
		syntax: "ON|OFF",
	},
	{
		name: "no-touch", arity: 3, flags: forAll, handle: clientNoTouch, since: "7.2.0", complexity: "O(1)", summary: "Accepted without effect: the time of last use is not recorded.",
		syntax: "ON|OFF",
	},
	clientTrackingCommand,
	clientTrackingInfoCommand,
	clientCachingCommand,
	clientGetRedirCommand,
	help("5.0.0"),
}

const badClientName = "ERR Client names cannot contain spaces, newlines or special characters."

func clientID(c *call) { c.out.Int(c.id) }

func clientInfo(c *call) {
	c.tell()
	c.out.Verbatim("txt", c.describe()+"\n")
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
	case args.Is(c.args[2], "LIB-NAME"):
		field = &c.about.library
	case args.Is(c.args[2], "LIB-VER"):
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

// onOff reads ON or OFF. It writes the error for another word.
func (c *call) onOff() (on, ok bool) {
	switch word := c.args[2]; {
	case args.Is(word, "ON"):
		return true, true
	case args.Is(word, "OFF"):
		return false, true
	}
	c.out.Error(args.SyntaxError)
	return false, false
}

func clientNoEvict(c *call) { c.note(&c.about.noEvict) }
func clientNoTouch(c *call) { c.note(&c.about.noTouch) }

// note records a flag that other clients can see.
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

var clientTrackingCommand = command{
	name: "tracking", arity: -3, flags: forAll, handle: clientTracking, since: "6.0.0", complexity: "O(1)", summary: "Accepts OFF. The server does not notify clients of changes.",
	syntax: "ON|OFF",
}

var clientTrackingInfoCommand = command{name: "trackinginfo", arity: 2, flags: forAll, handle: clientTrackingInfo, since: "6.2.0", complexity: "O(1)", summary: "Returns that tracking is off."}

var clientCachingCommand = command{
	name: "caching", arity: 3, flags: forAll, handle: clientCaching, since: "6.0.0", complexity: "O(1)", summary: "Always returns an error: tracking is not supported.",
	syntax: "YES|NO",
}

var clientGetRedirCommand = command{name: "getredir", arity: 2, flags: forAll, handle: clientGetRedir, since: "6.0.0", complexity: "O(1)", summary: "Returns that tracking is off."}

func clientTracking(c *call) {
	on, ok := c.onOff()
	switch {
	case !ok:
	case on:
		c.out.Error("ERR client-side caching is not supported: this server does not notify clients of changes")
	default:
		c.out.OK()
	}
}

func clientTrackingInfo(c *call) {
	c.out.Map(3)
	c.fields("flags")
	c.out.Set(1)
	c.fields("off", "redirect", -1, "prefixes", []string{})
}

func clientCaching(c *call) {
	c.out.Error("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
}

func clientGetRedir(c *call) { c.out.Int(-1) }
