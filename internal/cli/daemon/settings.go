package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
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

// filterSetting is one of the settings that CONFIG SET changes too.
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
		{Name: "data", Value: &s.data, Preset: "./seen-data", Usage: "keep the filters in `DIR`, made if it is not there"},
		{Name: "addr", Value: &s.addr, Preset: "127.0.0.1:6380", Usage: "listen for Redis clients on `ADDR`, several separated by commas; off: on none"},
		{Name: "unix", Value: &s.unix, Usage: "listen on a Unix socket `SOCKET` too"},
		{Name: "unix-mode", Value: &s.unixMode, Preset: "600", Usage: "permissions `MODE` of the Unix socket"},
		{Name: "http", Value: &s.http, Preset: "127.0.0.1:6390", Usage: "listen on `ADDR` for HTTP: the pages for browsers, JSON, metrics, health; off: on none"},
		{Name: "http-host", Value: &s.httpHosts, Usage: "`NAMES` under which HTTP may be asked without a password, besides localhost and IP addresses"},
		{Name: "http-debug", Value: &s.httpDebug, Preset: "false", Usage: "serve profiles of the running server under /debug/pprof"},
		{Name: "layout", Value: &s.layout, Preset: "seen", Usage: "`WORD` for new Bloom filters: seen, faster and with a secret hash, or redisbloom, whose dumps load there"},
		{Name: "fsync", Value: &s.fsync, Preset: "always", Usage: "`WORD`: an answer waits for the disk (always), at most a second is lost (everysec), or nothing is promised (no)"},
		{Name: "max-memory", Value: &s.maxMemory, Preset: auto, Usage: "refuse what would make all filters larger than `SIZE`; auto: 80 % of the memory of the machine or container; off: no limit"},
		{Name: "scrub", Value: &s.scrub, Preset: "24h", Usage: "read all filter files once in `SPAN`, and rewrite damaged ones from memory; off: never"},
		{Name: "checkpoint", Value: &s.checkpoint, Preset: "64MiB", Usage: "write changed filters out after `LIMIT` of log, and of time too if one is given: 256MiB or 64MiB,5m"},

		{Name: "requirepass", Value: &s.password, secret: true, Usage: "`TEXT` is the password of the default user; others see it in the list of processes, so rather:"},
		{Name: "password-file", Value: &s.passwordFile, Usage: "the first line of `FILE` is the password of the default user"},
		{Name: "acl-file", Value: &s.aclFile, Usage: "users and what they may do, one \"user NAME RULES\" a line in `FILE`; SIGHUP reads it again"},
		{Name: "tls-cert", Value: &s.tlsCert, Usage: "speak TLS on --addr and --http, with the certificate in `FILE`; SIGHUP reads it again"},
		{Name: "tls-key", Value: &s.tlsKey, Usage: "the key of the certificate, in `FILE`"},
		{Name: "tls-client-ca", Value: &s.tlsClientCA, Usage: "let in only clients with a certificate of an authority in `FILE`"},
		{Name: "insecure", Value: &s.insecure, Preset: "false", Usage: "serve clients on other machines even if they need neither a password nor a certificate"},

		{Name: "max-clients", Value: &s.maxClients, Preset: "10000", Usage: "serve at most `N` Redis clients; at the limit, idle and slow ones are dropped for new ones, or new ones are refused"},
		{Name: "http-max-clients", Value: &s.httpClients, Preset: "1024", Usage: "serve at most `N` HTTP connections, in the same way; 16 more answer only health and metrics"},
		{Name: "max-clients-per-address", Value: &s.eachClient, Preset: "0", Usage: "serve at most `N` of these to one address (IPv6: one /64 network); 0: nine tenths. Behind a proxy, give the full number"},
		{Name: "timeout", Value: &s.timeout, Preset: off, Usage: "close connections on which nothing came for `SPAN`; off: never"},
		{Name: "max-command", Value: &s.maxCommand, Preset: "1GiB", Usage: "refuse a command larger than `SIZE`"},
		{Name: "max-output", Value: &s.maxOutput, Preset: "256MiB", Usage: "drop a client for which more than `SIZE` of replies wait to be read"},
		{Name: "drain", Value: &s.drain, Preset: "10s", Usage: "wait `SPAN` for running commands when the server is to end"},

		{Name: "log", Value: &s.log, Preset: "text", Usage: "format `WORD` of the log, which goes to standard error: text or json"},
		{Name: "log-level", Value: &s.logLevel, Preset: "info", Usage: "log what is at least as weighty as `WORD`: debug, info, warn, error"},
	}
	for _, f := range []struct{ name, preset, usage string }{
		{"bf-error-rate", "0.01", "error rate `P` of Bloom filters that are made by adding to them"},
		{"bf-initial-size", "100", "their capacity, `N` keys"},
		{"bf-expansion-factor", "2", "how many times (`N`) the capacity of a new layer is that of the last; 0: they do not grow"},
		{"cf-initial-size", "1024", "capacity of cuckoo filters that are made by adding to them, `N` keys"},
		{"cf-bucket-size", "2", "`N` keys in a bucket of cuckoo filters"},
		{"cf-max-iterations", "20", "`N` keys are moved before a cuckoo filter is full"},
		{"cf-expansion-factor", "1", "how many times (`N`) as large a new part of a cuckoo filter is; 0: they do not grow"},
		{"cf-max-expansions", "32", "a cuckoo filter has at most `N` parts"},
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
	open   bool        // that user needs none
	tls    *tls.Config // nil: no TLS
}

