package server

import (
	"path/filepath"

	"seen/internal/fair"
)

var backupCommands = []command{{
	name: "seen.backup", arity: 2, flags: flagAdmin | flagNoScript | flagNoMulti | flagAlone, categories: []string{"dangerous"}, handle: backup,
	summary: "Writes a consistent backup of all values into a new folder on the server's machine.", since: "1.0.0",
	complexity: "O(N) with the memory of all values", group: "server",
	syntax: "directory",
}}

// backup writes a backup while other commands run. Only clients on the server's machine
// may do this, because the folder is on this machine.
func backup(c *call) {
	if !c.local() {
		c.out.Error("ERR SEEN.BACKUP works only for clients on the server's machine, over loopback or a Unix socket")
		return
	}
	dir := string(c.args[1])
	if !filepath.IsAbs(dir) {
		c.out.Error("ERR the path of the backup folder is not absolute; give its full path")
		return
	}
	if err := c.store().Backup(c.life, dir); err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	c.server.event(Info, "backup written", "folder", dir)
	c.out.OK()
}

func (c *conn) local() bool {
	return c.socket != nil && fair.Local(c.socket.RemoteAddr())
}
