package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"seen/internal/filtertest"
)

// No answer is wrong, and few good URLs are looked up.
func TestDemonstration(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-bad", "20000", "-asked", "30000", "-p", "0.01"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var list, size, asked, bad, wrong, lookups, good int
	_, err := fmt.Sscanf(stdout.String(), "list %d bad URLs, in a filter of %d bytes\nasked %d URLs, %d of them bad, %d answers wrong\nlooked up %d, of which %d were good",
		&list, &size, &asked, &bad, &wrong, &lookups, &good)
	if err != nil {
		t.Fatalf("%v in %s", err, &stdout)
	}
	lo, hi := filtertest.Limits(asked-bad, 0.01, 0, 1)
	if asked != 30000 || bad != 30 || wrong != 0 || lookups != bad+good || good > hi || good < lo || size > 20000*16/8 {
		t.Errorf("want 30 bad, no wrong answers, %d to %d good URLs looked up\n%s", lo, hi, &stdout)
	}
}

// A truncated filter is an error, and so is an invalid URL.
func TestErrors(t *testing.T) {
	l, err := newList(1000, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := l.filter.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"cut": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole[:len(whole)/2]) },
		"changed": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(append(bytes.Clone(whole[:len(whole)-1]), whole[len(whole)-1]^1))
		},
		"none": http.NotFound,
	} {
		s := httptest.NewServer(answer)
		if _, err := newChecker(s.URL); err == nil {
			t.Errorf("%s: no error", name)
		}
		s.Close()
	}
	s := httptest.NewServer(l.handler())
	c, err := newChecker(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.bad("no url"); err == nil {
		t.Error("no error for what is no URL")
	}
	s.Close()
	if bad, err := c.bad("https://bad.example/page/1"); err == nil || bad {
		t.Errorf("without the service: %v, %v", bad, err)
	}
}
