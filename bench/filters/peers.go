package main

import (
	"github.com/FastFilter/xorfilter"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	bitsbloom "github.com/bits-and-blooms/bloom/v3"
	"github.com/dgraph-io/ristretto/v2/z"
	"github.com/greatroar/blobloom"
	parquetbloom "github.com/parquet-go/parquet-go/bloom"
	cuckoo "github.com/seiflotfy/cuckoofilter"
	"github.com/zeebo/xxh3"
)

// peers returns the rows of other modules. Each is configured for the error rate as its
// documentation says, and used with XXH3 if it takes hashes and has no hash function.
func peers() []row {
	return []row{
		{reference, "github.com/parquet-go/parquet-go", parquetSingle},
		{"parquet-go + xxh3, bulk add", "github.com/parquet-go/parquet-go", parquetBulk},
		{"arrow-go", "github.com/apache/arrow-go/v18", arrow(false)},
		{"arrow-go, bulk", "github.com/apache/arrow-go/v18", arrow(true)},
		{"blobloom + xxh3", "github.com/greatroar/blobloom", buildBlobloom},
		{"bits-and-blooms", "github.com/bits-and-blooms/bloom/v3", buildBitsAndBlooms},
		{"ristretto z + xxh3", "github.com/dgraph-io/ristretto/v2", buildRistretto},
		{"xorfilter fuse8 + xxh3", "github.com/FastFilter/xorfilter", buildFuse},
		{"cuckoofilter", "github.com/seiflotfy/cuckoofilter", buildCuckoo},
	}
}

// newParquet gives the filter 10 bits per key for an error rate of 1 %, as in the
// example of its documentation. For another rate it uses the bits of a classic filter.
func newParquet(n int, rate float64) parquetbloom.SplitBlockFilter {
	bitsPerKey := uint(10)
	if rate != 0.01 {
		m, _ := bitsbloom.EstimateParameters(uint(n), rate)
		bitsPerKey = (m + uint(n) - 1) / uint(n)
	}
	return make(parquetbloom.SplitBlockFilter, parquetbloom.NumSplitBlocksOf(int64(n), bitsPerKey))
}

func parquetSingle(n int, rate float64) (filter, error) {
	f := newParquet(n, rate)
	return filter{
		add: func(s keySet) {
			for _, key := range s.keys {
				f.Insert(xxh3.Hash(key))
			}
		},
		has: func(s keySet) int {
			n := 0
			for _, key := range s.keys {
				if f.Check(xxh3.Hash(key)) {
					n++
				}
			}
			return n
		},
		bits: func() uint64 { return uint64(len(f.Bytes())) * 8 },
	}, nil
}

// parquetBulk adds in bulk; the module has no bulk look-up.
func parquetBulk(n int, rate float64) (filter, error) {
	f := newParquet(n, rate)
	hs := make([]uint64, 0, batchKeys)
	return filter{
		add: func(s keySet) {
			for keys := range chunks(s.keys) {
				hs = hs[:0]
				for _, key := range keys {
					hs = append(hs, xxh3.Hash(key))
				}
				f.InsertBulk(hs)
			}
		},
		bits: func() uint64 { return uint64(len(f.Bytes())) * 8 },
	}, nil
}

