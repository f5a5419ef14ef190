package server

// muting says which replies a client has asked not to get (CLIENT REPLY).
type muting uint8

const (
	muteNothing muting = iota
	muteNext           // the reply of the next command
	muteThis           // that of the command that comes now
	muteAll
)

// afterReply drops the reply that begins at mark if the client does not want it.
func (c *conn) afterReply(mark int) {
	switch c.mute {
	case muteNothing:
		return
	case muteNext: // CLIENT REPLY SKIP itself, which has no reply
		c.mute = muteThis
	case muteThis:
		c.mute = muteNothing
	}
	c.replies--
	c.out.Truncate(mark)
}
