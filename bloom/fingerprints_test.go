package bloom

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// addAll adds hashes without a limit of memory.
func (t *fingerprints) addAll(hs ...uint64) (isNew int) {
	isNew, _ = t.addBatch(nil, hs, func(h uint64) bool {
		t.grow(h)
		return true
	})
	return isNew
}

// check compares all that a set says of itself with a model and returns the
// first difference, or "".
func (t *fingerprints) check(model map[uint64]bool) string {
	want := make([]uint64, 0, len(model))
	for h := range model {
		want = append(want, h)
	}
	slices.Sort(want)
	lines, used := 0, 0
	for i := range t.segments {
		s := &t.segments[i]
		full := 0
		for j := range s.lines {
			l := &s.lines[j]
			full += l.Used()
			for k, h := range l {
				if (h != 0) != (k < l.Used()) {
					return "a line has a gap"
				}
				if h != 0 && t.segment(h) != i {
					return "a hash is in a segment that is not its own"
				}
			}
		}
		if full != s.n() || s.left < 0 || full == len(s.lines)*lineSlots {
			return "a segment does not know how many hashes it has"
		}
		lines, used = lines+len(s.lines), used+full
	}
	again := newFingerprints(want)
	switch {
	case t.count() != uint64(len(want)) || t.n != uint64(used):
		return "the count is wrong"
	case t.lines != uint64(lines):
		return "the number of lines is wrong"
	case !slices.Equal(t.sorted(), want):
		return "sorted returns other hashes"
	case t.bytes() != again.bytes() || len(t.segments) != len(again.segments):
		return "the memory depends on the order of additions"
	case !t.equal(again) || !again.equal(t):
		return "it is not equal to the set of the same hashes"
	}
	return ""
}

// drawHash draws hashes that hurt: few different ones, ends of the range, alike
// in their leading or their last bits.
func drawHash(t *rapid.T) uint64 {
	switch rapid.IntRange(0, 4).Draw(t, "family") {
	case 0:
		return rapid.Uint64Range(0, 300).Draw(t, "small")
	case 1:
		return ^rapid.Uint64Range(0, 300).Draw(t, "large")
	case 2:
		return rapid.Uint64Range(0, 1<<12).Draw(t, "leading") << 52
	}
	return rapid.Uint64().Draw(t, "any")
}

func TestFingerprintsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := newFingerprints(nil)
		model := map[uint64]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if wrong := set.check(model); wrong != "" {
					t.Fatal(wrong)
				}
			},
			"add": func(t *rapid.T) {
				hs := rapid.SliceOfN(rapid.Custom(drawHash), 0, 70).Draw(t, "hashes")
				want := 0
				for _, h := range hs {
					if !model[h] {
						want++
					}
					model[h] = true
				}
				if got := set.addAll(hs...); got != want {
					t.Fatalf("%d hashes were new, want %d", got, want)
				}
			},
			"run": func(t *rapid.T) {
				first, n := drawHash(t), rapid.IntRange(0, 500).Draw(t, "length")
				for i := range uint64(n) {
					model[first+i] = true
					set.addAll(first + i)
				}
			},
			"has": func(t *rapid.T) {
				h := drawHash(t)
				if set.has(h) != model[h] || set.hasBatch(nil, []uint64{h}) == 1 != model[h] {
					t.Fatalf("the answer for %x is wrong", h)
				}
			},
			"clone": func(t *rapid.T) {
				old := set
				set = set.clone()
				old.addAll(1, 2, 3, 4, 5, 6, 7, 8, 9)
			},
		})
	})
}