// Check checks the settings against each other. It opens neither the data nor a port.
func (s *Settings) Check() (*Config, error) {
	c := &Config{Settings: s, secret: string(s.password)}
	var problems []error
	complain := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	if s.data == "" {
		complain("--data: the name of the folder is empty")
	}
	if s.passwordFile != "" {
		if c.secret != "" {
			complain("both --requirepass and --password-file are given; choose one")
		}
		var err error
		if c.secret, err = ReadPassword(string(s.passwordFile)); err != nil {
			problems = append(problems, err)
		}
	}
	if (s.tlsCert == "") != (s.tlsKey == "") {
		complain("--tls-cert and --tls-key go together; one of them is missing")
	} else {
		var err error
		if c.tls, err = s.loadTLS(); err != nil {
			problems = append(problems, err)
		}
	}
	if s.tlsClientCA != "" && s.tlsCert == "" {
		complain("--tls-client-ca has no meaning without --tls-cert and --tls-key")
	}
	if len(s.addr) == 0 && s.unix == "" && len(s.http) == 0 {
		complain("--addr and --http are off and there is no --unix; nobody could ask anything")
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

// filterValues returns what filters are made with, as the server takes it.
func (s *Settings) filterValues() map[string]string {
	values := map[string]string{}
	for _, f := range s.filters {
		values[f.name] = f.String()
	}
	return values
}

// checkExposure refuses to listen beyond this machine where anybody could do
// anything.
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
				return fmt.Errorf("--%s %s can be reached from other machines, and anybody there could read and delete all filters; "+
					"give --password-file, or --tls-cert with --tls-client-ca (TLS alone lets in everybody), or take 127.0.0.1, or accept it with --insecure", list.flag, address)
			}
		}
	}
	return nil
}

// loadTLS reads certificate, key and authorities; it returns nil where the server
// speaks no TLS.
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

// socketMode returns the permissions of the Unix socket.
func (s *Settings) socketMode() fs.FileMode { return fs.FileMode(s.unixMode) }

// patienceAtEnd is how long running commands may go on when the server ends.
func (s *Settings) patienceAtEnd() time.Duration { return time.Duration(s.drain) }

// warnings are about what is allowed and perhaps not meant.
func (c *Config) warnings() (all []string) {
	if c.open && c.tlsClientCA == "" {
		for _, address := range append(slices.Clone(c.addr), c.http...) {
			if !isLoopback(address) {
				all = append(all, address+" can be reached from other machines, and everybody there can read and delete all filters")
			}
		}
	}
	return all
}
