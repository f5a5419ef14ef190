//go:build soak

package stream

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A line of 1 GiB between two short ones, from a file and with several jobs.
func TestSoakLineOfOneGiB(t *testing.T) {
	const length = 1 << 30
	name := filepath.Join(t.TempDir(), "long")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(file, 1<<20)
	w.WriteString("first\n")
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for range length >> 20 {
		w.Write(piece)
	}
	w.WriteString("\nlast")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for _, jobs := range []int{1, 3} {
		var lengths []int
		err := Run(t.Context(), open(t, []string{name}, nil), Config{Jobs: jobs}, func(b *Block) error {
			for i := range b.Len() {
				lengths = append(lengths, len(b.Record(i)))
			}
			return nil
		})
		if err != nil || len(lengths) != 3 || lengths[0] != 5 || lengths[1] != length || lengths[2] != 4 {
			t.Errorf("%d jobs: records of %v bytes, %v", jobs, lengths, err)
		}
	}
}

// A record longer than MaxRecord is an error and not a crash.
func TestSoakRecordTooLong(t *testing.T) {
	if os.Getenv("SEEN_SOAK_MEMORY") == "" {
		t.Skip("needs 12 GiB of memory; SEEN_SOAK_MEMORY=1 runs it")
	}
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Skipf("no endless input: %v", err)
	}
	defer zero.Close()
	err = Run(t.Context(), open(t, nil, zero), Config{Jobs: 1}, func(*Block) error { return nil })
	if re, ok := err.(*RecordError); !ok || re.Record != 1 {
		t.Errorf("got %v", err)
	}
}
