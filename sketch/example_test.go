package sketch_test

import (
	"fmt"
	"log"
	"strings"

	"seen/sketch"
)

func ExampleCountMin() {
	// Counts that exceed the truth by more than 0.1 % of all words in one case of a
	// thousand at most.
	words, err := sketch.NewCountMin(sketch.CountMinConfig{Epsilon: 0.001, Delta: 0.001})
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range strings.Fields("the cat and the dog and the bird") {
		words.AddString(w, 1)
	}
	excess, delta := words.ErrorBound()
	fmt.Println(words.CountString("the"), words.CountString("and"), words.CountString("fish"), "of", words.Total())
	fmt.Printf("at most %.3f too high, except with a probability of %.4f\n", excess, delta)
	st := words.Stats()
	fmt.Println(st.Depth, "rows of", st.Width, "counters,", st.NonZero, "in use")
	// Output:
	// 3 2 0 of 8
	// at most 0.008 too high, except with a probability of 0.0009
	// 7 rows of 2719 counters, 35 in use
}

func ExampleHyperLogLog() {
	visitors, err := sketch.NewHyperLogLog(sketch.HyperLogLogConfig{Precision: 14})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 300000 {
		visitors.AddString(fmt.Sprintf("user-%d", i%100000))
	}
	fmt.Printf("%.0f visitors, give or take %.2f %%\n", visitors.Cardinality(), 100*visitors.StdErr())
	// Output:
	// 100268 visitors, give or take 0.75 %
}

func ExampleHyperLogLog_Merge() {
	monday, err := sketch.NewHyperLogLog(sketch.HyperLogLogConfig{Precision: 14})
	if err != nil {
		log.Fatal(err)
	}
	tuesday := monday.Clone()
	for i := range 800 {
		monday.AddString(fmt.Sprintf("user-%d", i))
		tuesday.AddString(fmt.Sprintf("user-%d", i+200))
	}
	if err := monday.Merge(tuesday); err != nil {
		log.Fatal(err)
	}
	fmt.Println(monday.Cardinality(), "on either day")
	// Output:
	// 1000 on either day
}

func ExampleFlajoletMartin() {
	visitors, err := sketch.NewFlajoletMartin(sketch.FlajoletMartinConfig{Maps: 1024})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 300000 {
		visitors.AddString(fmt.Sprintf("user-%d", i%100000))
	}
	fmt.Printf("%.0f visitors, give or take %.1f %%\n", visitors.Cardinality(), 100*visitors.StdErr())
	// Output:
	// 101891 visitors, give or take 2.4 %
}

func ExampleTopK() {
	s, err := sketch.NewTopK(sketch.TopKConfig{K: 2, Width: 100})
	if err != nil {
		log.Fatal(err)
	}
	for _, word := range strings.Fields("to be or not to be that is the question to be") {
		s.Add([]byte(word))
	}
	for _, e := range s.List() {
		fmt.Printf("%s %d\n", e.Key, e.Count)
	}
	// Output:
	// to 3
	// be 3
}
