//go:build unix

package daemon

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"seen/internal/crashtest"
	"seen/internal/resp"
)

// TestDrainIsADeadline ends servers while a command runs that would take hours: they end
// by themselves soon after --drain, and have kept what was acknowledged, and of a
// transaction that had not come to its end nothing.
func TestDrainIsADeadline(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	// In a second if the machine has nothing else to do, which is not held here: a
	// server that waits for the command is still far off.
	const limit = 20 * time.Second
	many := func(words ...string) []byte {
		for i := range 300_000 {
			words = append(words, fmt.Sprint("item:", i))
		}
		return resp.AppendCommand(nil, words...)
	}
	word := func(words ...string) []byte { return resp.AppendCommand(nil, words...) }
	for what, sent := range map[string][][]byte{
		"question":    {many("BF.MEXISTS", "layered")},
		"addition":    {many("BF.MADD", "layered")},
		"transaction": {word("MULTI"), word("BF.ADD", "kept", "half"), many("BF.MADD", "layered"), word("EXEC")},
	} {
		for _, fsync := range []string{"always", "everysec"} {
			t.Run(what+" "+fsync, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s := startServed(t, dir, "--drain", "300ms", "--fsync", fsync)
				s.Must("BF.RESERVE", "layered", "0.01", "1", "EXPANSION", "1")
				filled := []string{"BF.MADD", "layered"}
				for i := range 1500 {
					filled = append(filled, fmt.Sprint("first:", i))
				}
				s.Must(filled...)
				s.Must("BF.ADD", "kept", "whole")
				c, err := net.Dial("tcp", s.Addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				for _, b := range sent {
					if _, err := c.Write(b); err != nil {
						t.Fatal(err)
					}
				}
				awaitBytes(t, s, len(slices.Concat(sent...)))
				began := time.Now()
				s.Signal(syscall.SIGTERM)
				// Where the machine is so busy that closing takes longer, it says so.
				if code := s.Exit(); code != 0 && code != exitError {
					t.Errorf("it ended with %d\n%s", code, &s.Log)
				}
				took := time.Since(began)
				t.Logf("ended %v after SIGTERM", took)
				if took > limit {
					t.Errorf("ended %v after SIGTERM", took)
				}
				again := startServed(t, dir)
				again.Expect("[:1, :0]", "BF.MEXISTS", "kept", "whole", "half")
				again.Stop()
			})
		}
	}
}

// awaitBytes waits until the server has read as many bytes, so that it runs the
// commands in them or is about to.
func awaitBytes(t *testing.T, s *crashtest.Server, least int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		_, text, _ := strings.Cut(s.Must("INFO", "stats").Text, "total_net_input_bytes:")
		text, _, _ = strings.Cut(text, "\r")
		if n, err := strconv.Atoi(text); err != nil || time.Now().After(deadline) {
			t.Fatalf("the server has read %d bytes, %v", n, err)
		} else if n >= least {
			return
		}
	}
}
