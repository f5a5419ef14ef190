// Package machine describes the machine of a measurement with Redis.
package machine

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Describe prints a line with the processor, the load, and the versions of Go and Redis.
// redis-server must be installed.
func Describe(ctx context.Context, out io.Writer) error {
	first := func(b []byte) string {
		line, _, _ := strings.Cut(string(b), "\n")
		return strings.TrimSpace(line)
	}
	cpu := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				cpu = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
				break
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	version, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
	if err != nil {
		return fmt.Errorf("redis-server is needed (scripts/deps bench): %w", err)
	}
	_, err = fmt.Fprintf(out, "%s, %d cores, %s; load at the start %s; %s\n", cpu, runtime.NumCPU(), runtime.Version(), first(load), first(version))
	return err
}
