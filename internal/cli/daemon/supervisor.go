package daemon

import (
	"net"
	"strings"
)

// notifyVariable is the variable of the environment with the socket on which a
// supervisor, such as systemd, waits for the message that the server is ready.
const notifyVariable = "NOTIFY_SOCKET"

// notify tells the supervisor, if there is one, the state of the server. If that fails,
// the server continues.
func (r *serving) notify(state string) {
	name := Variable(r.sources.Environ, notifyVariable)
	if name == "" {
		return
	}
	if abstract, ok := strings.CutPrefix(name, "@"); ok {
		name = "\x00" + abstract
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close() // the error of Write counts
	}
	if err != nil {
		r.logger.Warn("cannot notify the supervisor", "state", state, "error", err)
	}
}
