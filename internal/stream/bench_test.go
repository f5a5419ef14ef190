package stream

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"seen/internal/stream/keyspec"
)

// corpus writes records of about 65 bytes to a file, each made by line.
func corpus(b *testing.B, records int, line func(rng *rand.Rand, dst []byte) []byte) []string {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var data []byte
	for range records {
		data = append(line(rng, data), '\n')
	}
	return files(b, b.TempDir(), string(data))
}

func urlLine(rng *rand.Rand, dst []byte) []byte {
	return fmt.Appendf(dst, "https://www.example-%03d.org/articles/%08d/comments?page=%d", rng.IntN(1000), rng.IntN(1e8), rng.IntN(1e4))
}

const benchRecords = 500_000

// BenchmarkRun measures reading, splitting and hashing; the consumer does nothing.
func BenchmarkRun(b *testing.B) {
	inputs := []struct {
		name string
		line func(*rand.Rand, []byte) []byte
		key  keyspec.Options
	}{
		{"lines", urlLine, keyspec.Options{}},
		{"short", func(rng *rand.Rand, dst []byte) []byte { return fmt.Appendf(dst, "%07d", rng.IntN(1e7)) }, keyspec.Options{}},
		{"field", func(rng *rand.Rand, dst []byte) []byte {
			return fmt.Appendf(dst, "%010d\tGET\t%08d\t200\thttp://example.org/some/path/of/it", rng.IntN(1e9), rng.IntN(1e8))
		}, keyspec.Options{Keys: []string{"3,3"}, Separator: `\t`}},
		{"csv", func(rng *rand.Rand, dst []byte) []byte {
			return fmt.Appendf(dst, `%010d,GET,%08d,200,"http://example.org/some/path, quoted"`, rng.IntN(1e9), rng.IntN(1e8))
		}, keyspec.Options{Keys: []string{"csv:3"}}},
		{"json", func(rng *rand.Rand, dst []byte) []byte {
			return fmt.Appendf(dst, `{"time":1%09d,"method":"GET","id":"%08d","path":"/some/path"}`, rng.IntN(1e9), rng.IntN(1e8))
		}, keyspec.Options{Keys: []string{"json:/id"}}},
		{"lower", urlLine, keyspec.Options{Lower: true}},
	}
	for _, in := range inputs {
		key, err := keyspec.Compile(in.key)
		if err != nil {
			b.Fatal(err)
		}
		names := corpus(b, benchRecords, in.line)
		for _, jobs := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/jobs=%d", in.name, jobs), func(b *testing.B) {
				benchmarkRun(b, names, Config{Jobs: jobs, Key: key}, func(*Block) error { return nil })
			})
		}
	}
}

// BenchmarkRunWrite adds writing: everything, or a random half of the records.
func BenchmarkRunWrite(b *testing.B) {
	names := corpus(b, benchRecords, urlLine)
	rng := rand.New(rand.NewPCG(3, 4))
	half := make([]bool, DefaultBlockSize)
	for i := range half {
		half[i] = rng.IntN(2) == 0
	}
	for _, jobs := range []int{1, 2} {
		b.Run(fmt.Sprintf("all/jobs=%d", jobs), func(b *testing.B) {
			w := NewWriter(io.Discard, WriterOptions{})
			benchmarkRun(b, names, Config{Jobs: jobs}, func(b *Block) error { return w.Write(b, nil) })
		})
		b.Run(fmt.Sprintf("half/jobs=%d", jobs), func(b *testing.B) {
			w := NewWriter(io.Discard, WriterOptions{})
			benchmarkRun(b, names, Config{Jobs: jobs}, func(b *Block) error { return w.Write(b, half[:b.Len()]) })
		})
	}
}

func benchmarkRun(b *testing.B, names []string, c Config, consume func(*Block) error) {
	b.ReportAllocs()
	c.Counters = new(Counters)
	for b.Loop() {
		if err := Run(b.Context(), open(b, names, nil), c, consume); err != nil {
			b.Fatal(err)
		}
	}
	records := float64(c.Counters.Records.Load())
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/records, "ns/record")
	b.SetBytes(int64(c.Counters.Bytes.Load()) / int64(b.N))
}
