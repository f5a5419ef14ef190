package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/redis/rueidis"

	"seen/cluster"
	"seen/once"
)

// filter has the known URLs. All workers share it.
type filter struct {
	once.Set
	client rueidis.Client
	drop   func(context.Context) error
}

func (f *filter) close() { f.client.Close() }

// openFilter opens or creates the named filter at redis://HOST:PORT[,HOST:PORT...] or
// in the server at seen://HOST:PORT.
func openFilter(ctx context.Context, where, name string, capacity uint64, errorRate float64) (*filter, error) {
	kind, hosts, ok := strings.Cut(where, "://")
	if !ok || hosts == "" || kind != "redis" && kind != "seen" {
		return nil, fmt.Errorf("-filter %q: want redis://HOST:PORT or seen://HOST:PORT", where)
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: strings.Split(hosts, ","), DisableCache: true})
	if err != nil {
		return nil, err
	}
	f := &filter{client: client}
	if kind == "seen" {
		f.Set, err = cluster.OpenServer(ctx, client, name, cluster.ServerConfig{Capacity: capacity, ErrorRate: errorRate})
		f.drop = func(ctx context.Context) error { return client.Do(ctx, client.B().Del().Key(name).Build()).Error() }
	} else {
		var fleet *cluster.Filter
		fleet, err = cluster.Open(ctx, client, name, cluster.Config{Capacity: capacity, ErrorRate: errorRate})
		f.Set = fleet
		f.drop = func(ctx context.Context) error { return fleet.Drop(ctx) }
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return f, nil
}

// startServer builds the command seen and starts a "seen serve" on a free port of
// loopback, with its data below dir. The server ends with ctx.
func startServer(ctx context.Context, dir string) (where string, err error) {
	program := filepath.Join(dir, "seen.exe") // the suffix is needed on Windows and harmless elsewhere
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "seen/cmd/seen").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building seen: %w\n%s\nrun this in the tree of seen, or name a running server by -filter", err, out)
	}
	server := exec.CommandContext(ctx, program, "serve", "--data", filepath.Join(dir, "data"), "--addr", "127.0.0.1:0", "--http", "off", "--log", "json")
	log, err := server.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := server.Start(); err != nil {
		return "", err
	}
	lines := bufio.NewScanner(log)
	var said []string
	for lines.Scan() {
		var line struct {
			Message string   `json:"msg"`
			Addr    []string `json:"addr"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "ready" && len(line.Addr) > 0 { // other lines are log messages
			go func() {
				_, _ = io.Copy(io.Discard, log) // otherwise the server would block when the pipe is full
				_ = server.Wait()               // the end of ctx kills it
			}()
			return "seen://" + line.Addr[0], nil
		}
		said = append(said, lines.Text())
	}
	err = server.Wait()
	return "", errors.Join(fmt.Errorf("seen serve did not start: %s", strings.Join(said, "\n")), err)
}
