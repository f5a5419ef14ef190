package daemon

import (
	"fmt"
	"slices"
)

// reloadable are the settings that a reload applies, with the contents of the files
// that they name. Others take effect at the next start.
var reloadable = []string{"requirepass", "password-file", "tls-cert", "tls-key", "tls-client-ca"}

// reload reads settings, password, users, certificates and keys again. All are read and
// checked before any takes effect; if one is invalid, nothing changes. The result is
// one line in the log.
func (r *serving) reload() {
	o := r.open.Load()
	if o == nil {
		return // the server is still starting
	}
	apply, later, err := r.prepareReload(o)
	if err != nil {
		r.logger.Error("not reloaded; nothing has changed", "error", err)
		return
	}
	apply()
	if len(later) > 0 {
		r.logger.Warn("reloaded settings, users and certificates; some settings take effect at the next start", "settings", later)
		return
	}
	r.logger.Info("reloaded settings, users and certificates")
}

// prepareReload reads and checks everything. apply cannot fail and puts it into effect.
// later names changed settings that a reload does not apply.
func (r *serving) prepareReload(o *opened) (apply func(), later []string, err error) {
	settings := NewSettings()
	if err := settings.Load(r.sources); err != nil {
		return nil, nil, err
	}
	next, err := settings.Check()
	if err != nil {
		return nil, nil, err
	}
	for _, s := range settings.all {
		if before := r.started[s.Name]; before != s.Value.String() && !slices.Contains(reloadable, s.Name) {
			later = append(later, s.Name)
		}
	}
	if (next.tls == nil) != (o.ports.tls.Load() == nil) {
		return nil, nil, fmt.Errorf("--tls-cert: TLS cannot be turned on or off while the server runs; restart it")
	}
	var password *string
	if next.secret != r.secret {
		password = &next.secret
	}
	users, err := o.server.PrepareUsers(password)
	if err != nil {
		return nil, nil, err
	}
	return func() {
		o.ports.tls.Store(next.tls)
		users()
		r.secret = next.secret
	}, later, nil
}

func (s *Settings) values() map[string]string {
	values := map[string]string{}
	for _, one := range s.all {
		values[one.Name] = one.Value.String()
	}
	return values
}
