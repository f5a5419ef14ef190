package main

import (
	"io"
	"regexp"
	"strings"
	"testing"
)

// TestRows fills and checks every row with few keys: a row that loses keys, or whose
// error rate is far from that of its peers, cannot be compared.
func TestRows(t *testing.T) {
	o := options{rate: 0.01, turns: 1, queries: 20_000, pairs: true, only: regexp.MustCompile("")}
	for _, k := range keyKinds {
		for _, r := range table(o, k, 20_000, io.Discard) {
			switch {
			case r.failed != nil:
				t.Errorf("%s, %s: %v", r.row.name, k.name, r.failed)
			case r.add <= 0 || r.bitsPerKey < 7 || r.bitsPerKey > 40:
				t.Errorf("%s, %s: %.1f ns per added key, %.1f bits", r.row.name, k.name, r.add, r.bitsPerKey)
			case r.mixed == 0:
				if !strings.Contains(r.row.name, "bulk add") {
					t.Errorf("%s, %s: no questions", r.row.name, k.name)
				}
			case r.lost != 0 && r.row.name != "cuckoofilter":
				t.Errorf("%s, %s: %d keys lost", r.row.name, k.name, r.lost)
			case r.errorRate > 0.05:
				t.Errorf("%s, %s: error rate %.3g", r.row.name, k.name, r.errorRate)
			case r.present <= 0 || r.absent <= 0 || r.pair <= 0:
				t.Errorf("%s, %s: no time for some question", r.row.name, k.name)
			}
		}
	}
}

func TestReport(t *testing.T) {
	o, err := parse([]string{"-n", "2000", "-keys", "random16", "-turns", "1", "-rows", "bits"})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(o, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"machine:", "commit:", "github.com/bits-and-blooms/bloom/v3 v3.", "left out:", reference, "2000 keys, 16 random bytes"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not have %q:\n%s", want, &out)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, args := range []string{"-n 10", "-n x", "-keys words", "-p 0", "-turns 0", "-rows (", "-x"} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), "filters: ") {
			t.Errorf("%s: error %v", args, err)
		}
	}
}

// TestKeys checks that keys of different numbers differ and have their length.
func TestKeys(t *testing.T) {
	for name, k := range keyKinds {
		seen := map[string]bool{}
		s := reserve(k, 1000)
		for _, first := range []uint64{0, absent} {
			for _, key := range s.fill(k, 1000, func(i int) uint64 { return first + uint64(i) }).keys {
				if len(key) != k.length || seen[string(key)] {
					t.Fatalf("%s: key %q is of a wrong length or comes twice", name, key)
				}
				seen[string(key)] = true
			}
		}
	}
}