// arrow hashes with the function that the format prescribes, XXH64.
func arrow(bulk bool) func(n int, rate float64) (filter, error) {
	return func(n int, rate float64) (filter, error) {
		f := metadata.NewBloomFilterFromNDVAndFPP(uint32(n), rate, 1<<30, memory.DefaultAllocator)
		sums := f.Hasher()
		check := f.(metadata.BloomFilter)
		all := filter{
			add: func(s keySet) {
				for _, key := range s.keys {
					f.InsertHash(metadata.GetHash(sums, parquet.ByteArray(key)))
				}
			},
			has: func(s keySet) int {
				n := 0
				for _, key := range s.keys {
					if check.CheckHash(metadata.GetHash(sums, parquet.ByteArray(key))) {
						n++
					}
				}
				return n
			},
			bits: func() uint64 { return uint64(check.Size()) * 8 },
		}
		if !bulk {
			return all, nil
		}
		hash := func(hs []uint64, keys [][]byte) []uint64 {
			hs = hs[:0]
			for _, key := range keys {
				hs = append(hs, metadata.GetHash(sums, parquet.ByteArray(key)))
			}
			return hs
		}
		all.add = func(s keySet) {
			hs := make([]uint64, 0, batchKeys)
			for keys := range chunks(s.keys) {
				f.InsertBulk(hash(hs, keys))
			}
		}
		all.has = func(s keySet) int {
			hs, n := make([]uint64, 0, batchKeys), 0
			asked := f.(interface{ CheckBulk(hs []uint64) []bool })
			for keys := range chunks(s.keys) {
				for _, found := range asked.CheckBulk(hash(hs, keys)) {
					if found {
						n++
					}
				}
			}
			return n
		}
		return all, nil
	}
}

func buildBlobloom(n int, rate float64) (filter, error) {
	f := blobloom.NewOptimized(blobloom.Config{Capacity: uint64(n), FPRate: rate})
	return filter{
		add: func(s keySet) {
			for _, key := range s.keys {
				f.Add(xxh3.Hash(key))
			}
		},
		has: func(s keySet) int {
			n := 0
			for _, key := range s.keys {
				if f.Has(xxh3.Hash(key)) {
					n++
				}
			}
			return n
		},
		bits: f.NumBits,
	}, nil
}

func buildBitsAndBlooms(n int, rate float64) (filter, error) {
	f := bitsbloom.NewWithEstimates(uint(n), rate)
	return filter{
		add: func(s keySet) {
			for _, key := range s.keys {
				f.Add(key)
			}
		},
		has: func(s keySet) int {
			n := 0
			for _, key := range s.keys {
				if f.Test(key) {
					n++
				}
			}
			return n
		},
		bits: func() uint64 { return uint64(f.Cap()) },
	}, nil
}

func buildRistretto(n int, rate float64) (filter, error) {
	f := z.NewBloomFilter(float64(n), rate)
	return filter{
		add: func(s keySet) {
			for _, key := range s.keys {
				f.Add(xxh3.Hash(key))
			}
		},
		has: func(s keySet) int {
			n := 0
			for _, key := range s.keys {
				if f.Has(xxh3.Hash(key)) {
					n++
				}
			}
			return n
		},
		bits: func() uint64 { return uint64(f.TotalSize()) * 8 },
	}, nil
}

// buildFuse builds the filter at the end, as binary fuse filters need all keys. Its 8
// bits are an error rate of 1/256, independent of the requested rate.
func buildFuse(n int, _ float64) (filter, error) {
	hs := make([]uint64, 0, n)
	var f *xorfilter.BinaryFuse8
	return filter{
		add: func(s keySet) {
			for _, key := range s.keys {
				hs = append(hs, xxh3.Hash(key))
			}
		},
		done: func() (err error) {
			f, err = xorfilter.PopulateBinaryFuse8(hs)
			hs = nil
			return err
		},
		has: func(s keySet) int {
			n := 0
			for _, key := range s.keys {
				if f.Contains(xxh3.Hash(key)) {
					n++
				}
			}
			return n
		},
		bits: func() uint64 { return uint64(len(f.Fingerprints)) * 8 },
	}, nil
}

// buildCuckoo has fingerprints of 8 bits, independent of the requested rate.
func buildCuckoo(n int, _ float64) (filter, error) {
	f := cuckoo.NewFilter(uint(n))
	return filter{
		add: func(s keySet) {
			for _, key := range s.keys {
				f.Insert(key)
			}
		},
		has: func(s keySet) int {
			n := 0
			for _, key := range s.keys {
				if f.Lookup(key) {
					n++
				}
			}
			return n
		},
		bits: func() uint64 { return uint64(len(f.Encode())) * 8 },
	}, nil
}
