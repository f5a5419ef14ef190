package bloom_test

import (
	"fmt"
	"math"
	"testing"

	"seen/bloom"
)

// A sample of all slots is what the filter counts; a small one is close to it.
func TestCuckooSample(t *testing.T) {
	f := must(bloom.NewCuckoo(bloom.CuckooConfig{Capacity: 10_000, Expansion: 1}))
	if s := f.Sample(10); len(s) != 1 || len(s[0]) != 10 || s[0][3] != 0 {
		t.Errorf("empty: %v", s)
	}
	for i := range 8000 {
		if err := f.Add(fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	is := f.Stats().Fill
	for _, n := range []int{1 << 20, 64} {
		sum, count := 0.0, 0
		for _, shares := range f.Sample(n) {
			for _, s := range shares {
				sum += s
				count++
			}
		}
		got := sum / float64(count)
		if n == 64 && math.Abs(got-is) > 0.05 || n != 64 && math.Abs(got-is) > 1e-9 {
			t.Errorf("%d of %d pieces: %v of the slots are in use, Stats says %v", count, n, got, is)
		}
	}
	small := must(bloom.NewCuckoo(bloom.CuckooConfig{Capacity: 2, BucketSize: 1}))
	for _, shares := range small.Sample(5) {
		for _, s := range shares {
			if s != 0 {
				t.Errorf("an empty table of few slots: %v", s)
			}
		}
	}
}
