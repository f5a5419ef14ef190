//go:build unix

package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// With the loosest umask, what holds secrets is made for its owner alone: data, saved
// users, state; what was there and is loose is warned of.
func TestModesOfWhatIsMade(t *testing.T) {
	former := syscall.Umask(0)
	defer syscall.Umask(former)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(path("data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("users"), []byte("user default on nopass +@all ~*\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	socket := path("socket")
	s := startServed(t, path("data"), "--acl-file", path("users"), "--unix", socket)
	for _, want := range []string{"chmod -R go=", "chmod o="} {
		if !strings.Contains(s.Log.String(), want) {
			t.Errorf("the log does not say %s\n%s", want, &s.Log)
		}
	}
	s.Fill()
	if err := os.Remove(path("users")); err != nil {
		t.Fatal(err)
	}
	s.Expect("+OK", "ACL", "SAVE")
	if text, code := seenOutput(t, "backup", "--server", s.Addr, path("backup")); code != ExitOK {
		t.Errorf("backup: %d %s", code, text)
	}
	mode := func(name string, want fs.FileMode) {
		t.Helper()
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %04o", name, info, err, want)
		}
	}
	mode(socket, 0o600)
	mode(path("users"), 0o600)
	mode(path("backup"), 0o700)
	mode(path("backup/secret"), 0o600)
	mode(path("data/secret"), 0o600)
	mode(path("data/LOCK"), 0o600)
	mode(path("data/values"), 0o700)
	s.Stop()
	cmd := command("uniq", "--state", path("state"))
	cmd.Stdin = strings.NewReader("a\nb\na\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("uniq: %v\n%s", err, out)
	}
	mode(path("state"), 0o600)
	// Once the folder is private there is nothing to warn of.
	if err := os.Chmod(path("data"), 0o700); err != nil {
		t.Fatal(err)
	}
	s = startServed(t, path("data"), "--acl-file", path("users"))
	s.Stop()
	if strings.Contains(s.Log.String(), "chmod") {
		t.Errorf("a private folder is warned of\n%s", &s.Log)
	}
}
