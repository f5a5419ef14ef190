package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// binary is the command, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withBinary(m.Run))
}

func withBinary(run func() int) int {
	dir, err := os.MkdirTemp("", "seen-clients")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "seen")
	build := exec.Command("go", "build", "-o", binary, "./cmd/seen")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the command: %v\n%s", err, out)
		return 1
	}
	return run()
}

// startServer runs "seen serve" on an empty folder until the test ends, and
// returns its address.
func startServer(t *testing.T, args ...string) (addr string) {
	t.Helper()
	data := t.TempDir()
	// With the same secret in every run, filters give the same wrong answers.
	if err := os.WriteFile(filepath.Join(data, "secret"), []byte("a secret of 16 B"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, append([]string{"serve", "--data", data, "--addr", "127.0.0.1:0", "--http", "off", "--log", "json"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	var log bytes.Buffer
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(ready)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			var line struct {
				Message string   `json:"msg"`
				Addr    []string `json:"addr"`
			}
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "ready" && len(line.Addr) > 0 {
				ready <- line.Addr[0]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v:\n%s", err, &log)
		}
		kill.Stop()
	})
	addr, ok := <-ready
	if !ok {
		t.Fatal("the server did not start")
	}
	return addr
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// documented returns the commands of the four families, from the headings of
// docs/COMMANDS.md.
func documented(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "COMMANDS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, heading := range regexp.MustCompile(`(?m)^### ((?:BF|CF|CMS|TOPK)\.[A-Z]+)$`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, heading[1])
	}
	if len(names) < 41 {
		t.Fatalf("docs/COMMANDS.md has only the commands %v", names)
	}
	return names
}

// calledAll checks that a transcript has every command of the four families.
func calledAll(t *testing.T, transcript string) {
	t.Helper()
	lines := strings.Split(strings.ToUpper(transcript), "\n")
	for _, name := range documented(t) {
		called := func(line string) bool {
			return strings.HasPrefix(line, name+" ") || strings.HasPrefix(line, "> "+name+" ")
		}
		if !slices.ContainsFunc(lines, called) {
			t.Errorf("%s is never called", name)
		}
	}
}
