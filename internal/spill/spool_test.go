package spill

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

type spooled struct {
	position uint64
	line     string
}

// readSpool returns all lines of s.
func readSpool(s *Spool) (got []spooled, err error) {
	r, err := s.Read()
	if err != nil {
		return nil, err
	}
	for {
		position, line, err := r.Next()
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, spooled{position, string(line)})
	}
}

// A Spool returns what was appended, whatever the memory and the lengths of the lines.
func TestSpoolReturnsLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		rng := rand.New(rand.NewPCG(seed, 1))
		memory := rapid.SampledFrom([]int{0, 1000, 1 << 20, 1 << 30}).Draw(t, "memory")
		longest := rapid.SampledFrom([]int{1, 100, spoolChunk, 3 * spoolChunk}).Draw(t, "longest")
		folder, open := testFolder(t, 0)
		s := NewSpool(SpoolConfig{Memory: memory, Folder: open})
		var want []spooled
		at := uint64(0)
		for range rapid.IntRange(0, 40).Draw(t, "lines") {
			if rng.IntN(3) == 0 {
				at += rng.Uint64N(1 << 40)
			}
			line := bytes.Repeat([]byte{byte(rng.IntN(3))}, rng.IntN(longest+1))
			if len(line) > 2 && rng.IntN(2) == 0 {
				for i := range line { // cannot be compressed
					line[i] = byte(rng.Uint32())
				}
			}
			want = append(want, spooled{at, string(line)})
			if err := s.Append(at, line); err != nil {
				t.Fatal(err)
			}
			at++
		}
		for range 2 { // it can be read twice
			got, err := readSpool(s)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) || s.Lines() != uint64(len(want)) {
				t.Fatalf("%d lines, Lines says %d, want %d", len(got), s.Lines(), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("line %d differs: position %d of %d bytes, want %d of %d bytes",
						i, got[i].position, len(got[i].line), want[i].position, len(want[i].line))
				}
			}
		}
		if memory == 1<<30 && folder.Written() > 0 {
			t.Fatalf("%d bytes were written, though all fits into memory", folder.Written())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(); err == nil {
			t.Fatal("a closed Spool can be read")
		}
	})
}

// filledSpool returns a Spool of many chunks on a file.
func filledSpool(t *testing.T, room uint64) (*Spool, error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	s := NewSpool(SpoolConfig{Folder: lazyFolder(t, room)})
	line := make([]byte, 1000)
	for i := range uint64(2000) {
		for j := range line {
			line[j] = byte(rng.Uint32())
		}
		if err := s.Append(i, line); err != nil {
			return s, err
		}
	}
	_, err := s.Read()
	return s, err
}

func TestSpoolDamageIsAnError(t *testing.T) {
	s, err := filledSpool(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	for at := range steps(s.log.file.Size(), 97) {
		for range damages(t, s.log.file, at) {
			if _, err := readSpool(s); !isDamage(err) {
				t.Fatalf("byte %d damaged: error %v, want a DamageError", at, err)
			}
		}
	}
}

func TestSpoolFullDisk(t *testing.T) {
	whole, err := filledSpool(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	for room := range steps(whole.log.file.Size(), 13) {
		s, err := filledSpool(t, uint64(room)+1)
		if !isLimit(err) {
			t.Fatalf("a limit of %d bytes: error %v", room+1, err)
		}
		if _, err := s.Read(); !isLimit(err) {
			t.Fatalf("a limit of %d bytes: Read says %v after the error", room+1, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSpoolOrder(t *testing.T) {
	s := NewSpool(SpoolConfig{})
	if err := s.Append(7, nil); err != nil {
		t.Fatal(err)
	}
	for _, position := range []uint64{0, 7} {
		if s.Append(position, nil) == nil {
			t.Errorf("line %d after line 7 is no error", position)
		}
	}
}