// TestFingerprintsSplit fills sets beyond both numbers at which segments are
// split, hash by hash around them.
func TestFingerprintsSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	set := newFingerprints(nil)
	model := map[uint64]bool{}
	for i := range uint64(maxSegments) {
		for _, h := range []uint64{i << 56, i<<56 + 1, i<<56 - 1} { // ends of segments
			set.addAll(h)
			model[h] = true
		}
	}
	segments := 1
	for segments < maxSegments {
		at := len(set.segments) * splitAt
		announced := uint64(0)
		for len(model) < at+2 {
			h := r.Uint64()
			if set.n == set.most {
				announced = set.growth(h)
			}
			set.addAll(h)
			model[h] = true
			if near := len(model) - at; near >= -1 {
				if wrong := set.check(model); wrong != "" {
					t.Fatalf("%d hashes: %s", len(model), wrong)
				}
			}
		}
		if len(set.segments) != segments<<splitBits {
			t.Fatalf("%d segments for %d hashes, want %d", len(set.segments), len(model), segments<<splitBits)
		}
		// While the first segment is divided, it, a copy in order and what becomes
		// of it are there together; of a single one that is all there is.
		if least := 8*set.n + set.bytes(); segments == 1 && announced < least {
			t.Errorf("splitting a segment takes %d bytes, announced were %d", least, announced)
		}
		segments = len(set.segments)
	}
}

// TestFingerprintsMemory follows the memory from 100,000 hashes to three million:
// at most 14 bytes for each, that which a growing segment takes for a moment
// included.
func TestFingerprintsMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	set := newFingerprints(nil)
	worst := 0.0
	for set.n < 3_000_000 {
		h := r.Uint64()
		isNew, done := set.add(h)
		if done {
			if !isNew {
				t.Fatalf("hash %x, the %dth, is not new", h, set.n)
			}
			continue
		}
		peak := set.bytes() + set.growth(h)
		before := set.bytes()
		set.grow(h)
		if set.bytes() > peak {
			t.Fatalf("growing at %d hashes took %d bytes, announced were %d", set.n, set.bytes()-before, peak-before)
		}
		set.addAll(h)
		if set.n >= 100_000 {
			worst = max(worst, float64(peak)/float64(set.n), float64(set.bytes())/float64(set.n))
		}
	}
	if worst > 12 {
		t.Errorf("%.2f bytes per hash at worst, want at most 12", worst)
	}
}

// TestFingerprintsSmall holds the memory of small sets, of which a server may have
// many.
func TestFingerprintsSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	set := newFingerprints(nil)
	for n := range 10_000 {
		if most := uint64(200 + 18*n); set.bytes() > most {
			t.Fatalf("%d bytes for %d hashes, want at most %d", set.bytes(), n, most)
		}
		set.addAll(r.Uint64())
	}
}

// TestFingerprintsPassed holds what the comment of mostIn says about searches.
func TestFingerprintsPassed(t *testing.T) {
	defer func(was uint64) { homeSeed = was }(homeSeed)
	homeSeed = 0x123456789abcdef1
	r := rand.New(rand.NewPCG(6, 6))
	full := newFilling(20_000)
	for full.left > 0 {
		full.place(r.Uint64())
	}
	one := fingerprints{segments: []segment{full.segment}, n: uint64(full.n())}
	if away := one.away(); away < 0.1 || away > 0.12 {
		t.Errorf("%.3f of the hashes of a full segment are not in their home, want 1/9", away)
	}
	set := newFingerprints(nil)
	for set.n < 500_000 {
		set.addAll(r.Uint64())
	}
	if away := set.away(); away < 0.05 || away > 0.06 {
		t.Errorf("%.3f of the hashes of all segments are not in their home, want 1/18", away)
	}
}

// away returns the share of hashes that are not in their home.
func (t *fingerprints) away() float64 {
	n := 0
	t.distances(func(lines int) { n += one(lines > 0) })
	return float64(n) / float64(t.n)
}

// distances calls f with how many lines each hash is after its home.
func (t *fingerprints) distances(f func(lines int)) {
	for i := range t.segments {
		lines := t.segments[i].lines
		for j := range lines {
			for _, h := range lines[j].Words() {
				f((j - home(h, len(lines)) + len(lines)) % len(lines))
			}
		}
	}
}

