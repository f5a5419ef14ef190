package clients

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRedisCLI runs the commands of testdata/rediscli.txt with redis-cli, in both
// protocols, and compares the output with testdata/rediscli-*.txt. One redis-cli reads
// all commands from standard input.
func TestRedisCLI(t *testing.T) {
	commands, err := os.ReadFile(filepath.Join("testdata", "rediscli.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			var out strings.Builder
			host, port, err := net.SplitHostPort(startServer(t))
			if err != nil {
				t.Fatal(err)
			}
			for family := range strings.SplitSeq(strings.TrimSpace(string(commands)), "\n\n") {
				for line := range strings.Lines(family + "\n") {
					fmt.Fprintf(&out, "> %s", line)
					cmd := exec.Command("redis-cli", "-h", host, "-p", port, fmt.Sprintf("-%d", protocol), "--no-auth-warning")
					cmd.Stdin = strings.NewReader(line)
					cmd.Env = append(os.Environ(), "FAKETTY=1") // print as on a terminal
					printed, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("redis-cli: %s: %v\n%s", line, err, printed)
					}
					out.Write(printed)
				}
			}
			golden(t, fmt.Sprintf("rediscli-resp%d.txt", protocol), out.String())
			calledAll(t, out.String())
		})
	}
}
