package spill

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"seen/internal/vfs/memfs"
)

// record makes a record of n bytes that can be told from others.
func record(n int, hash uint64, i int) []byte {
	b := make([]byte, max(n, 16))
	binary.LittleEndian.PutUint64(b, hash)
	binary.LittleEndian.PutUint64(b[8:], uint64(i))
	return b[:n]
}

// checkRuns compares all partitions of r with what they should hold.
func checkRuns(t *testing.T, r *Runs, want [][]byte) {
	t.Helper()
	for i := range r.Partitions() {
		var got []byte
		for b, err := range r.Read(i) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b...)
		}
		if !bytes.Equal(got, want[i]) {
			t.Fatalf("partition %d has %d bytes, want %d, or they differ", i, len(got), len(want[i]))
		}
		if r.Records(i)*uint64(r.record) != uint64(len(want[i])) {
			t.Errorf("partition %d counts %d records for %d bytes", i, r.Records(i), len(want[i]))
		}
	}
}

func TestRuns(t *testing.T) {
	for _, c := range []RunsConfig{
		{Record: 1, Partitions: 1},
		{Record: 12, Partitions: 1, Memory: 100},
		{Record: 12, Partitions: 2, Memory: 1000},
		{Record: 18, Partitions: 64, Memory: 64 << 10},
		{Record: 8, Partitions: 4096, Memory: 2 << 20},
		{Record: 8, Partitions: 16, Memory: 100 << 20},
		{Record: MaxRecord, Partitions: 4, Memory: 10},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			f := must(Open(Config{Dir: t.TempDir()}))
			r := must(NewRuns(f, c))
			want := make([][]byte, c.Partitions)
			checkRuns(t, r, want)
			if err := r.Flush(); err != nil || f.Written() != 0 {
				t.Errorf("nothing was appended, %d bytes were written, %v", f.Written(), err)
			}
			for round := range 3 {
				for i := range 2000 {
					h := rng.Uint64()
					if round == 1 {
						h >>= 3 // a part of the partitions
					}
					rec := record(c.Record, h, i)
					if err := r.Append(h, rec); err != nil {
						t.Fatal(err)
					}
					p := r.Partition(h)
					if wantP := int(h >> 1 >> (63 - log2(c.Partitions))); p != wantP {
						t.Fatalf("%x is in partition %d, want %d", h, p, wantP)
					}
					want[p] = append(want[p], rec...)
				}
				for _, err := range r.Read(0) {
					if err == nil || !strings.Contains(err.Error(), "since the last flush") {
						t.Errorf("a read without Flush: %v", err)
					}
				}
				if err := r.Flush(); err != nil {
					t.Fatal(err)
				}
				checkRuns(t, r, want)
			}
			if f.Used() != uint64(6000*c.Record) {
				t.Errorf("%d bytes on disk for 6000 records of %d", f.Used(), c.Record)
			}
			for range 2 {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			if f.Used() != 0 {
				t.Errorf("%d bytes are used after Close", f.Used())
			}
		})
	}
}

func log2(n int) uint {
	k := uint(0)
	for ; n > 1; n /= 2 {
		k++
	}
	return k
}

func TestRunsConfig(t *testing.T) {
	f := must(Open(Config{Dir: t.TempDir()}))
	for _, c := range []RunsConfig{{Record: 0, Partitions: 1}, {Record: MaxRecord + 1, Partitions: 1}, {Record: 1}, {Record: 1, Partitions: 3},
		{Record: 1, Partitions: 2 * MaxPartitions}, {Record: -1, Partitions: 1}, {Record: 1, Partitions: -4}} {
		if r, err := NewRuns(f, c); err == nil {
			t.Errorf("%+v: %v", c, r)
		}
	}
}

// No error of a write is lost, whichever write it is.
func TestRunsErrors(t *testing.T) {
	const records = 3000
	c := RunsConfig{Record: 12, Partitions: 8, Memory: 4096}
	run := func(m *memfs.FS) error {
		f, err := Open(Config{Dir: "/tmp", FS: m})
		if err != nil {
			return err
		}
		r := must(NewRuns(f, c))
		defer r.Close()
		rng := rand.New(rand.NewPCG(3, 4))
		for i := range records {
			if err := r.Append(rng.Uint64(), record(12, 1, i)); err != nil {
				if again := r.Flush(); again != err {
					t.Errorf("Append says %v, and Flush %v", err, again)
				}
				for _, again := range r.Read(0) {
					if again != err {
						t.Errorf("Append says %v, and Read %v", err, again)
					}
				}
				return err
			}
		}
		if err := r.Flush(); err != nil {
			return err
		}
		for i := range r.Partitions() {
			for _, err := range r.Read(i) {
				if err != nil {
					return err
				}
			}
		}
		return r.Close()
	}
	failing := map[string]int{}
	for n := 0; ; n++ {
		m := memfs.New()
		next, failed := memfs.FailNth(n, syscall.ENOSPC), ""
		m.SetFault(func(op, name string) error {
			err := next(op, name)
			if err != nil {
				failed = op
			}
			return err
		})
		err := run(m)
		if failed == "" {
			break
		}
		failing[failed]++
		var full *FullError
		switch failed {
		case "open": // a file without a name; one with a name is made instead
			if err != nil {
				t.Errorf("operation %d, open: %v", n, err)
			}
		case "remove": // it is tried once more, at the end
			if err != nil {
				t.Errorf("operation %d, remove: %v", n, err)
			}
		case "temp", "write":
			if !errors.As(err, &full) {
				t.Errorf("operation %d, %s: %v", n, failed, err)
			}
		default:
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("operation %d, %s: %v", n, failed, err)
			}
		}
		if left := m.Names(); len(left) > 0 {
			t.Errorf("operation %d, %s, leaves %v", n, failed, left)
		}
	}
	for _, op := range []string{"open", "temp", "remove", "write", "read", "close"} {
		if failing[op] == 0 {
			t.Errorf("no %s failed in %v", op, failing)
		}
	}
}

func TestRunsLimit(t *testing.T) {
	f := must(Open(Config{Dir: t.TempDir(), Max: 1000}))
	r := must(NewRuns(f, RunsConfig{Record: 10, Partitions: 2, Memory: 100}))
	defer r.Close()
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		err = r.Append(uint64(i)<<60, make([]byte, 10))
	}
	var limit *LimitError
	if !errors.As(err, &limit) || f.Peak() > 1000 {
		t.Errorf("%v; %d bytes at the peak", err, f.Peak())
	}
}

// Damage in a file is an error, wherever it is.
func TestRunsDamage(t *testing.T) {
	for at := int64(0); at < 200; at += 13 {
		f := must(Open(Config{Dir: t.TempDir()}))
		r := must(NewRuns(f, RunsConfig{Record: 8, Partitions: 4, Memory: 256}))
		for i := range 25 {
			if err := r.Append(uint64(i)<<60, record(8, uint64(i), 0)); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		file := r.file.file.(*os.File)
		b := []byte{0}
		file.ReadAt(b, at)
		b[0] ^= 4
		file.WriteAt(b, at)
		if err := readAll(r); !isDamage(err) {
			t.Errorf("byte %d: %v", at, err)
		}
		file.Truncate(at)
		if err := readAll(r); !isDamage(err) {
			t.Errorf("cut to %d bytes: %v", at, err)
		}
		r.Close()
	}
}

func readAll(r *Runs) error {
	for i := range r.Partitions() {
		for _, err := range r.Read(i) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func isDamage(err error) bool {
	var damage *DamageError
	return errors.As(err, &damage)
}
