package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDemonstration(t *testing.T) {
	s := settings{caches: 3, capacity: 200, objects: 2000, requests: 4000, refresh: 100, rate: 0.01}
	sum, err := s.demonstrate()
	if err != nil {
		t.Fatal(err)
	}
	misses := sum.requests - sum.hits
	if sum.requests != 4000 || sum.hits == 0 || sum.neighbours == 0 || sum.neighbours > sum.asked || sum.origin != misses-sum.neighbours || sum.digests != 40*3*2 {
		t.Errorf("%+v does not add up", sum)
	}
	// The digests save most of the requests to neighbours, and most of the remaining
	// requests find the object.
	if sum.asked > misses*2/2 || sum.neighbours*2 < sum.asked {
		t.Errorf("%d questions for %d misses, %d answered", sum.asked, misses, sum.neighbours)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-requests", "2000", "-capacity", "100", "-objects", "500"}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "saved ") {
		t.Errorf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
}

// A cache gets a request for an object only if its digest has the object.
func TestDigestDecides(t *testing.T) {
	has, lacks := newCache(10, 0.01), newCache(10, 0.01)
	has.keep("/object/1")
	lacks.keep("/object/2")
	c := newCache(10, 0.01)
	for _, n := range []*cache{lacks, has} {
		s := httptest.NewServer(n)
		defer s.Close()
		c.neighbours = append(c.neighbours, &neighbour{url: s.URL})
	}
	if err := c.get("/object/1"); err != nil || c.counts.asked != 0 || c.counts.origin != 1 {
		t.Fatalf("without digests: %+v, %v", c.counts, err)
	}
	c = &cache{capacity: 10, rate: 0.01, neighbours: c.neighbours, held: map[string]bool{}}
	if err := c.fetchDigests(); err != nil {
		t.Fatal(err)
	}
	if err := c.get("/object/1"); err != nil || c.counts.asked != 1 || c.counts.neighbours != 1 {
		t.Errorf("%+v, %v", c.counts, err)
	}
	if err := c.get("/object/1"); err != nil || c.counts.hits != 1 {
		t.Errorf("a second time: %+v, %v", c.counts, err)
	}
	// An object that was evicted after the digest was made costs one extra request.
	lacks.held = map[string]bool{}
	if err := c.get("/object/2"); err != nil || c.counts.asked != 2 || c.counts.origin != 1 {
		t.Errorf("evicted: %+v, %v", c.counts, err)
	}
}

func TestEviction(t *testing.T) {
	c := newCache(2, 0.01)
	for _, object := range []string{"a", "b", "c"} {
		c.keep(object)
	}
	if c.held["a"] || !c.held["b"] || !c.held["c"] {
		t.Errorf("held: %v", c.held)
	}
}

func TestBadDigests(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"none": http.NotFound, "noise": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("noise")) },
	} {
		s := httptest.NewServer(answer)
		c := newCache(1, 0.01)
		c.neighbours = []*neighbour{{url: s.URL}}
		if err := c.fetchDigests(); err == nil || c.neighbours[0].digest != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
	for _, args := range [][]string{{"-caches", "1"}, {"-p", "2", "-requests", "1000"}, {"-nosuch"}} {
		if code := run(args, &bytes.Buffer{}, &bytes.Buffer{}); code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
