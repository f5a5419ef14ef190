package spill

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// readSelection returns all positions of s, with their values.
func readSelection(s *Selection) (got [][2]uint64, err error) {
	c, err := s.Read()
	if err != nil {
		return nil, err
	}
	for c.Next() {
		got = append(got, [2]uint64{c.Position, c.Value})
	}
	if c.Next() {
		return nil, errors.New("Next returned false, and then true")
	}
	return got, c.Err()
}

// A Selection returns what was added in ascending order, whatever fits into memory.
func TestSelectionIsAscending(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		values := rapid.Bool().Draw(t, "values")
		room := rapid.SampledFrom([]int{1, 2, 10, 1000, 1 << 20}).Draw(t, "room")
		folder, open := testFolder(t, 0)
		s := NewSelection(SelectionConfig{Folder: open, Values: values})
		s.room = room
		n := rapid.IntRange(0, 6000).Draw(t, "n")
		want := map[uint64]uint64{}
		limit := rapid.SampledFrom([]uint64{uint64(2*n + 1), 1 << 20, MaxPosition + 1}).Draw(t, "limit")
		ascending := rapid.Bool().Draw(t, "ascending")
		for i := range n {
			at := rng.Uint64N(limit)
			if ascending {
				at = uint64(i) * (limit / uint64(n+1))
			}
			if _, is := want[at]; is {
				continue
			}
			want[at] = rng.Uint64() >> rng.IntN(64)
			if err := s.Add(at, want[at]); err != nil {
				t.Fatal(err)
			}
		}
		got, err := readSelection(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) || s.Len() != uint64(len(want)) {
			t.Fatalf("%d positions, Len says %d, want %d", len(got), s.Len(), len(want))
		}
		for i, g := range got {
			value, is := want[g[0]]
			if !values {
				value = 0
			}
			if !is || g[1] != value || i > 0 && got[i-1][0] >= g[0] {
				t.Fatalf("element %d is %v after %v; its value is %d, %v", i, g, got[max(i-1, 0)], value, is)
			}
		}
		if len(want) <= room && folder.Written() > 0 {
			t.Fatalf("%d bytes were written, though all fits into memory", folder.Written())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// filledSelection returns a Selection of many runs.
func filledSelection(t *testing.T, room uint64) (*Selection, error) {
	t.Helper()
	s := NewSelection(SelectionConfig{Folder: lazyFolder(t, room), Values: true})
	rng := rand.New(rand.NewPCG(5, 6))
	for _, p := range rng.Perm(200_000) {
		if err := s.Add(uint64(p), uint64(p)); err != nil {
			return s, err
		}
	}
	_, err := s.Read()
	return s, err
}

// Within the least memory, runs of runs are made, and memory stays within the limit.
func TestSelectionMemory(t *testing.T) {
	s, err := filledSelection(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.levels) < 2 {
		t.Errorf("%d levels; the test needs runs of runs", len(s.levels))
	}
	if n := s.Bytes(); n > leastMemory {
		t.Errorf("%d bytes of memory, the limit is %d", n, leastMemory)
	}
	got, err := readSelection(s)
	if err != nil || len(got) != 200_000 || !slices.IsSortedFunc(got, func(a, b [2]uint64) int { return int(a[0]) - int(b[0]) }) {
		t.Errorf("%d positions, %v", len(got), err)
	}
}

func TestSelectionDamageIsAnError(t *testing.T) {
	s, err := filledSelection(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range s.levels {
		for _, r := range level[:1] {
			for _, at := range []int64{r.from, r.from + 5, r.from + chunkHeader, (r.from + r.to) / 2, r.to - 1} {
				for range damages(t, s.log.file, at) {
					if _, err := readSelection(s); !isDamage(err) {
						t.Fatalf("byte %d damaged: error %v, want a DamageError", at, err)
					}
				}
			}
		}
	}
}

func TestSelectionFullDisk(t *testing.T) {
	whole, err := filledSelection(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	for room := range steps(whole.log.file.Size(), 31) {
		s, err := filledSelection(t, uint64(room)+1)
		if !isLimit(err) {
			t.Fatalf("a limit of %d bytes: error %v", room+1, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSelectionLimit(t *testing.T) {
	s := NewSelection(SelectionConfig{})
	if err := s.Add(MaxPosition, 0); err != nil {
		t.Fatal(err)
	}
	if s.Add(MaxPosition+1, 0) == nil {
		t.Error("a position of 49 bits is no error")
	}
}
