package server

import "seen/internal/server/args"

// muting is which replies a client does not want (CLIENT REPLY).
type muting uint8

const (
	muteNothing muting = iota
	muteNext           // the reply of the next command
	muteThis           // the reply of the current command
	muteAll
)

// afterReply drops the reply that begins at mark if the client does not want it.
func (c *conn) afterReply(mark int) {
	switch c.mute {
	case muteNothing:
		return
	case muteNext: // CLIENT REPLY SKIP itself, without a reply
		c.mute = muteThis
	case muteThis:
		c.mute = muteNothing
	}
	c.replies--
	c.out.Truncate(mark)
}

var clientReplyCommand = command{
	// Not in a transaction: EXEC announces the number of replies.
	name: "reply", arity: 3, flags: forAll | flagNoMulti, handle: clientReply, since: "3.2.0", complexity: "O(1)", summary: "Chooses whether the server replies to commands.",
	syntax: "ON|OFF|SKIP",
}

func clientReply(c *call) {
	switch {
	case args.Is(c.args[2], "ON"):
		c.mute = muteNothing
		c.out.OK()
	case args.Is(c.args[2], "OFF"):
		c.mute = muteAll
	case args.Is(c.args[2], "SKIP"):
		if c.mute != muteAll {
			c.mute = muteNext
		}
	default:
		c.out.Error(args.SyntaxError)
	}
}
