package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, 1000, 0.001)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// check tests the value of a key, "" for no value, and returns the number of reads.
func check(t *testing.T, s *Store, key, want string) (reads int64) {
	t.Helper()
	before := s.reads.Load()
	got, err := s.Get([]byte(key))
	if err != nil || string(got) != want {
		t.Errorf("%s: %q, %v; want %q", key, got, err, want)
	}
	return s.reads.Load() - before
}

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, path)
	if reads := check(t, s, "a", ""); reads != 0 {
		t.Errorf("%d reads of an empty store", reads)
	}
	if err := s.Put([]byte("a"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := s.PutAll(map[string]string{"b": "2", "c": "3"}); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"a": "1", "b": "2", "c": "3"} {
		if reads := check(t, s, key, value); reads != 1 {
			t.Errorf("%s: %d reads", key, reads)
		}
	}
	if err := s.Delete([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if reads := check(t, s, "a", ""); reads != 1 {
		t.Errorf("a deleted key: %d reads, want 1", reads)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	if reads := check(t, s, "a", "") + check(t, s, "b", "2"); reads != 1 {
		t.Errorf("opened anew: %d reads, want that of b", reads)
	}
}

// Get finds a value right after Put, while other goroutines put and get.
func TestConcurrent(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 20 {
				key := fmt.Sprintf("%d/%d", w, i)
				if err := s.Put([]byte(key), []byte(key)); err != nil {
					t.Error(err)
				}
				check(t, s, key, key)
			}
		})
	}
	wg.Wait()
}

func TestDemonstration(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-values", "2000", "-lookups", "20000"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var lookups, found, reads, vain, saved, pages int
	_, err := fmt.Sscanf(stdout.String(), "look-ups %d, of which %d found a value\nreads %d, of which %d found nothing\nsaved %d reads, of %d pages each", &lookups, &found, &reads, &vain, &saved, &pages)
	if err != nil {
		t.Fatalf("%v in %s", err, &stdout)
	}
	// 18,000 look-ups of absent keys at an error rate of at most 1 %: 180, and more
	// than 240 with a probability below 1e-5.
	if lookups != 20000 || found != 2000 || reads != found+vain || saved != lookups-reads || vain > 240 || pages < 2 {
		t.Errorf("%s", &stdout)
	}
	for _, args := range [][]string{{"-values", "0"}, {"-p", "2"}, {"-nosuch"}} {
		if code := run(args, &stdout, &stderr); code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
