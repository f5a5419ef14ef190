// Command digests shows cache digests: caches fetch filters from each other over
// HTTP, and so know which objects each of them has.
//
//	go run ./examples/digests
//
// runs a few caches on loopback in front of one origin, and sends them requests for
// objects. Some objects are much more popular than others. A cache that does not have
// an object requests it from a neighbour whose digest has it, or else from the origin.
// The program prints how many requests between caches the digests saved.
//
// A digest is a snapshot: it still has objects that were evicted later, and does not
// have new ones. This can cost an extra request or a missed hit, but never a wrong
// answer, since a neighbour answers 404 for an object that it no longer has.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"

	"seen/bloom"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// settings are the flags.
type settings struct {
	caches, capacity, objects, requests, refresh int
	rate                                         float64
}

// run is main with its arguments and streams as parameters.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("digests", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var s settings
	flags.IntVar(&s.caches, "caches", 4, "caches")
	flags.IntVar(&s.capacity, "capacity", 1000, "objects that a cache holds")
	flags.IntVar(&s.objects, "objects", 10_000, "objects of the origin")
	flags.IntVar(&s.requests, "requests", 40_000, "requests to the caches together")
	flags.IntVar(&s.refresh, "refresh", 500, "requests after which a cache fetches the digests of the others")
	flags.Float64Var(&s.rate, "p", 0.01, "error rate of a digest")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if s.caches < 2 || s.capacity < 1 || s.objects < 2 || s.refresh < 1 {
		fmt.Fprintln(stderr, "digests: want -caches 2 or more, -capacity 1 or more, -objects 2 or more and -refresh 1 or more")
		return 2
	}
	sum, err := s.demonstrate()
	if err != nil {
		fmt.Fprintln(stderr, "digests:", err)
		return 2
	}
	misses := sum.requests - sum.hits
	_, err = fmt.Fprintf(stdout, "requests    %d, %d answered by the cache itself\nneighbours  %d asked, %d of which had the object\norigin      %d asked\nsaved       %d questions to neighbours, of %d without digests\ndigests     %d fetched, %d bytes each\n",
		sum.requests, sum.hits, sum.asked, sum.neighbours, sum.origin, misses*(s.caches-1)-sum.asked, misses*(s.caches-1), sum.digests, sum.bytes/max(sum.digests, 1))
	if err != nil {
		fmt.Fprintln(stderr, "digests:", err)
		return 2
	}
	return 0
}

// demonstrate sends all requests, one after another, and returns what happened.
func (s *settings) demonstrate() (sum counts, err error) {
	var caches []*cache
	for range s.caches {
		c := newCache(s.capacity, s.rate)
		url, stop, err := serve(c)
		if err != nil {
			return sum, err
		}
		defer stop()
		for _, other := range caches {
			other.neighbours = append(other.neighbours, &neighbour{url: url})
			c.neighbours = append(c.neighbours, &neighbour{url: other.url})
		}
		c.url = url
		caches = append(caches, c)
	}
	r := rand.New(rand.NewPCG(1, 2))
	wanted := rand.NewZipf(r, 1.1, 10, uint64(s.objects-1))
	for i := range s.requests {
		c := caches[r.IntN(len(caches))]
		if err := c.get(fmt.Sprintf("/object/%d", wanted.Uint64())); err != nil {
			return sum, err
		}
		if i%s.refresh == s.refresh-1 {
			for _, c := range caches {
				if err := c.fetchDigests(); err != nil {
					return sum, err
				}
			}
		}
	}
	for _, c := range caches {
		sum.add(&c.counts)
	}
	return sum, nil
}

func serve(h http.Handler) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(l) }() // it returns only after Close
	return "http://" + l.Addr().String(), func() { _ = server.Close() }, nil
}

// counts are what happened to the requests.
type counts struct{ requests, hits, asked, neighbours, origin, digests, bytes int }

func (c *counts) add(d *counts) {
	c.requests += d.requests
	c.hits += d.hits
	c.asked += d.asked
	c.neighbours += d.neighbours
	c.origin += d.origin
	c.digests += d.digests
	c.bytes += d.bytes
}

// cache has the objects that were requested last.
type cache struct {
	url        string
	capacity   int
	rate       float64
	neighbours []*neighbour
	counts     counts

	mu    sync.Mutex
	held  map[string]bool
	order []string // oldest first
}

// neighbour is another cache and its last digest.
type neighbour struct {
	url    string
	digest *bloom.Classic // nil before the first one
}

func newCache(capacity int, rate float64) *cache {
	return &cache{capacity: capacity, rate: rate, held: map[string]bool{}}
}

// ServeHTTP answers neighbours: /digest is the filter, every other path is an object.
func (c *cache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/digest" {
		c.mu.Lock()
		held := c.held[r.URL.Path]
		c.mu.Unlock()
		if !held {
			http.NotFound(w, r)
		}
		return
	}
	digest, err := c.digest()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(digest) // the checksum shows a client that it did not get all of it
}

// digest makes a filter of the objects that the cache has now.
func (c *cache) digest() ([]byte, error) {
	f, err := bloom.NewClassic(bloom.Config{Capacity: uint64(c.capacity), ErrorRate: c.rate})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	for object := range c.held {
		f.AddString(object)
	}
	c.mu.Unlock()
	return f.MarshalBinary()
}

// maxDigest limits the size of a neighbour's digest.
const maxDigest = 16 << 20

// fetchDigests replaces the digests of the neighbours. A digest that is truncated or
// damaged is an error.
func (c *cache) fetchDigests() error {
	for _, n := range c.neighbours {
		resp, err := http.Get(n.url + "/digest")
		if err != nil {
			return err
		}
		b, err := io.ReadAll(io.LimitReader(resp.Body, maxDigest))
		resp.Body.Close() // it is only read
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("digest of %s: %s", n.url, resp.Status)
		}
		if err != nil {
			return err
		}
		f := new(bloom.Classic)
		if err := f.UnmarshalBinary(b); err != nil {
			return err
		}
		n.digest = f
		c.counts.digests++
		c.counts.bytes += len(b)
	}
	return nil
}

// get answers a request: from the cache, from a neighbour, or from the origin, which
// has everything.
func (c *cache) get(object string) error {
	c.counts.requests++
	c.mu.Lock()
	held := c.held[object]
	c.mu.Unlock()
	if held {
		c.counts.hits++
		return nil
	}
	found := false
	for _, n := range c.neighbours {
		if n.digest == nil || !n.digest.HasString(object) {
			continue
		}
		c.counts.asked++
		resp, err := http.Get(n.url + object)
		if err != nil {
			return err
		}
		resp.Body.Close() // it is only read
		if found = resp.StatusCode == http.StatusOK; found {
			c.counts.neighbours++
			break
		}
	}
	if !found {
		c.counts.origin++
	}
	c.keep(object)
	return nil
}

// keep stores an object, and evicts the oldest if the cache is full.
func (c *cache) keep(object string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[object] = true
	c.order = append(c.order, object)
	if len(c.order) > c.capacity {
		delete(c.held, c.order[0])
		c.order = c.order[1:]
	}
}
