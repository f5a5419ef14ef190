package bloom_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"seen/bloom"
	"seen/sizing"
)

// The error handling of constructors is left out of some examples by this helper.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func ExampleFilter() {
	f, err := bloom.New(bloom.Config{Capacity: 1_000_000, ErrorRate: 1e-3})
	check(err)
	for _, word := range []string{"apple", "pear", "apple"} {
		if f.AddString(word) {
			fmt.Println("new:", word)
		}
	}
	fmt.Println(f.HasString("pear"), f.HasString("plum"))
	// Output:
	// new: apple
	// new: pear
	// true false
}

// Many keys at once are faster than one after another, since the cache misses of
// some of them overlap.
func ExampleFilter_batch() {
	f, err := bloom.New(bloom.Config{Capacity: 1_000_000, ErrorRate: 1e-3})
	check(err)
	keys := [][]byte{[]byte("a"), []byte("b"), []byte("a")}
	added := make([]bool, len(keys))
	fmt.Println(f.AddKeys(added, keys), added)
	fmt.Println(f.HasStrings(nil, []string{"a", "b", "c"}))
	// Output:
	// 2 [true true false]
	// 2
}

// The same hash asks several filters.
func ExampleHash() {
	var hash bloom.Hash // XXH3 with seed 0, the default
	today, err := bloom.New(bloom.Config{Capacity: 1000, ErrorRate: 0.01, Hash: hash})
	check(err)
	ever, err := bloom.New(bloom.Config{Capacity: 1_000_000, ErrorRate: 0.01, Hash: hash})
	check(err)
	h := hash.SumString("visitor 1")
	fmt.Println(today.AddHash(h), ever.AddHash(h), ever.AddHash(h))
	// Output: true true false
}

func ExampleClassic() {
	f, err := bloom.NewClassic(bloom.Config{Capacity: 10_000, ErrorRate: 0.01})
	check(err)
	f.Add([]byte("key"))
	p := f.Params()
	fmt.Printf("m = %d bits, k = %d probes\n", p.M, p.K)
	fmt.Println(f.Has([]byte("key")), f.Has([]byte("another key")))
	// Output:
	// m = 95932 bits, k = 7 probes
	// true false
}

// Filters that were filled apart, with equal parameters, can be united.
func ExampleClassic_Union() {
	config := bloom.Config{Params: sizing.Params{M: 4096, K: 5}, Hash: bloom.Hash{Seed: 2024}}
	a, err := bloom.NewClassic(config)
	check(err)
	b, err := bloom.NewClassic(config)
	check(err)
	a.AddString("from a")
	b.AddString("from b")
	check(a.Union(b))
	fmt.Println(a.HasString("from a"), a.HasString("from b"))

	config.Hash.Seed = 7
	c, err := bloom.NewClassic(config)
	check(err)
	err = a.Union(c)
	fmt.Println(errors.Is(err, bloom.ErrIncompatible))
	fmt.Println(err)
	// Output:
	// true true
	// true
	// filters are not alike: different key hashes: xxh3, seed 2024 and xxh3, seed 7
}

func ExampleClassic_WriteTo() {
	f, err := bloom.NewClassic(bloom.Config{Capacity: 1000, ErrorRate: 0.01})
	check(err)
	f.AddString("kept")
	var file bytes.Buffer
	_, err = f.WriteTo(&file)
	check(err)

	g, err := bloom.Read(&file, bloom.LoadOptions{})
	check(err)
	fmt.Println(g.Stats().Type, g.(*bloom.Classic).HasString("kept"))
	// Output: classic true
}

func ExamplePartitioned() {
	f, err := bloom.NewPartitioned(bloom.Config{Capacity: 10_000, ErrorRate: 0.01})
	check(err)
	f.AddString("key")
	p := f.Params()
	fmt.Println(p.K, "slices of", p.M/uint64(p.K), "bits")
	fmt.Println(f.HasString("key"), f.HasString("another key"))
	// Output:
	// 7 slices of 13705 bits
	// true false
}

func ExampleCounting() {
	f, err := bloom.NewCounting(bloom.Config{Capacity: 10_000, ErrorRate: 0.01})
	check(err)
	f.AddString("session 1")
	f.AddString("session 2")
	fmt.Println(f.RemoveString("session 1"), f.HasString("session 1"), f.HasString("session 2"))
	fmt.Println(f.RemoveString("session 1")) // it is not there any more
	// Output:
	// true false true
	// false
}

// A Scalable keeps its error rate, here 1 %, however many keys there will be.
func ExampleScalable() {
	f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 100, ErrorRate: 0.01})
	check(err)
	for i := range 10_000 {
		f.AddString(fmt.Sprint("key ", i))
	}
	wrong := 0
	for i := range 10_000 {
		if f.HasString(fmt.Sprint("absent ", i)) {
			wrong++
		}
	}
	fmt.Println("layers:", f.Stats().Layers)
	fmt.Println("at most 1 % wrong:", wrong <= 100)
	// Output:
	// layers: 12
	// at most 1 % wrong: true
}

// With a limit of memory a Scalable ends with an error, and not with more errors.
func ExampleScalable_TryAddHash() {
	f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 1000, ErrorRate: 0.01, MaxBytes: 10_000})
	check(err)
	hash := f.Hash()
	for i := 0; ; i++ {
		if _, err := f.TryAddHash(hash.SumString(fmt.Sprint("key ", i))); errors.Is(err, bloom.ErrFull) {
			fmt.Println("full after some thousand keys:", i > 2000 && i < 9000)
			break
		}
	}
	// Output: full after some thousand keys: true
}

