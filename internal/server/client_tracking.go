package server

import "seen/internal/server/args"

var clientTrackingCommand = command{
	name: "tracking", arity: -3, flags: forAll, handle: clientTracking, since: "6.0.0", complexity: "O(1)", summary: "Accepts OFF. The server does not notify clients of changes.",
	arguments: args.Of("ON|OFF"),
}

var clientTrackingInfoCommand = command{name: "trackinginfo", arity: 2, flags: forAll, handle: clientTrackingInfo, since: "6.2.0", complexity: "O(1)", summary: "Returns that tracking is off."}

var clientCachingCommand = command{
	name: "caching", arity: 3, flags: forAll, handle: clientCaching, since: "6.0.0", complexity: "O(1)", summary: "Always returns an error: tracking is not supported.",
	arguments: args.Of("YES|NO"),
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
