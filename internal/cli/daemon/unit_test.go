//go:build linux

package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The unit is valid for systemd, runs the command with options that exist, and exposes
// little of the machine.
func TestUnit(t *testing.T) {
	if testing.Short() {
		t.Skip("needs systemd-analyze, which scripts/deps installs")
	}
	text, err := os.ReadFile("../../../deploy/seen.service")
	if err != nil {
		t.Fatal(err)
	}
	const program = "/usr/local/bin/seen"
	_, line, _ := strings.Cut(string(text), "\nExecStart="+program+" serve ")
	line, _, _ = strings.Cut(line, "\n")
	s := NewSettings()
	if err := s.Load(Sources{Flags: given(strings.Fields(line))}); err != nil {
		t.Errorf("ExecStart: %v", err)
	}
	if _, err := s.Check(); err != nil {
		t.Errorf("ExecStart: %v", err)
	}
	// The name is the name of the unit.
	unit := filepath.Join(t.TempDir(), "seen.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), program, "/bin/true")), 0o666); err != nil {
		t.Fatal(err)
	}
	const most = "20" // tenths; 100 is a program without any protection
	for _, args := range [][]string{
		{"verify", "--man=no", unit},
		{"security", "--offline=yes", "--no-pager", "--threshold=" + most, unit},
	} {
		out, err := exec.Command("systemd-analyze", args...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args, err, out)
		}
	}
}
