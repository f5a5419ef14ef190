package split

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// finders are the implementations under test: find as findRef defines it.
var finders = []struct {
	name string
	find func(ends []uint32, data []byte, from int, delimiter byte) (count, scanned int)
}{
	{"chosen", find},
	{"reference", findRef},
}

// want is what AppendEnds is to do.
func want(ends []uint32, data []byte, delimiter byte) []uint32 {
	for i, c := range data {
		if c == delimiter {
			ends = append(ends, uint32(i+1))
		}
	}
	return ends
}

// check holds every implementation against want, with plenty of room and with
// little.
func check(t *testing.T, data []byte, delimiter byte) {
	t.Helper()
	before := []uint32{7, 9}
	all := want(nil, data, delimiter)
	if got := AppendEnds(slices.Clone(before), data, delimiter); !slices.Equal(got[2:], all) || !slices.Equal(got[:2], before) {
		t.Fatalf("%q cut by %q at %v, want %v", data, delimiter, got[2:], all)
	}
	for _, f := range finders {
		for _, room := range []int{0, chunk - 1, chunk, chunk + 1, len(data) + chunk} {
			ends := make([]uint32, room+1)
			ends[room] = 77
			for from := 0; ; {
				count, scanned := f.find(ends[:room], data, from, delimiter)
				behind := want(nil, data[:scanned], delimiter)
				behind = behind[len(want(nil, data[:from], delimiter)):]
				if !slices.Equal(ends[:count], behind) || ends[room] != 77 {
					t.Fatalf("%s, room for %d: %q from %d to %d cut by %q at %v, want %v, and behind the room %d",
						f.name, room, data, from, scanned, delimiter, ends[:count], behind, ends[room])
				}
				if (scanned-from)%chunk != 0 || room >= chunk && len(data)-from >= chunk && scanned == from {
					t.Fatalf("%s, room for %d: went from %d to %d of %d", f.name, room, from, scanned, len(data))
				}
				if from = scanned; room < chunk || len(data)-from < chunk {
					break
				}
			}
		}
	}
}

// nths are the implementations of Nth.
var nths = map[string]func(data []byte, delimiter byte, number int) int{"chosen": Nth, "reference": nthRef}

func checkNth(t *testing.T, data []byte, delimiter byte) {
	t.Helper()
	all := want(nil, data, delimiter)
	for name, nth := range nths {
		for number := 1; number <= len(all)+2; number++ {
			want := len(data)
			if number <= len(all) {
				want = int(all[number-1]) - 1
			}
			if got := nth(data, delimiter, number); got != want {
				t.Fatalf("%s: number %d of %q in %q is at %d, want %d", name, number, delimiter, data, got, want)
			}
		}
	}
}

func FuzzAppendEnds(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), byte('\n'))
	f.Add([]byte(strings.Repeat("\n", 100)), byte('\n'))
	f.Add([]byte(strings.Repeat("abc\n", 17)), byte('\n'))
	f.Add(bytes.Repeat([]byte{0x80, 0xff, 0}, 50), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, delimiter byte) {
		check(t, data, delimiter)
		checkNth(t, data, delimiter)
	})
}

// TestDensities goes through texts of few and of many delimiters, of all lengths
// about those of a chunk.
func TestDensities(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for n := range 5 * chunk {
		for _, values := range []int{1, 2, 3, 5, 15, 100} {
			data := make([]byte, n)
			for i := range data {
				data[i] = byte(rng.IntN(values))
			}
			for _, delimiter := range []byte{0, 255} {
				check(t, data, delimiter)
				checkNth(t, data, delimiter)
			}
		}
	}
}

// TestLong needs positions that do not fit in 8 or 16 bits, and grows its room.
func TestLong(t *testing.T) {
	data := bytes.Repeat([]byte(strings.Repeat("x", 12)+"\n"+strings.Repeat("y", 300)+"\n\n\n"), 1000)
	if got, want := AppendEnds(nil, data, '\n'), want(nil, data, '\n'); !slices.Equal(got, want) {
		t.Fatalf("%d ends, want %d", len(got), len(want))
	}
}

func BenchmarkAppendEnds(b *testing.B) {
	for _, record := range []string{strings.Repeat("u", 66) + "\n", "corner-64016\n"} {
		data := bytes.Repeat([]byte(record), (256<<10)/len(record))
		b.Run(record[:1], func(b *testing.B) {
			var ends []uint32
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				ends = AppendEnds(ends[:0], data, '\n')
			}
		})
	}
}
