package bloom_test

import (
	"fmt"

	"seen/bloom"
)

// A cuckoo filter counts copies and forgets them again.
func ExampleCuckoo() {
	f, err := bloom.NewCuckoo(bloom.CuckooConfig{Capacity: 1000, Expansion: 2})
	if err != nil {
		panic(err)
	}
	for range 2 {
		if err := f.Add([]byte("session 17")); err != nil {
			panic(err)
		}
	}
	fmt.Println(f.Count([]byte("session 17")))
	f.Remove([]byte("session 17"))
	fmt.Println(f.Count([]byte("session 17")), f.Has([]byte("session 18")))
	// Output:
	// 2
	// 1 false
}