// TestFingerprintsHostile adds hashes that are made to collide.
// The cost must stay what it is, which is told by the number of lines that are
// passed on the way from a hash's home: about 0.3 on average where a segment is as
// full as can be.
func TestFingerprintsHostile(t *testing.T) {
	const n = 10_000
	defer func(was uint64) { homeSeed = was }(homeSeed)
	r := rand.New(rand.NewPCG(5, 5))
	for name, at := range map[string]func(i uint64) uint64{
		"sequential":       func(i uint64) uint64 { return i },
		"descending":       func(i uint64) uint64 { return math.MaxUint64 - i },
		"one segment":      func(i uint64) uint64 { return i<<32 | 1<<31 },
		"even":             func(i uint64) uint64 { return i << 46 },
		"alike at the top": func(i uint64) uint64 { return 0xabcdef<<40 | i*i },
	} {
		for range 50 {
			homeSeed = r.Uint64() | 1
			set := newFingerprints(nil)
			for i := range uint64(n) {
				set.addAll(at(i))
			}
			if set.count() != n {
				t.Errorf("%s: %d hashes of %d are there", name, set.count(), n)
			}
			if perHash := float64(set.bytes()) / n; perHash > 15 {
				t.Errorf("%s: %.1f bytes per hash", name, perHash)
			}
			passed := 0
			if set.distances(func(lines int) { passed += lines }); float64(passed)/n > 0.4 {
				t.Errorf("%s: %.2f lines are passed on the way to a hash", name, float64(passed)/n)
			}
		}
	}
}

// newSorted returns the set as a mapped file has it, and a count of its reads.
func newSorted(hs []uint64) (*sortedFingerprints, *int) {
	s, reads := new(sortedFingerprints), new(int)
	for _, h := range hs {
		s.bytes = binary.LittleEndian.AppendUint64(s.bytes, h)
	}
	s.touch = func(off, n uint64) { *reads++ }
	return s, reads
}

func TestSortedFingerprints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hs := rapid.SliceOfN(rapid.Custom(drawHash), 0, 300).Draw(t, "hashes")
		slices.Sort(hs)
		hs = slices.Compact(hs)
		s, _ := newSorted(hs)
		for _, h := range append(hs, rapid.SliceOfN(rapid.Custom(drawHash), 0, 100).Draw(t, "asked")...) {
			if _, want := slices.BinarySearch(hs, h); s.has(h) != want {
				t.Fatalf("the answer for %x is not %v", h, want)
			}
		}
		if !slices.Equal(s.load().sorted(), hs) {
			t.Fatal("load returns other hashes")
		}
	})
}

// TestSortedFingerprintsReads counts the reads of a search, each of which may be
// one from disk.
func TestSortedFingerprintsReads(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	even := make([]uint64, 1_000_000)
	skewed := slices.Clone(even)
	for i := range even {
		even[i] = r.Uint64()
		skewed[i] = r.Uint64() >> r.IntN(64)
	}
	for _, hs := range [][]uint64{even, skewed} {
		slices.Sort(hs)
	}
	for name, c := range map[string]struct {
		hs        []uint64
		mean, any float64
	}{
		"even":   {even, 5, 8 + 2*20},
		"skewed": {skewed, 8 + 2*20, 8 + 2*20},
	} {
		s, reads := newSorted(c.hs)
		most, before := 0, 0
		for i := range 10_000 {
			h := r.Uint64() >> r.IntN(8)
			if i%2 == 0 {
				h = c.hs[r.IntN(len(c.hs))]
			}
			s.has(h)
			most = max(most, *reads-before)
			before = *reads
		}
		if mean := float64(*reads) / 10_000; mean > c.mean || float64(most) > c.any {
			t.Errorf("%s: %.1f reads on average, %d at most", name, mean, most)
		}
	}
}

// FuzzSortedFingerprints asks files whose hashes are in no order: any answer will
// do, as long as there is one.
func FuzzSortedFingerprints(f *testing.F) {
	f.Add([]byte{}, uint64(1))
	f.Add([]byte("not in any order, and some of them are equal"), uint64(math.MaxUint64))
	f.Add(binary.LittleEndian.AppendUint64(make([]byte, 64), math.MaxUint64), uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, h uint64) {
		s := &sortedFingerprints{bytes: b[:len(b)&^7], touch: func(uint64, uint64) {}}
		s.has(h)
		if set := s.load(); !slices.IsSorted(set.sorted()) || set.addAll(h) == 1 == s.load().has(h) {
			t.Fatal("load does not make a set")
		}
	})
}
