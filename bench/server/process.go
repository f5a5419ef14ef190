package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// build builds the command seen.
func (o *options) build(ctx context.Context) error {
	o.seen = filepath.Join(o.dir, "seen")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", o.seen, "./cmd/seen")
	cmd.Dir = o.root
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building seen: %w: %s", err, b)
	}
	return nil
}

// process is a running server.
type process struct {
	name string
	addr string
	http string // of ours
	cmd  *exec.Cmd
	dir  string
}

// startSeen starts seen serve with a new data folder.
func (o *options) startSeen(ctx context.Context, args ...string) (*process, error) {
	dir, err := os.MkdirTemp(o.dir, "data-")
	if err != nil {
		return nil, err
	}
	return o.startSeenOn(ctx, dir, args...)
}

// startSeenOn starts seen serve with a data folder, and returns when it answers.
func (o *options) startSeenOn(ctx context.Context, dir string, args ...string) (*process, error) {
	p := &process{name: "seen", dir: dir}
	p.cmd = exec.CommandContext(ctx, o.seen, append([]string{
		"serve", "--data", dir, "--addr", "127.0.0.1:0", "--http", "127.0.0.1:0", "--http-debug", "--log", "json",
	}, args...)...)
	p.cmd.Env = os.Environ()
	log, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(log)
	var said bytes.Buffer
	for {
		line, err := lines.ReadBytes('\n')
		said.Write(line)
		var entry struct {
			Message string   `json:"msg"`
			Addr    []string `json:"addr"`
			HTTP    []string `json:"http"`
		}
		if err != nil {
			p.stop()
			return nil, fmt.Errorf("seen serve did not start: %s", &said)
		}
		if json.Unmarshal(line, &entry) == nil && entry.Message == "ready" {
			p.addr, p.http = entry.Addr[0], entry.HTTP[0]
			break
		}
	}
	go func() { _, _ = lines.WriteTo(os.Stderr) }()
	return p, nil
}

// startRedis starts redis-server with default settings, except that it does not write
// to disk, which is its best case.
func (o *options) startRedis(ctx context.Context, args ...string) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(addr)
	dir, err := os.MkdirTemp(o.dir, "redis-")
	if err != nil {
		return nil, err
	}
	p := &process{name: "redis", addr: addr, dir: dir}
	p.cmd = exec.CommandContext(ctx, "redis-server", append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir}, args...)...)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for range 100 {
		if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			_ = c.Close()
			return p, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.stop()
	return nil, errors.New("redis-server did not start")
}

// end ends the server with a signal.
func (p *process) end(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
	_ = p.cmd.Wait()
}

// stop ends the server and removes its data.
func (p *process) stop() {
	p.end(syscall.SIGTERM)
	_ = os.RemoveAll(p.dir)
}

// clockTicks is the unit of processor times in /proc. It is the same on all current
// Linux machines.
const clockTicks = 100

// cpu returns the processor time that the server has used so far.
func (p *process) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name of the program, in parentheses, may contain blanks.
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat is %q", p.cmd.Process.Pid, b)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / clockTicks, errors.Join(err1, err2)
}
