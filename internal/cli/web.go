package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"seen/internal/web"
)

func (a *app) webCommand() *cobra.Command {
	address := "127.0.0.1:6391"
	cmd := &cobra.Command{
		Use:   "web",
		Short: "serve the planner and demonstrations to browsers",
		Long: `Serve the planner and the explanation of how filters work to browsers, until SIGINT or
SIGTERM. The pages have no data behind them, need no log-in, and load nothing from other
hosts. For pages about filters, use the HTTP port of seen serve.`,
		Example: `  seen web                      at http://127.0.0.1:6391/
  seen web --addr 127.0.0.1:0   at a free port, which is printed`,
		Args:              arguments(0, 0, ""),
		ValidArgsFunction: filesUpTo(0),
		RunE:              func(*cobra.Command, []string) error { return a.web(address) },
	}
	cmd.Flags().StringVar(&address, "addr", address, "listen on `HOST:PORT`; other machines can reach it unless HOST is a loopback address")
	return cmd
}

// web serves the pages that need no server, until a signal arrives.
func (a *app) web(address string) error {
	var config net.ListenConfig
	l, err := config.Listen(a.ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	s := &http.Server{
		Handler:           web.New(web.Config{}),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
	s.SetKeepAlivesEnabled(false) // an idle connection would take the place of another
	if _, err := fmt.Fprintf(a.env.Stdout, "http://%s/\n", l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(netutil.LimitListener(l, maxWebConnections)) }()
	select {
	case err := <-failed:
		return err
	case <-a.ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(wait); err != nil {
		return s.Close()
	}
	return nil
}

// maxWebConnections is the most connections of "seen web" at a time. Others wait to be
// accepted.
const maxWebConnections = 1024
