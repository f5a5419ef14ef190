package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/internal/store"
)

// A data folder and a backup are verified by seen verify: 0 if they are whole, 1 if
// something is damaged, which is named with its filter, 2 if they cannot be verified.
func TestVerifyFolder(t *testing.T) {
	dir := t.TempDir()
	data, backup := filepath.Join(dir, "data"), filepath.Join(dir, "backup")
	s, err := store.Open(data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := s.CreateBloom([]byte("crawl"), store.BloomConfig{ErrorRate: 1e-3, Capacity: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Add(make([]bool, 1), [][]byte{[]byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if code, out, messages := run("", "verify", data); code != ExitError || out != "" || !strings.Contains(messages, "in use") || !strings.Contains(messages, "seen backup") {
		t.Errorf("while it is served: exit code %d, output %q, messages %q", code, out, messages)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{data, backup} {
		if code, out, messages := run("", "verify", folder); code != ExitOK || !strings.HasPrefix(out, folder+": ok, a ") || !strings.Contains(out, "with 1 filters") {
			t.Errorf("%s: exit code %d, output %q, messages %q", folder, code, out, messages)
		}
		files, err := filepath.Glob(filepath.Join(folder, "values", "*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		if err := errors.Join(os.Remove(files[0]), os.WriteFile(files[0], []byte("no filter"), 0o600)); err != nil { // they share files
			t.Fatal(err)
		}
		code, out, messages := run("", "verify", "--json", folder)
		var report struct {
			OK     bool           `json:"ok"`
			Damage []folderDamage `json:"damage"`
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil || code != ExitNo || report.OK || len(report.Damage) != 1 || report.Damage[0].Filter != "crawl" {
			t.Errorf("%s damaged: exit code %d, output %s, messages %q, %v", folder, code, out, messages, err)
		}
	}
	if code, _, messages := run("", "restore", backup, filepath.Join(dir, "restored")); code != ExitError || !strings.Contains(messages, "values/") {
		t.Errorf("restored from damage: exit code %d, messages %q", code, messages)
	}
	if code, _, messages := run("", "verify", dir); code != ExitError || !strings.Contains(messages, "neither") {
		t.Errorf("of another folder: exit code %d, messages %q", code, messages)
	}
}
