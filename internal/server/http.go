package server

import (
	"errors"
	"net/http"

	"seen/internal/server/rest"
	"seen/internal/store"
	"seen/internal/web"
)

// HTTPConfig says how the HTTP side of a server behaves.
type HTTPConfig struct {
	// Hosts are the names by which requests without a password may address the server,
	// see rest.Config.
	Hosts []string
	// Debug serves profiles under /debug/pprof.
	Debug bool
}

// NewHTTPServer returns a server for HTTP. It uses the ErrorLog of web and sets all its
// other fields.
func (s *Server) NewHTTPServer(c HTTPConfig, web *http.Server) *rest.Server {
	return rest.NewServer(web, s.HTTP(c), rest.Limits{
		Most: s.config.Limits.HTTP, Each: s.config.Limits.each(s.config.Limits.HTTP), Open: s.acl.Open, Now: s.config.Now,
		Rejected: func() { s.clients.rejected.Add(1) }, Evicted: func() { s.clients.evicted.Add(1) },
	})
}

// HTTP returns the handler of all HTTP requests: metrics, health, the API and the pages.
func (s *Server) HTTP(c HTTPConfig) http.Handler {
	pages := web.New(web.Config{
		Source: s.dashboard, Known: func(host string) bool { return rest.KnownHost(host, c.Hosts) },
		Now: s.config.Now, Budget: s.buffers, Waits: rest.Waits,
	})
	api := rest.New(rest.Config{
		Hosts: c.Hosts, Debug: c.Debug, Login: s.speaker, Ready: s.ready, ErrorRates: s.errorRates,
		Metrics: s.config.Metrics.handler(s), Pages: pages, Budget: s.buffers, Now: s.config.Now,
	})
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		web.Protect(out.Header()) // refusals and redirects too
		api.ServeHTTP(out, r)
	})
}

// ready returns why the server cannot serve, nil if it can.
func (s *Server) ready() error {
	if s.closing() {
		return errors.New("the server is shutting down")
	}
	return s.store.Failed()
}

// errorRates returns the error rates of the Bloom filter of a name, nil if there is none.
func (s *Server) errorRates(name string) *rest.ErrorRates {
	f, ok := s.store.Get([]byte(name)).(store.Filter)
	if !ok {
		return nil
	}
	i := f.Info()
	return &rest.ErrorRates{Now: i.ErrorRateNow, Asked: i.ErrorRate, Past: i.PastRate()}
}
