package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"seen/internal/cli/flagvalue"
	"seen/internal/server"
)

// serveSettings are the settings of "seen serve".
type serveSettings struct {
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

// newServeSettings returns the settings, and the table of them from which flags,
// environment, file and documentation come.
func newServeSettings() (*serveSettings, settings) {
	s := &serveSettings{
		layout:     flagvalue.OneOf("", "seen", "redisbloom"),
		fsync:      flagvalue.OneOf("", "always", "everysec", "no"),
		maxClients: numberSetting{least: 1, most: 1_000_000}, httpClients: numberSetting{least: 1, most: 1_000_000}, eachClient: numberSetting{most: 1_000_000},
		log:      flagvalue.OneOf("", "text", "json"),
		logLevel: flagvalue.OneOf("", "debug", "info", "warn", "error"),
	}
	all := settings{
		{name: "data", value: &s.data, preset: "./seen-data", usage: "keep the filters in `DIR`, made if it is not there"},
		{name: "addr", value: &s.addr, preset: "127.0.0.1:6380", usage: "listen for Redis clients on `ADDR`, several separated by commas; off: on none"},
		{name: "unix", value: &s.unix, usage: "listen on a Unix socket `SOCKET` too"},
		{name: "unix-mode", value: &s.unixMode, preset: "600", usage: "permissions `MODE` of the Unix socket"},
		{name: "http", value: &s.http, preset: "127.0.0.1:6390", usage: "listen on `ADDR` for HTTP: the pages for browsers, JSON, metrics, health; off: on none"},
		{name: "http-host", value: &s.httpHosts, usage: "`NAMES` under which HTTP may be asked without a password, besides localhost and IP addresses"},
		{name: "http-debug", value: &s.httpDebug, preset: "false", usage: "serve profiles of the running server under /debug/pprof"},
		{name: "layout", value: &s.layout, preset: "seen", usage: "`WORD` for new Bloom filters: seen, faster and with a secret hash, or redisbloom, whose dumps load there"},
		{name: "fsync", value: &s.fsync, preset: "always", usage: "`WORD`: an answer waits for the disk (always), at most a second is lost (everysec), or nothing is promised (no)"},
		{name: "max-memory", value: &s.maxMemory, preset: auto, usage: "refuse what would make all filters larger than `SIZE`; auto: 80 % of the memory of the machine or container; off: no limit"},
		{name: "scrub", value: &s.scrub, preset: "24h", usage: "read all filter files once in `SPAN`, and rewrite damaged ones from memory; off: never"},
		{name: "checkpoint", value: &s.checkpoint, preset: "64MiB", usage: "write changed filters out after `LIMIT` of log, and of time too if one is given: 256MiB or 64MiB,5m"},

		{name: "requirepass", value: &s.password, secret: true, usage: "`TEXT` is the password of the default user; others see it in the list of processes, so rather:"},
		{name: "password-file", value: &s.passwordFile, usage: "the first line of `FILE` is the password of the default user"},
		{name: "acl-file", value: &s.aclFile, usage: "users and what they may do, one \"user NAME RULES\" a line in `FILE`; SIGHUP reads it again"},
		{name: "tls-cert", value: &s.tlsCert, usage: "speak TLS on --addr and --http, with the certificate in `FILE`; SIGHUP reads it again"},
		{name: "tls-key", value: &s.tlsKey, usage: "the key of the certificate, in `FILE`"},
		{name: "tls-client-ca", value: &s.tlsClientCA, usage: "let in only clients with a certificate of an authority in `FILE`"},
		{name: "insecure", value: &s.insecure, preset: "false", usage: "serve clients on other machines even if they need neither a password nor a certificate"},

		{name: "max-clients", value: &s.maxClients, preset: "10000", usage: "serve at most `N` Redis clients; at the limit, idle and slow ones are dropped for new ones, or new ones are refused"},
		{name: "http-max-clients", value: &s.httpClients, preset: "1024", usage: "serve at most `N` HTTP connections, in the same way; 16 more answer only health and metrics"},
		{name: "max-clients-per-address", value: &s.eachClient, preset: "0", usage: "serve at most `N` of these to one address (IPv6: one /64 network); 0: nine tenths. Behind a proxy, give the full number"},
		{name: "timeout", value: &s.timeout, preset: off, usage: "close connections on which nothing came for `SPAN`; off: never"},
		{name: "max-command", value: &s.maxCommand, preset: "1GiB", usage: "refuse a command larger than `SIZE`"},
		{name: "max-output", value: &s.maxOutput, preset: "256MiB", usage: "drop a client for which more than `SIZE` of replies wait to be read"},
		{name: "drain", value: &s.drain, preset: "10s", usage: "wait `SPAN` for running commands when the server is to end"},

		{name: "log", value: &s.log, preset: "text", usage: "format `WORD` of the log, which goes to standard error: text or json"},
		{name: "log-level", value: &s.logLevel, preset: "info", usage: "log what is at least as weighty as `WORD`: debug, info, warn, error"},
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
		all = append(all, &setting{name: f.name, value: value, preset: f.preset, usage: f.usage})
	}
	return s, all
}

// serveConfig is what the settings together mean, checked.
type serveConfig struct {
	*serveSettings
	secret string      // password of the default user, "" for none
	open   bool        // that user needs none
	tls    *tls.Config // nil: no TLS
	logger *slog.Logger
}

// check looks at what one setting alone cannot tell, without opening the data or
// a port.
func (s *serveSettings) check() (*serveConfig, error) {
	c := &serveConfig{serveSettings: s, secret: string(s.password)}
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
		if c.secret, err = readPassword(string(s.passwordFile)); err != nil {
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
func (s *serveSettings) filterValues() map[string]string {
	values := map[string]string{}
	for _, f := range s.filters {
		values[f.name] = f.String()
	}
	return values
}

// checkExposure refuses to listen beyond this machine where anybody could do
// anything.
func (c *serveConfig) checkExposure() error {
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
func (s *serveSettings) loadTLS() (*tls.Config, error) {
	if s.tlsCert == "" || s.tlsKey == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(string(s.tlsCert), string(s.tlsKey))
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if s.tlsClientCA != "" {
		config.ClientCAs, err = readAuthorities(string(s.tlsClientCA))
		if err != nil {
			return nil, fmt.Errorf("--tls-client-ca: %w", err)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// socketMode returns the permissions of the Unix socket.
func (s *serveSettings) socketMode() fs.FileMode { return fs.FileMode(s.unixMode) }

// patienceAtEnd is how long running commands may go on when the server ends.
func (s *serveSettings) patienceAtEnd() time.Duration { return time.Duration(s.drain) }

// warnings are about what is allowed and perhaps not meant.
func (c *serveConfig) warnings() (all []string) {
	if c.open && c.tlsClientCA == "" {
		for _, address := range append(slices.Clone(c.addr), c.http...) {
			if !isLoopback(address) {
				all = append(all, address+" can be reached from other machines, and everybody there can read and delete all filters")
			}
		}
	}
	return all
}
