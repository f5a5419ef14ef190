package stream

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func FuzzAppendEnds(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), byte('\n'))
	f.Add([]byte(strings.Repeat("\n", 100)), byte('\n'))
	f.Add(bytes.Repeat([]byte{0x80, 0xff, 0}, 50), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, delimiter byte) {
		before := []uint32{7}
		got := appendEnds(slices.Clone(before), data, delimiter)
		if want := appendEndsRef(before, data, delimiter); !slices.Equal(got, want) {
			t.Fatalf("%q cut by %q at %v, want %v", data, delimiter, got, want)
		}
	})
}

func TestAppendEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 2000 {
		data := make([]byte, rng.IntN(300))
		for i := range data {
			data[i] = byte(rng.IntN(1 + rng.IntN(5)))
		}
		if got, want := appendEnds(nil, data, 0), appendEndsRef(nil, data, 0); !slices.Equal(got, want) {
			t.Fatalf("%v cut at %v, want %v", data, got, want)
		}
	}
}

// The cutter finds the same ends however the data arrives, for every framing.
func FuzzCutter(f *testing.F) {
	f.Add([]byte("a,\"b\"\"\n\",c\n\"d\"x\",\"\n"), uint8(3), "\n", true)
	f.Add([]byte("aaabababa"), uint8(1), "aba", false)
	f.Fuzz(func(t *testing.T, data []byte, step uint8, delimiter string, csv bool) {
		if delimiter == "" || csv && (len(delimiter) > 1 || delimiter == "," || delimiter == `"`) {
			return
		}
		fr := &framing{delimiter: []byte(delimiter), csv: csv, separator: ','}
		var whole, steps cutter
		want := whole.scan(fr, data, nil)
		var got []uint32
		for n := 0; n < len(data); {
			n = min(n+int(step%8)+1, len(data))
			got = steps.scan(fr, data[:n], got)
		}
		if !slices.Equal(got, want) || whole.cut != steps.cut {
			t.Fatalf("%q cut by %q at %v, in steps at %v", data, delimiter, want, got)
		}
		if len(want) > 0 && int(want[len(want)-1]) != whole.cut {
			t.Fatalf("the last end is %d and the cut %d", want[len(want)-1], whole.cut)
		}
	})
}
