package daemon

import (
	"crypto/x509"
	"fmt"
	"os"
	"runtime"
	"strings"

	"seen/internal/store"
)

// ReadAuthorities reads certificates of authorities in PEM form.
func ReadAuthorities(name string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", name)
	}
	return pool, nil
}

// ReadPassword returns the first line of a file.
func ReadPassword(name string) (string, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("--password-file: %w", err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("--password-file: the first line of %s is empty", name)
	}
	return line, nil
}

// warnOfModes logs files that other users of this machine can read and should not: data
// that an earlier version or another program has made, and files with secrets. The
// server makes its own files for its user only.
func (r *serving) warnOfModes() {
	names, all, err := store.Loose(string(r.data))
	switch {
	case err != nil:
		r.logger.Warn("cannot check the permissions of the data folder", "error", err)
	case all > 0:
		r.logger.Warn("other users of this machine can access the data folder, which has the secret of the hash and all filters; "+
			"run chmod -R go= on it", "count", all, "first", names)
	}
	for _, f := range []struct {
		flag string
		name textSetting
	}{{"password-file", r.passwordFile}, {"acl-file", r.aclFile}, {"tls-key", r.tlsKey}} {
		if info, err := os.Stat(string(f.name)); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o006 != 0 {
			r.logger.Warn("all users of this machine can read or write a file with secrets; run chmod o= on it", "setting", f.flag, "file", string(f.name), "mode", fmt.Sprintf("%04o", info.Mode().Perm()))
		}
	}
}
