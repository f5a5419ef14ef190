package redisbloom

import (
	"fmt"
	"math/bits"
	"testing"
)

// A sample of all lines has all ones; a small one has at most as many lines as asked for.
func TestSample(t *testing.T) {
	f, err := New(Config{Capacity: 1000, ErrorRate: 0.01, Expansion: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2500 {
		if _, err := f.Add(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	all := f.Sample(1 << 20)
	if len(all) != len(f.chain()) || len(all) < 2 {
		t.Fatalf("%d sub-filters, it has %d", len(all), len(f.chain()))
	}
	for i, l := range f.chain() {
		ones, sum := 0, 0.0
		for _, w := range l.words {
			ones += bits.OnesCount64(w)
		}
		for j, s := range all[i] {
			sum += s * float64(64*min(8, len(l.words)-8*j))
		}
		if int(sum+0.5) != ones {
			t.Errorf("sub-filter %d: %v ones, it has %d", i, sum, ones)
		}
	}
	if few := f.Sample(3); len(few[0]) != 3 || few[0][1] == 0 {
		t.Errorf("three lines: %v", few)
	}
}
