package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"seen/internal/cli/flagvalue"
	"seen/internal/server"
)

// Settings are all settings of "seen serve".
type Settings struct {
	all     []*Setting // in the order of the help
	sources Sources    // what Load has read

	data       textSetting
	addr       addressSetting
	unix       textSetting
	unixMode   modeSetting
	http       addressSetting
	httpHosts  namesSetting
	httpDebug  boolSetting
	layout     flagvalue.Choice
	fsync      flagvalue.Choice
	maxMemory  limitSetting
	checkpoint checkpointSetting
	scrub      timeoutSetting

	password     textSetting
	passwordFile textSetting
	aclFile      textSetting
	tlsCert      textSetting
	tlsKey       textSetting
	tlsClientCA  textSetting
	insecure     boolSetting

	maxClients  numberSetting
	httpClients numberSetting
	eachClient  numberSetting
	timeout     timeoutSetting
	maxCommand  sizeSetting
	maxOutput   sizeSetting
	drain       flagvalue.Duration

	log      flagvalue.Choice
	logLevel flagvalue.Choice

	filters []*filterSetting
}

// filterSetting is a setting that CONFIG SET can change too.
type filterSetting struct {
	name string
	textSetting
}

// NewSettings returns the settings with no values. Load gives them their values.
func NewSettings() *Settings {
	s := &Settings{
		layout:     flagvalue.OneOf("", "seen", "redisbloom"),
		fsync:      flagvalue.OneOf("", "always", "everysec", "no"),
		maxClients: numberSetting{least: 1, most: 1_000_000}, httpClients: numberSetting{least: 1, most: 1_000_000}, eachClient: numberSetting{most: 1_000_000},
		log:      flagvalue.OneOf("", "text", "json"),
		logLevel: flagvalue.OneOf("", "debug", "info", "warn", "error"),
	}
	s.all = []*Setting{
		{Name: "data", Value: &s.data, Preset: "./seen-data", Usage: "keep the filters in `DIR`, which is created if it does not exist"},
		{Name: "addr", Value: &s.addr, Preset: "127.0.0.1:6380", Usage: "listen for Redis clients on `ADDR`, several with commas between; off: do not listen"},
		{Name: "unix", Value: &s.unix, Usage: "also listen on the Unix socket `SOCKET`"},
		{Name: "unix-mode", Value: &s.unixMode, Preset: "600", Usage: "permissions `MODE` of the Unix socket"},
		{Name: "http", Value: &s.http, Preset: "127.0.0.1:6390", Usage: "listen for HTTP on `ADDR`: pages for browsers, JSON, metrics, health; off: do not listen"},
		{Name: "http-host", Value: &s.httpHosts, Usage: "`NAMES` of this host that HTTP requests without a password may use, in addition to localhost and IP addresses"},
		{Name: "http-debug", Value: &s.httpDebug, Preset: "false", Usage: "serve profiles of the running server under /debug/pprof"},
		{Name: "layout", Value: &s.layout, Preset: "seen", Usage: "layout of new Bloom filters, `WORD`: seen (faster, with a secret hash) or redisbloom (RedisBloom can load its dumps)"},
		{Name: "fsync", Value: &s.fsync, Preset: "always", Usage: "`WORD`: answers wait for the disk (always), a crash loses at most a second (everysec), or nothing is promised (no)"},
		{Name: "max-memory", Value: &s.maxMemory, Preset: auto, Usage: "refuse changes that make all filters together larger than `SIZE`; auto: 80 % of the memory of the machine or container; off: no limit"},
		{Name: "scrub", Value: &s.scrub, Preset: "24h", Usage: "check all filter files once per `SPAN`, and rewrite damaged ones from memory; off: never"},
		{Name: "checkpoint", Value: &s.checkpoint, Preset: "64MiB", Usage: "write changed filters to disk after `LIMIT` of log, and after a time if one is given: 256MiB or 64MiB,5m"},

		{Name: "requirepass", Value: &s.password, secret: true, Usage: "the password of the default user is `TEXT`; the list of processes shows it, so prefer --password-file"},
		{Name: "password-file", Value: &s.passwordFile, Usage: "the password of the default user is the first line of `FILE`"},
		{Name: "acl-file", Value: &s.aclFile, Usage: "users and their rights, one \"user NAME RULES\" per line of `FILE`; SIGHUP reloads it"},
		{Name: "tls-cert", Value: &s.tlsCert, Usage: "use TLS on --addr and --http, with the certificate in `FILE`; SIGHUP reloads it"},
		{Name: "tls-key", Value: &s.tlsKey, Usage: "the key of the certificate, in `FILE`"},
		{Name: "tls-client-ca", Value: &s.tlsClientCA, Usage: "accept only clients with a certificate of an authority in `FILE`"},
		{Name: "insecure", Value: &s.insecure, Preset: "false", Usage: "serve clients on other machines even without a password or certificate"},

		{Name: "max-clients", Value: &s.maxClients, Preset: "10000", Usage: "serve at most `N` Redis clients; at the limit, new clients replace idle and slow ones, or are refused"},
		{Name: "http-max-clients", Value: &s.httpClients, Preset: "1024", Usage: "serve at most `N` HTTP connections, in the same way; 16 more are for health and metrics only"},
		{Name: "max-clients-per-address", Value: &s.eachClient, Preset: "0", Usage: "serve at most `N` of these to one address (IPv6: one /64 network); 0: nine tenths of all. Behind a proxy, give the full number"},
		{Name: "timeout", Value: &s.timeout, Preset: off, Usage: "close connections that are idle for `SPAN`; off: never"},
		{Name: "max-command", Value: &s.maxCommand, Preset: "1GiB", Usage: "refuse a command larger than `SIZE`"},
		{Name: "max-output", Value: &s.maxOutput, Preset: "256MiB", Usage: "drop a client that has more than `SIZE` of unread replies"},
		{Name: "drain", Value: &s.drain, Preset: "10s", Usage: "at the end, wait `SPAN` for running commands"},

		{Name: "log", Value: &s.log, Preset: "text", Usage: "format of the log on standard error, `WORD`: text or json"},
		{Name: "log-level", Value: &s.logLevel, Preset: "info", Usage: "log messages of level `WORD` and above: debug, info, warn, error"},
	}
	for _, f := range []struct{ name, preset, usage string }{
		{"bf-error-rate", "0.01", "error rate `P` of Bloom filters that the first addition creates"},
		{"bf-initial-size", "100", "capacity of such Bloom filters, `N` keys"},
		{"bf-expansion-factor", "2", "capacity of a new layer as a multiple `N` of the last one; 0: Bloom filters do not grow"},
		{"cf-initial-size", "1024", "capacity of cuckoo filters that the first addition creates, `N` keys"},
		{"cf-bucket-size", "2", "keys in a bucket of a cuckoo filter, `N`"},
		{"cf-max-iterations", "20", "a cuckoo filter is full after moving `N` keys for one addition"},
		{"cf-expansion-factor", "1", "size of a new part of a cuckoo filter as a multiple `N` of the last one; 0: cuckoo filters do not grow"},
		{"cf-max-expansions", "32", "most parts of a cuckoo filter, `N`"},
	} {
		value := &filterSetting{name: f.name}
		s.filters = append(s.filters, value)
		s.all = append(s.all, &Setting{Name: f.name, Value: value, Preset: f.preset, Usage: f.usage})
	}
	return s
}

