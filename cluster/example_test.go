package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"seen/cluster"
)

// A crawler asks of each link whether it is the first, of all crawlers, to meet it.
func ExampleFilter_Add() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis-1:6379", "redis-2:6379"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	f, err := cluster.Open(ctx, client, "crawl", cluster.Config{Capacity: 1_000_000_000, ErrorRate: 0.01})
	if err != nil {
		fmt.Println(err)
		return
	}
	links := [][]byte{[]byte("https://example.org/"), []byte("https://example.org/about")}
	isNew, err := f.Add(ctx, links...)
	var undecided *cluster.UndecidedError
	if errors.As(err, &undecided) {
		// A page too often rather than one too few.
		for _, i := range undecided.Keys {
			isNew[i] = true
		}
	}
	for i, link := range links {
		if isNew[i] {
			fmt.Printf("fetch %s\n", link)
		}
	}
}

// What ten billion keys cost, before anything is made.
func ExamplePlanFor() {
	p, err := cluster.PlanFor(cluster.Config{Capacity: 10_000_000_000, ErrorRate: 0.01}, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d slices of %d bytes, %.1f GB on each node; a new key takes %d commands\n",
		p.Slices, p.SliceBytes, float64(p.BytesPerNode)/1e9, p.CommandsPerNew)
	// Output: 765 slices of 16773120 bytes, 4.3 GB on each node; a new key takes 3 commands
}
