package once_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"seen/bloom"
	"seen/cluster"
	"seen/once"
)

// open returns the memory of a crawl of a million pages: in this process for
// "local", in the server at "seen://HOST:PORT", and on the Redis or Valkey engines at
// "redis://HOST:PORT,...".
func open(ctx context.Context, where string) (once.Memory, func(), error) {
	if where == "local" {
		f, err := bloom.NewShared(bloom.Config{Capacity: 1_000_000, ErrorRate: 1e-6})
		return once.Local(f), func() {}, err
	}
	kind, hosts, _ := strings.Cut(where, "://")
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: strings.Split(hosts, ","), DisableCache: true})
	if err != nil {
		return nil, nil, err
	}
	if kind == "seen" {
		f, err := cluster.OpenServer(ctx, client, "crawl", cluster.ServerConfig{Capacity: 1_000_000, ErrorRate: 1e-6})
		return f, client.Close, err
	}
	f, err := cluster.Open(ctx, client, "crawl", cluster.Config{Capacity: 1_000_000, ErrorRate: 1e-6})
	return f, client.Close, err
}

// Only open knows where the memory is; everything else is the same for one process and for
// many.
func Example() {
	ctx := context.Background()
	memory, closeIt, err := open(ctx, "local")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closeIt()
	for range 2 {
		isNew, err := memory.Add(ctx, []byte("http://example.com/"), []byte("http://example.com/about"))
		fmt.Println(isNew, err)
	}
	// Output:
	// [true true] <nil>
	// [false false] <nil>
}
