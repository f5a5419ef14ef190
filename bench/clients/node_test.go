package clients

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestNode calls every method of node-redis for the four families, in both protocols,
// and compares the results with testdata/node-*.txt.
func TestNode(t *testing.T) {
	dir := nodeModules(t)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			_, port, err := net.SplitHostPort(startServer(t))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "node", "drive.mjs", port, fmt.Sprint(protocol))
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("node: %v\n%s", err, out)
			}
			golden(t, fmt.Sprintf("node-resp%d.txt", protocol), string(out))
			calledAll(t, string(out))
		})
	}
}

// nodeModules returns a folder with the script and the packages of package-lock.json.
// It installs them into bin, where they stay for the next run.
func nodeModules(t *testing.T) string {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", "node", name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	lock := read("package-lock.json")
	dir, err := filepath.Abs(filepath.Join("..", "..", "bin", fmt.Sprintf("node-%x", sha256.Sum256(lock))[:12]))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json", "drive.mjs"} {
		if err := os.WriteFile(filepath.Join(dir, name), read(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	installed := filepath.Join(dir, "node_modules", ".installed")
	if _, err := os.Stat(installed); err == nil {
		return dir
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	if err := os.WriteFile(installed, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
