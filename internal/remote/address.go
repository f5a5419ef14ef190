package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"seen/cluster"
)

// Address is where a filter is, as people write it:
//
//	redis://HOST:PORT/NAME                 one engine, and the filter NAME in it
//	redis://HOST:PORT,HOST:PORT            nodes of a Redis Cluster; one of them is enough
//	redis://HOST:PORT,HOST:PORT?sentinel=M Sentinels that know the primary M
//	rediss://USER:PASSWORD@HOST:PORT       TLS, and a login
//
// The port is 6379 where none is given. Options follow a question mark, with & in
// between: sentinel=PRIMARY, db=NUMBER, and for TLS ca=FILE (authorities in place of
// those of the system), cert=FILE and key=FILE (a certificate of the client). In user,
// password and name, characters with a meaning in addresses are written as %2F for /,
// %40 for @ and so on. No error and no description has a password in it. The zero
// value leads nowhere.
type Address struct {
	// Hosts are the engines, nodes or Sentinels, as HOST:PORT.
	Hosts []string
	// User and Password log in; they may be set after parsing.
	User, Password string
	// Name is the path: a filter's name; "" if there is none.
	Name string
	// Sentinel is the name of the primary that Hosts know; "": they are the engines.
	Sentinel string
	// DB is the number of the database.
	DB int
	// Server says that the first host is one server that has the BF commands: it is
	// talked to as it is, also if it belongs to a cluster. It is not part of the text.
	Server bool
	// TLS says that connections are encrypted.
	TLS bool
	// CA, Cert and Key are names of PEM files; "" for none.
	CA, Cert, Key string
}

// defaultPort is the port of an address without one.
const defaultPort = "6379"

// IsAddress reports whether text is meant as an address, valid or not.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "redis://") || strings.HasPrefix(text, "rediss://")
}

// errEscape tells the likely mistake without the parts of the address, which may contain a
// password.
var errEscape = errors.New(`user, password and name must have /, ?, #, @, : and % written as %2F, %3F, %23, %40, %3A and %25`)

// ParseAddress reads an address.
func ParseAddress(text string) (Address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != "redis" && scheme != "rediss" {
		return Address{}, errors.New("an address begins with redis:// or rediss://")
	}
	a := Address{TLS: scheme == "rediss"}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if strings.Contains(path, "@") || strings.Contains(query, "@") || strings.Contains(text, "#") {
		return Address{}, errEscape
	}
	if login, hosts, is := strings.Cut(authority, "@"); is {
		if err := a.setLogin(login); err != nil {
			return Address{}, err
		}
		authority = hosts
	}
	if strings.Contains(authority, "@") {
		return Address{}, errEscape
	}
	for host := range strings.SplitSeq(authority, ",") {
		full, err := withPort(host)
		if err != nil {
			return Address{}, err
		}
		a.Hosts = append(a.Hosts, full)
	}
	var err error
	if a.Name, err = url.PathUnescape(path); err != nil {
		return Address{}, errEscape
	}
	if err := a.setOptions(query); err != nil {
		return Address{}, err
	}
	return a, nil
}

func (a *Address) setLogin(login string) error {
	user, password, _ := strings.Cut(login, ":")
	if strings.Contains(password, ":") {
		return errEscape
	}
	var err1, err2 error
	a.User, err1 = url.PathUnescape(user)
	a.Password, err2 = url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return errEscape
	}
	return nil
}

var errPort = errors.New("a port alone is not an address; write HOST:PORT, as in 127.0.0.1:6380")

// isNumber reports whether a host is only digits, which no host is named.
func isNumber(host string) bool { return host != "" && strings.Trim(host, "0123456789") == "" }

// withPort returns HOST:PORT for a host with or without a port.
func withPort(host string) (string, error) {
	if name, port, err := net.SplitHostPort(host); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", errors.New("the port of a host is not a number from 1 to 65535")
		}
		if name == "" {
			name = "localhost"
		}
		if isNumber(name) {
			return "", errPort
		}
		return net.JoinHostPort(name, port), nil
	}
	name := host
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	}
	if isNumber(name) {
		return "", errPort
	}
	if name == "" || strings.ContainsAny(name, "[]") || strings.Contains(name, ":") && net.ParseIP(name) == nil {
		return "", errors.New("a host is missing or not as HOST:PORT; an IPv6 address needs brackets")
	}
	return net.JoinHostPort(name, defaultPort), nil
}

func (a *Address) setOptions(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the options after ? are not NAME=VALUE with & in between")
	}
	texts := map[string]*string{"sentinel": &a.Sentinel, "ca": &a.CA, "cert": &a.Cert, "key": &a.Key}
	for name, all := range values {
		value := all[len(all)-1]
		if to, ok := texts[name]; ok {
			*to = value
			continue
		}
		if name != "db" {
			return fmt.Errorf("there is no option %q; there are sentinel, db, ca, cert and key", name)
		}
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return fmt.Errorf("db=%q is not the number of a database", value)
		}
		a.DB = int(n)
	}
	if !a.TLS && (a.CA != "" || a.Cert != "" || a.Key != "") {
		return errors.New("ca, cert and key are for rediss://")
	}
	if (a.Cert == "") != (a.Key == "") {
		return errors.New("cert and key go together")
	}
	return nil
}

// String returns the address without user and password.
func (a Address) String() string {
	var b strings.Builder
	b.WriteString("redis")
	if a.TLS {
		b.WriteString("s")
	}
	b.WriteString("://" + strings.Join(a.Hosts, ","))
	if a.Name != "" {
		b.WriteString("/" + url.PathEscape(a.Name))
	}
	if a.Sentinel != "" {
		b.WriteString("?sentinel=" + url.QueryEscape(a.Sentinel))
	}
	return b.String()
}

// option returns the options for a client, and reads the files of TLS. The client caches
// nothing, since answers change with every key that is added.
func (a Address) option() (rueidis.ClientOption, error) {
	o := rueidis.ClientOption{
		InitAddress: a.Hosts, Username: a.User, Password: a.Password, SelectDB: a.DB,
		ClientName: "seen", DisableCache: true,
		Sentinel: rueidis.SentinelOption{MasterSet: a.Sentinel}, ForceSingleClient: a.Server,
	}
	if !a.TLS {
		return o, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.CA != "" {
		pem, err := os.ReadFile(a.CA)
		if err != nil {
			return o, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return o, fmt.Errorf("%s has no certificate in PEM", a.CA)
		}
	}
	if a.Cert != "" {
		pair, err := tls.LoadX509KeyPair(a.Cert, a.Key)
		if err != nil {
			return o, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	o.TLSConfig = config
	o.Sentinel.TLSConfig = config
	return o, nil
}

// Client is a connection to engines, as package cluster takes it.
type Client = rueidis.Client

// Dial connects. The caller closes the client. If the engine refuses the user,
// [cluster.CodeOf] the error tells why.
func (a Address) Dial() (Client, error) {
	o, err := a.option()
	if err != nil {
		return nil, err
	}
	client, err := rueidis.NewClient(o)
	switch {
	case err == nil:
		return client, nil
	case cluster.CodeOf(err) == cluster.NoLogin:
		return nil, fmt.Errorf("%s: %w", a, noLogin{err})
	}
	return nil, fmt.Errorf("%s: %w", a, err)
}

// noLogin is an engine's demand for a password, whose own text is for programmers.
type noLogin struct{ err error }

func (noLogin) Error() string { return "NOAUTH: a password is required" }

func (e noLogin) Unwrap() error { return e.err }
