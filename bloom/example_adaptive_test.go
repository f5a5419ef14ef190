package bloom_test

import (
	"fmt"

	"seen/bloom"
)

// An Adaptive answers exactly as long as its keys find room in MaxBytes, here for
// ever.
func ExampleAdaptive() {
	a, err := bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 512 << 20, ErrorRate: 1e-6})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"pear", "apple", "pear", "fig", "apple"} {
		if a.AddString(line) {
			fmt.Println(line)
		}
	}
	fmt.Println("exact:", a.Stats().Exact)
	// Output:
	// pear
	// apple
	// fig
	// exact: true
}

// With little memory it becomes a filter, which has all keys that the set had.
func ExampleAdaptive_Switched() {
	a, err := bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 64 << 10, ErrorRate: 1e-3})
	if err != nil {
		fmt.Println(err)
		return
	}
	n := 0
	for !a.Switched() {
		a.AddString(fmt.Sprint("key ", n))
		n++
	}
	fmt.Println("more than 2000 keys:", n > 2000)
	fmt.Println("the first one is there:", a.HasString("key 0"))
	fmt.Printf("asked for %g, has %.0e\n", a.Stats().AskedErrorRate, a.Stats().ErrorRate)
	// Output:
	// more than 2000 keys: true
	// the first one is there: true
	// asked for 0.001, has 6e-04
}
