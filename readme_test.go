package seen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The lines of README about using the packages from another module work when they are
// pasted, with the path of a checkout.
func TestReadmeModule(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a module")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	const checkout = "/path/to/checkout"
	_, after, found := strings.Cut(string(readme), "\n\n    go mod edit ")
	lines, _, ended := strings.Cut("    go mod edit "+after, "\n\n")
	if !found || !ended || !strings.Contains(lines, checkout) || !strings.Contains(lines, "go mod tidy") {
		t.Fatal("README.md has no lines about another module")
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := `package main

import (
	"fmt"

	"seen/bloom"
)

func main() {
	f, err := bloom.New(bloom.Config{Capacity: 1000, ErrorRate: 1e-4})
	if err != nil {
		panic(err)
	}
	fmt.Println(f.AddString("a"), f.AddString("a"))
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	script := "set -e\ngo mod init example.org/program\n" + strings.ReplaceAll(lines, checkout, root) + "\ngo run .\n"
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "true false\n") {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
}
