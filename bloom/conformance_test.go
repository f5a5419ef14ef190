package bloom_test

import (
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/sizing"
)

func must[F any](f F, err error) F {
	if err != nil {
		panic(err)
	}
	return f
}

func TestFilter(t *testing.T) {
	for _, p := range []float64{0.1, 0.01, 1e-3} {
		filtertest.Run(t, filtertest.Suite[*bloom.Classic]{
			New: func(testing.TB) *bloom.Classic {
				return must(bloom.NewClassic(bloom.Config{Capacity: 5000, ErrorRate: p}))
			},
			Unlike: func(testing.TB) *bloom.Classic {
				return must(bloom.NewClassic(bloom.Config{Capacity: 5000, ErrorRate: p, Hash: bloom.Hash{Seed: 1}}))
			},
			Capacity: 5000, ErrorRate: p,
		})
	}
}

func TestBlocked(t *testing.T) {
	// One rate for each number of lines, and for few and all lanes.
	for _, p := range []float64{0.1, 0.01, 1e-4, 1e-5} {
		filtertest.Run(t, filtertest.Suite[*bloom.Filter]{
			New: func(testing.TB) *bloom.Filter {
				return must(bloom.New(bloom.Config{Capacity: 5000, ErrorRate: p}))
			},
			Unlike: func(testing.TB) *bloom.Filter {
				return must(bloom.New(bloom.Config{Capacity: 9000, ErrorRate: p}))
			},
			Capacity: 5000, ErrorRate: p,
		})
	}
}

func TestPartitioned(t *testing.T) {
	for _, p := range []float64{0.1, 1e-3} {
		filtertest.Run(t, filtertest.Suite[*bloom.Partitioned]{
			New: func(testing.TB) *bloom.Partitioned {
				return must(bloom.NewPartitioned(bloom.Config{Capacity: 5000, ErrorRate: p}))
			},
			Unlike: func(testing.TB) *bloom.Partitioned {
				return must(bloom.NewPartitioned(bloom.Config{Capacity: 5000, ErrorRate: p / 2}))
			},
			Capacity: 5000, ErrorRate: p,
		})
	}
}

func TestCounting(t *testing.T) {
	for _, bits := range []int{4, 8, 16} {
		filtertest.Run(t, filtertest.Suite[*bloom.Counting]{
			New: func(testing.TB) *bloom.Counting {
				return must(bloom.NewCounting(bloom.Config{Capacity: 5000, ErrorRate: 0.01, Params: sizing.Params{CounterBits: bits}}))
			},
			Unlike: func(testing.TB) *bloom.Counting {
				return must(bloom.NewCounting(bloom.Config{Capacity: 5000, ErrorRate: 0.01, Hash: bloom.Hash{Seed: 9}}))
			},
			Capacity: 5000, ErrorRate: 0.01,
		})
	}
}