// A crawler that fetches a page at most once a week: with 8 generations, the
// default, after 7 to 8 days.
func ExampleWindow() {
	now := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	f, err := bloom.NewWindow(bloom.WindowConfig{
		Span: 7 * 24 * time.Hour, Capacity: 1_000_000, ErrorRate: 1e-4,
		NoRefresh: true, // a week after it was fetched, not after it was last met
		Clock:     func() time.Time { return now },
	})
	check(err)
	for day := range 10 {
		if f.AddString("https://example.org/") {
			fmt.Println("fetched on day", day)
		}
		now = now.Add(24 * time.Hour)
	}
	// Output:
	// fetched on day 0
	// fetched on day 8
}

// Records of a log have times of their own. The window looks at no clock.
func ExampleWindow_AddHashAt() {
	f, err := bloom.NewWindow(bloom.WindowConfig{Span: time.Hour, Capacity: 1000, ErrorRate: 1e-4, NoClock: true})
	check(err)
	h := f.Hash().SumString("10.0.0.7")
	for _, at := range []string{"12:00", "12:30", "14:00"} {
		t, err := time.Parse(time.DateTime, "2024-03-01 "+at+":00")
		check(err)
		fmt.Println(at, f.AddHashAt(t, h))
	}
	// Output:
	// 12:00 true
	// 12:30 false
	// 14:00 true
}

// The last thousand keys, and some more, are remembered.
func ExampleWindow_spanKeys() {
	f, err := bloom.NewWindow(bloom.WindowConfig{SpanKeys: 1000, ErrorRate: 1e-6})
	check(err)
	for i := range 5000 {
		f.AddString(fmt.Sprint("key ", i))
	}
	fmt.Println(f.HasString("key 4999"), f.HasString("key 4000"), f.HasString("key 3000"))
	// Output: true true false
}

func ExampleCascade() {
	f, err := bloom.NewCascade(bloom.CascadeConfig{Capacity: 1000, ErrorRate: 0.01})
	check(err)
	f.AddString("key")
	fmt.Println(f.HasString("key"), f.HasString("another key"))
	st := f.Stats()
	fmt.Println(st.Layers, "filters, the last one for", st.Capacity, "keys")
	// Output:
	// true false
	// 4 filters, the last one for 8000 keys
}

// Of several goroutines that meet the same key at once, exactly one is told that
// it is new, and does the work.
func ExampleShared() {
	f, err := bloom.NewShared(bloom.Config{Capacity: 1_000_000, ErrorRate: 1e-3})
	check(err)
	var wg sync.WaitGroup
	var worked atomic.Int64
	for range 8 {
		wg.Go(func() {
			if f.AddString("job 17") {
				worked.Add(1)
			}
		})
	}
	wg.Wait()
	fmt.Println(worked.Load(), f.HasString("job 17"))
	// Output: 1 true
}

// What Read returns can be asked at once. What else it can do is a matter of interfaces.
func ExampleRead() {
	f, err := bloom.NewCounting(bloom.Config{Capacity: 1000, ErrorRate: 0.01})
	check(err)
	f.AddString("kept")
	f.AddString("dropped")
	var file bytes.Buffer
	_, err = f.WriteTo(&file)
	check(err)

	v, err := bloom.Read(&file, bloom.LoadOptions{})
	check(err)
	fmt.Println(v.Design().Type, v.HasString("kept"))
	if r, ok := v.(bloom.Remover); ok {
		r.Remove([]byte("dropped"))
	}
	fmt.Println(v.HasString("dropped"))
	// Output:
	// counting true
	// false
}

// Filters of unknown types are united if they are alike.
func ExampleUnion() {
	monday, err := bloom.New(bloom.Config{Capacity: 1000, ErrorRate: 0.01})
	check(err)
	tuesday, err := bloom.New(bloom.Config{Capacity: 2000, ErrorRate: 0.01})
	check(err)
	var unlike *bloom.IncompatibleError
	if err := bloom.Union(monday, tuesday); errors.As(err, &unlike) {
		fmt.Println(unlike.What, unlike.Want, unlike.Have)
	}
	// Output: lengths m 10240 19968
}

// A stream of keys without an end needs no more memory than a limit.
func ExampleGrowing() {
	f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 1000, ErrorRate: 0.01, MaxBytes: 16 << 10})
	check(err)
	var g bloom.Growing = f
	for i := range 100_000 {
		if _, err := g.TryAddHash(g.Hash().SumString(fmt.Sprint(i))); errors.Is(err, bloom.ErrFull) {
			fmt.Println("full, within the limit:", g.Bytes() <= 16<<10)
			break
		}
	}
	// Output: full, within the limit: true
}

// A key of its own keeps strangers from choosing keys that collide.
func ExampleRandomHash() {
	f, err := bloom.New(bloom.Config{Capacity: 1000, ErrorRate: 0.01, Hash: bloom.RandomHash()})
	check(err)
	h := f.Hash().Sum([]byte("a key of a stranger"))
	fmt.Println(f.AddHash(h), f.Has([]byte("a key of a stranger")))
	// Output: true true
}

// Keys of both filters stay; a few others may stay as well.
func ExampleFilter_LossyAnd() {
	config := bloom.Config{Capacity: 1000, ErrorRate: 0.001}
	monday, err := bloom.New(config)
	check(err)
	tuesday, err := bloom.New(config)
	check(err)
	monday.AddString("came once")
	monday.AddString("came twice")
	tuesday.AddString("came twice")
	check(monday.LossyAnd(tuesday))
	fmt.Println(monday.HasString("came twice"), monday.HasString("came once"))
	// Output: true false
}
