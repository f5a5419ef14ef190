package sizing_test

import (
	"fmt"

	"seen/sizing"
)

// How much memory do ten million keys take at one error in a million?
func ExampleFor() {
	const n = 10_000_000
	for _, s := range []sizing.Shape{sizing.Classic, sizing.Blocked} {
		p, err := sizing.For(s, n, 1e-6)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v: %d MB, %.1f bits per key, %d probes\n", p.Shape, p.Bytes()/1e6, p.BitsPerKey(n), p.K)
	}
	// Output:
	// classic: 35 MB, 28.8 bits per key, 20 probes
	// blocked: 39 MB, 31.4 bits per key, 16 probes
}

// A wish that 64-bit hashes cannot meet is an error, not a filter that is worse
// than it looks.
func ExampleFor_outOfReach() {
	_, err := sizing.For(sizing.Blocked, 1_000_000_000, 1e-12)
	fmt.Println(err)
	// Output:
	// error rate 1e-12 is out of reach of 64-bit hashes for 1000000000 keys; ask for more than 1.08e-10 or for fewer keys
}

func ExampleWithin() {
	const n = 10_000_000
	p, err := sizing.Within(sizing.Blocked, n, 16<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2g, %d line(s) per key\n", p.ErrorRate(n), p.Lines)
	// Output:
	// 0.0024, 1 line(s) per key
}

func ExampleCapacityWithin() {
	n, p, err := sizing.CapacityWithin(sizing.Classic, 256<<20, 8.56e-5)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f million keys, %d probes\n", float64(n)/1e6, p.K)
	// Output:
	// 110.1 million keys, 14 probes
}

func ExampleParams_ErrorRate() {
	p, err := sizing.For(sizing.Blocked, 1_000_000, 1e-3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range []uint64{100_000, 500_000, 1_000_000, 2_000_000} {
		fmt.Printf("%d keys: fill %.2f, error rate %.2g\n", n, p.FillRatio(n), p.ErrorRate(n))
	}
	// Output:
	// 100000 keys: fill 0.05, error rate 2.3e-09
	// 500000 keys: fill 0.22, error rate 1.9e-05
	// 1000000 keys: fill 0.40, error rate 0.001
	// 2000000 keys: fill 0.64, error rate 0.032
}

func ExampleParams_Cardinality() {
	p, err := sizing.For(sizing.Classic, 1_000_000, 1e-3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Cardinality(5_000_000))
	fmt.Println(p.Cardinality(p.M))
	// Output:
	// 614423 ± 1.2e+02
	// full
}

// Two filters of the same layout tell how similar their key sets are.
func ExampleParams_Jaccard() {
	p, err := sizing.For(sizing.Blocked, 1_000_000, 1e-3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Intersection(5_000_000, 5_000_000, 6_000_000))
	fmt.Println(p.Jaccard(5_000_000, 5_000_000, 6_000_000))
	// Output:
	// 559803 ± 1.3e+02
	// 0.592646 ± 0.00014
}

// A filter that begins with a thousand keys grows by layers, whose error rates sum up
// to the one that was asked for.
func ExampleGrowth() {
	g := sizing.Growth{First: 1000, Factor: sizing.DefaultGrowth, ErrorRate: 0.01}
	for i := range 4 {
		fmt.Printf("layer %d: %d keys at %.2g\n", i, g.Capacity(i), g.Rate(i))
	}
	// Output:
	// layer 0: 1000 keys at 0.0061
	// layer 1: 1400 keys at 0.0015
	// layer 2: 1960 keys at 0.00068
	// layer 3: 2744 keys at 0.00038
}
