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

// connect returns the client of the program.
func connect() rueidis.Client {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"redis-1:6379"}, DisableCache: true})
	if err != nil {
		panic(err)
	}
	return client
}

// A feed reader forgets an article a week after it has seen it last.
func ExampleOpenWindow() {
	ctx, client := context.Background(), connect()
	defer client.Close()
	w, err := cluster.OpenWindow(ctx, client, "articles", cluster.WindowConfig{
		Config: cluster.Config{Capacity: 10_000_000, ErrorRate: 1e-6},
		Span:   7 * 24 * time.Hour,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	isNew, err := w.Add(ctx, []byte("https://example.org/article"))
	fmt.Println(isNew, err)
}

// A filter in one server: Capacity and ErrorRate 0 open the one that is there.
func ExampleOpenServer() {
	ctx, client := context.Background(), connect()
	defer client.Close()
	f, err := cluster.OpenServer(ctx, client, "crawl", cluster.ServerConfig{})
	if errors.Is(err, cluster.ErrNotFound) {
		f, err = cluster.OpenServer(ctx, client, "crawl", cluster.ServerConfig{Capacity: 1_000_000, ErrorRate: 1e-6})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	info, err := f.Info(ctx)
	fmt.Println(info.Added, info.Capacity, err)
}

// A crawler with the md5 recipe for Scrapy goes on beside the programs that it has.
func ExampleOpenRecipe() {
	ctx, client := context.Background(), connect()
	defer client.Close()
	f, err := cluster.OpenRecipe(ctx, client, "bloomfilter", cluster.RecipeConfig{Recipe: cluster.RecipeMD5, Blocks: 4, MustExist: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	isNew, err := f.Add(ctx, []byte("https://example.org/"))
	fmt.Println(isNew, err)
}

// The filters of two crawls become one, which is gone in a month.
func ExampleFilter_Union() {
	ctx, client := context.Background(), connect()
	defer client.Close()
	var parts []*cluster.Filter
	for _, name := range []string{"crawl-north", "crawl-south"} {
		f, err := cluster.Open(ctx, client, name, cluster.Config{})
		if err != nil {
			fmt.Println(err)
			return
		}
		parts = append(parts, f)
	}
	if err := parts[0].Union(ctx, "crawl", parts[1:]...); err != nil {
		fmt.Println(err)
		return
	}
	all, err := cluster.Open(ctx, client, "crawl", cluster.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := all.Expire(ctx, 30*24*time.Hour); err != nil {
		fmt.Println(err)
		return
	}
	left, expires, err := all.TTL(ctx) // Persist would keep it
	fmt.Println(all.Name(), left, expires, err)
}

// What is wrong is told by the type of an error.
func ExampleCodeOf() {
	ctx, client := context.Background(), connect()
	defer client.Close()
	f, err := cluster.Open(ctx, client, "crawl", cluster.Config{Capacity: 1000, ErrorRate: 0.01, Wait: cluster.Wait{Replicas: 1}})
	if other, ok := errors.AsType[*cluster.ParameterError](err); ok {
		fmt.Printf("another %s: %v, not %v\n", other.Parameter, other.Have, other.Want)
		return
	}
	if other, ok := errors.AsType[*cluster.NotFilterError](err); ok {
		fmt.Printf("the name is taken: %s\n", other.Holds)
		return
	}
	if err == nil {
		_, err = f.Add(ctx, []byte("key"))
	}
	switch {
	case cluster.CodeOf(err) == cluster.OutOfMemory:
		fmt.Println("the engine is full")
	case cluster.CodeOf(err) == cluster.NoPermission:
		fmt.Println("run ACL SETUSER crawler", cluster.ACL(cluster.UseAdd, "crawl"))
	case errors.Is(err, cluster.ErrReplicas):
		fmt.Println("the key is on the primary alone")
	case errors.Is(err, cluster.ErrFull):
		fmt.Println("the filter is full")
	}
	if slices, ok := errors.AsType[*cluster.KeyError](err); ok && errors.Is(err, cluster.ErrMissingSlice) {
		fmt.Println("lost:", slices.Keys)
	}
}

// A user who only asks needs few rights.
func ExampleACL() {
	fmt.Println(cluster.ACL(cluster.UseAsk, "crawl"))
	// Output: ~crawl ~crawl:* +asking +bitcount +cluster|shards +cluster|slots +exists +get +getrange +ping +pttl +time
}
