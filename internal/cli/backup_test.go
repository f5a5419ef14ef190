//go:build unix

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	s := startServed(t, dir+"/data")
	s.Fill()
	backup := filepath.Join(dir, "backup")
	if text, code := seenOutput(t, "backup", "--server", s.Addr, backup); code != ExitOK || text != "" {
		t.Fatalf("backup: exit code %d\n%s", code, text)
	}
	// What comes after the backup is not in it.
	s.Must("BF.ADD", "bloom", "later")
	s.Must("DEL", "cuckoo")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"backup", "--server", s.Addr, backup}, "the server answers"},
		{[]string{"backup", "--server", "127.0.0.1:1", dir + "/x"}, "connection refused"},
		{[]string{"restore", dir + "/nothing", dir + "/new"}, "nothing"},
		{[]string{"restore", backup, dir + "/data"}, "data"},
	} {
		if text, code := seenOutput(t, c.args...); code != ExitError || !strings.Contains(text, c.want) {
			t.Errorf("seen %v: exit code %d\n%s", c.args, code, text)
		}
	}
	s.Stop()
	if text, code := seenOutput(t, "restore", backup, dir+"/new"); code != ExitOK || !strings.Contains(text, "5 filters") {
		t.Fatalf("restore: exit code %d\n%s", code, text)
	}
	s = startServed(t, dir+"/new")
	s.CheckFilled()
	s.Stop()

	// A backup that is damaged within: no folder is left that a server would not open.
	manifests, err := filepath.Glob(filepath.Join(backup, "db", "MANIFEST-*"))
	if err != nil || len(manifests) != 1 {
		t.Fatalf("manifests of the backup: %v, %v", manifests, err)
	}
	info, err := os.Stat(manifests[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifests[0], bytes.Repeat([]byte{0xff}, int(info.Size())), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, code := seenOutput(t, "restore", backup, dir+"/bad"); code != ExitError || !strings.Contains(text, "use another backup") {
		t.Errorf("restore of a damaged backup: exit code %d\n%s", code, text)
	}
	if _, err := os.Stat(dir + "/bad"); !os.IsNotExist(err) {
		t.Errorf("a damaged backup left a folder: %v", err)
	}
}
