package bloom_test

import (
	"fmt"

	"seen/bloom"
)

// A Static is built once from all keys.
func ExampleStatic() {
	b, err := bloom.NewStaticBuilder(bloom.StaticConfig{ErrorRate: 0.01})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 100_000 {
		b.AddString(fmt.Sprint("user-", i))
	}
	f, err := b.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.HasString("user-4711"), f.HasString("user-no"))
	fmt.Printf("%.1f bits per key, error rate %.4f\n", f.BitsPerKey(), f.Stats().ErrorRate)
	// Output:
	// true false
	// 9.5 bits per key, error rate 0.0039
}

// With the hashes of all keys at hand you need no builder.
func ExampleNewStatic() {
	c := bloom.StaticConfig{Bits: 16, Hash: bloom.Hash{Seed: 7}}
	for _, word := range []string{"red", "green", "blue"} {
		c.Hashes = append(c.Hashes, c.Hash.SumString(word))
	}
	f, err := bloom.NewStatic(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Added(), f.HasString("green"))
	// Output: 3 true
}
