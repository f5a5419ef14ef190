package stream

import (
	"slices"
	"testing"
)

// The cutter finds the same ends however the data arrives, for every framing.
func FuzzCutter(f *testing.F) {
	f.Add([]byte("a,\"b\"\"\n\",c\n\"d\"x\",\"\n"), uint8(3), "\n", true)
	f.Add([]byte("aaabababa"), uint8(1), "aba", false)
	f.Add([]byte("\ufeff\"b\n\",c\n\"\n\"\n"), uint8(2), "\n", true)
	f.Fuzz(func(t *testing.T, data []byte, step uint8, delimiter string, csv bool) {
		if delimiter == "" || csv && (len(delimiter) > 1 || delimiter == "," || delimiter == `"`) {
			return
		}
		fr := &framing{delimiter: []byte(delimiter), csv: csv, separator: ','}
		whole, steps := cutter{begin: true}, cutter{begin: true}
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
