package daemon

import (
	"log"
	"log/slog"
	"net"
	"strings"
)

// notifyVariable names, in the environment, the socket on which a supervisor such
// as systemd wants to hear that the server is ready.
const notifyVariable = "NOTIFY_SOCKET"

// notify tells the supervisor, if there is one, about the state of the server. It
// is a courtesy: whether it arrives changes nothing here.
func (r *serving) notify(state string) {
	name := variable(r.sources.Environ, notifyVariable)
	if name == "" {
		return
	}
	if abstract, ok := strings.CutPrefix(name, "@"); ok {
		name = "\x00" + abstract
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close() // Write has told whether it arrived
	}
	if err != nil {
		r.logger.Warn("cannot notify the supervisor", "state", state, "error", err)
	}
}

// newErrorLog returns a log for what the HTTP server has to say, which is mostly
// about clients that went away.
func newErrorLog(logger *slog.Logger) *log.Logger {
	return slog.NewLogLogger(logger.Handler(), slog.LevelDebug)
}
