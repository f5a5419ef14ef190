package sketch

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"seen/bloom"
)

// zipfStream draws keys 0, 1, ... with the frequencies of Zipf's law.
type zipfStream struct {
	upTo   []float64
	random *rand.Rand
}

func newZipfStream(keys int, skew float64, seed uint64) *zipfStream {
	z := &zipfStream{make([]float64, keys), rand.New(rand.NewPCG(seed, 61))}
	sum := 0.0
	for i := range z.upTo {
		sum += math.Pow(float64(i+1), -skew)
		z.upTo[i] = sum
	}
	return z
}

func (z *zipfStream) next() int {
	return sort.SearchFloat64s(z.upTo, z.random.Float64()*z.upTo[len(z.upTo)-1])
}

// found counts a stream in a sketch, and returns the share of the k most frequent keys that it
// finds with a count that is too low by at most the share e.
func found(t *testing.T, z *zipfStream, c TopKConfig, additions uint64, e float64) (recall, exact float64) {
	t.Helper()
	s, err := NewTopK(c)
	if err != nil {
		t.Fatal(err)
	}
	truth := make([]uint64, len(z.upTo))
	var key [4]byte
	name := func(i int) []byte {
		binary.LittleEndian.PutUint32(key[:], uint32(i))
		return key[:]
	}
	for range additions {
		i := z.next()
		truth[i]++
		s.Add(name(i))
	}
	least := slices.Sorted(slices.Values(truth))[len(truth)-c.K]
	hits, right := 0.0, 0.0
	for i, n := range truth {
		if n < least || !s.Has(name(i)) {
			continue
		}
		hits++
		if float64(s.Count(name(i))) >= float64(n)*(1-e) {
			right++
		}
	}
	return min(1, hits/float64(c.K)), min(1, right/float64(c.K))
}

// A sketch of the size that is told for a need meets it.
func TestTopKSizeIsEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	const keys = 50_000
	for _, c := range []struct {
		k             int
		skew          float64
		recall, error float64
		trials        int
	}{
		{10, 0.8, 0.99, 0.01, 4}, {10, 1, 0.95, 0.05, 4}, {10, 1.3, 0.9, 0.01, 4}, {100, 1, 0.99, 0.01, 1}, {100, 1.3, 0.95, 0.02, 1}, {50, 1, 0.7, 0.1, 1},
	} {
		share, rest, err := ZipfShares(uint64(c.k), keys, c.skew)
		if err != nil {
			t.Fatal(err)
		}
		size, err := TopKNeed{K: c.k, Share: share, Rest: rest, Recall: c.recall, CountError: c.error}.Size()
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for trial := range c.trials {
			z := newZipfStream(keys, c.skew, uint64(trial))
			_, right := found(t, z, TopKConfig{K: c.k, Width: size.Width, Depth: size.Depth, Decay: size.Decay, Seed: uint64(trial), Hash: bloom.Hash{Seed: uint64(trial)}}, size.Additions, c.error)
			sum += right
		}
		// What was wanted is a mean; three standard deviations of what so many keys may show.
		tolerance := 3 * math.Sqrt(c.recall*(1-c.recall)/float64(c.k*c.trials))
		if got := sum / float64(c.trials); got < c.recall-tolerance {
			t.Errorf("%+v: %d rows of %d find %.4f of the keys", c, size.Depth, size.Width, got)
		}
	}
}

// The default size finds the most frequent keys, and that of RedisBloom does not.
func TestTopKDefault(t *testing.T) {
	const keys, k, additions = 100_000, 100, 1_000_000
	recall, right := found(t, newZipfStream(keys, 1, 1), TopKConfig{K: k}, additions, 0.01)
	if recall < 0.98 || right < 0.98 {
		t.Errorf("by default %.2f of the keys are found, %.2f with their count", recall, right)
	}
	recall, right = found(t, newZipfStream(keys, 1, 1), TopKConfig{K: k, Width: 8, Depth: 7}, additions, 0.01)
	if right > 0.5 {
		t.Errorf("7 rows of 8 find %.2f of the keys, %.2f with their count: the test proves nothing", recall, right)
	}
}

func TestZipfShares(t *testing.T) {
	for _, c := range []struct {
		k, keys uint64
		skew    float64
	}{{1, 1, 1}, {10, 10, 0.5}, {3, 50_000, 1}, {100, 200_000, 0.8}, {20_000, 100_000, 1.3}, {5, 1000, 0}} {
		sum, top := 0.0, 0.0
		for i := c.keys; i > 0; i-- {
			if sum += math.Pow(float64(i), -c.skew); i == c.k+1 {
				top = sum
			}
		}
		share, rest, err := ZipfShares(c.k, c.keys, c.skew)
		if err != nil || math.Abs(share*sum/math.Pow(float64(c.k), -c.skew)-1) > 1e-9 || math.Abs(rest-top/sum) > 1e-9 {
			t.Errorf("%+v: %v, %v, %v; want %v, %v", c, share, rest, err, math.Pow(float64(c.k), -c.skew)/sum, top/sum)
		}
	}
	for want, f := range map[string]func() (float64, float64, error){
		"the 0 most frequent of 5":    func() (float64, float64, error) { return ZipfShares(0, 5, 1) },
		"the 6 most frequent of 5":    func() (float64, float64, error) { return ZipfShares(6, 5, 1) },
		"skew -1 is not between":      func() (float64, float64, error) { return ZipfShares(1, 5, -1) },
		"skew NaN is not between":     func() (float64, float64, error) { return ZipfShares(1, 5, math.NaN()) },
		"skew 11 is not between 0 an": func() (float64, float64, error) { return ZipfShares(1, 5, 11) },
	} {
		if _, _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

func TestTopKSizeErrors(t *testing.T) {
	for want, n := range map[string]TopKNeed{
		"k = 0 of a top-k":                      {K: 0, Share: 0.1},
		"k = -3 of a top-k":                     {K: -3, Share: 0.1},
		"share 0 of the least":                  {K: 10},
		"share 0.2 of the least frequent of 10": {K: 10, Share: 0.2},
		"share NaN of":                          {K: 10, Share: math.NaN()},
		"share 1 of all other keys":             {K: 10, Share: 0.1, Rest: 1},
		"recall 1 is not":                       {K: 10, Share: 0.1, Recall: 1},
		"recall -1 is not":                      {K: 10, Share: 0.1, Recall: -1},
		"count error 2 is":                      {K: 10, Share: 0.1, CountError: 2},
		"takes 5 rows of 6.78e+18 bu":           {K: 10, Share: 1e-18 / 2.7, Recall: 0.99},
	} {
		if s, err := n.Size(); err == nil || s != (TopKSize{}) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, %v; want an error that says %q", n, s, err, want)
		}
	}
	// One key that is everything needs one bucket.
	if s, err := (TopKNeed{K: 1, Share: 1}).Size(); err != nil || s.Width < 1 || s.Depth != 5 {
		t.Errorf("one key: %+v, %v", s, err)
	}
}
