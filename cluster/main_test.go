package cluster

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"seen/internal/filtertest"
	"seen/internal/redistest"
)

var lab redistest.Lab

func TestMain(m *testing.M) {
	if order := os.Getenv(workerEnv); order != "" {
		if err := work(order, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(lab.Run(m, os.Stderr))
}

// dial returns a client of engines, closed with the test.
func dial(t testing.TB, addrs ...string) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, DisableCache: true, ConnWriteTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// engines are what every test of behaviour runs on.
var engines = []struct {
	name string
	dial func(t testing.TB) rueidis.Client
}{
	{"single", func(t testing.TB) rueidis.Client { return dial(t, lab.Server(t).Addr()) }},
	{"cluster", func(t testing.TB) rueidis.Client { return dial(t, lab.Cluster(t).Addrs()...) }},
}

func onEngines(t *testing.T, test func(t *testing.T, client rueidis.Client)) {
	t.Helper()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { test(t, e.dial(t)) })
	}
}

// underRace returns how many keys a test has whose size does not matter to the race
// detector, under which everything takes twenty times as long.
func underRace(keys int) int {
	if filtertest.Race {
		return keys / 3
	}
	return keys
}

var names atomic.Int64

// name returns a name that no other test has.
func name(t testing.TB) string {
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), names.Add(1))
}

// open opens a new filter, which is dropped after the test.
func open(t testing.TB, client rueidis.Client, c Config) *Filter {
	t.Helper()
	f, err := Open(t.Context(), client, name(t), c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// isA reports whether err is an error of type T, or has one within.
func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}