// All returns the settings in the order of the help.
func (s *Settings) All() []*Setting { return s.all }

// Config is what the settings together mean, checked.
type Config struct {
	*Settings
	secret string      // password of the default user, "" for none
	open   bool        // the default user needs no password
	tls    *tls.Config // nil: no TLS
}

// Check checks the settings together. It opens neither the data nor a port.
func (s *Settings) Check() (*Config, error) {
	c := &Config{Settings: s, secret: string(s.password)}
	var problems []error
	complain := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	if s.data == "" {
		complain("--data is empty; name a folder")
	}
	if s.passwordFile != "" {
		if c.secret != "" {
			complain("give either --requirepass or --password-file")
		}
		var err error
		if c.secret, err = ReadPassword(string(s.passwordFile)); err != nil {
			problems = append(problems, err)
		}
	}
	if (s.tlsCert == "") != (s.tlsKey == "") {
		complain("give both --tls-cert and --tls-key; one of them is missing")
	} else {
		var err error
		if c.tls, err = s.loadTLS(); err != nil {
			problems = append(problems, err)
		}
	}
	if s.tlsClientCA != "" && s.tlsCert == "" {
		complain("--tls-client-ca needs --tls-cert and --tls-key")
	}
	if len(s.addr) == 0 && s.unix == "" && len(s.http) == 0 {
		complain("--addr and --http are off and --unix is not set; no client can connect")
	}
	if c.open = c.secret == ""; s.aclFile != "" {
		var err error
		if c.open, err = server.CheckACL(string(s.aclFile), c.secret); err != nil {
			complain("--acl-file: %w", err)
		}
	}
	if err := server.CheckFilterSettings(s.filterValues()); err != nil {
		problems = append(problems, err)
	}
	if err := c.checkExposure(); err != nil {
		problems = append(problems, err)
	}
	return c, errors.Join(problems...)
}

// filterValues returns the settings of new filters in the form that the server uses.
func (s *Settings) filterValues() map[string]string {
	values := map[string]string{}
	for _, f := range s.filters {
		values[f.name] = f.String()
	}
	return values
}

// checkExposure refuses addresses that other machines can reach, if every client there
// could do everything.
func (c *Config) checkExposure() error {
	if bool(c.insecure) || !c.open || c.tlsClientCA != "" {
		return nil
	}
	for _, list := range []struct {
		flag      string
		addresses addressSetting
	}{{"addr", c.addr}, {"http", c.http}} {
		for _, address := range list.addresses {
			if !isLoopback(address) {
				return fmt.Errorf("--%s %s can be reached from other machines, and everyone there can read and delete all filters; "+
					"give --password-file, or --tls-cert with --tls-client-ca (TLS alone lets everyone in), use 127.0.0.1, or accept the risk with --insecure", list.flag, address)
			}
		}
	}
	return nil
}

// loadTLS reads certificate, key and authorities. It returns nil if TLS is not
// configured.
func (s *Settings) loadTLS() (*tls.Config, error) {
	if s.tlsCert == "" || s.tlsKey == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(string(s.tlsCert), string(s.tlsKey))
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if s.tlsClientCA != "" {
		config.ClientCAs, err = ReadAuthorities(string(s.tlsClientCA))
		if err != nil {
			return nil, fmt.Errorf("--tls-client-ca: %w", err)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// patienceAtEnd returns how long running commands may continue when the server stops.
func (s *Settings) patienceAtEnd() time.Duration { return time.Duration(s.drain) }

// warnings returns warnings about settings that are allowed but may be a mistake.
func (c *Config) warnings() (all []string) {
	if c.open && c.tlsClientCA == "" {
		for _, address := range slices.Concat(c.addr, c.http) {
			if !isLoopback(address) {
				all = append(all, address+" can be reached from other machines, and everyone there can read and delete all filters")
			}
		}
	}
	return all
}
