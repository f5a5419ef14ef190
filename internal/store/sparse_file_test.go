//go:build unix

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"seen/internal/frame"
	"seen/internal/pages"
)

// anonymous returns the memory of this process that is not a file, in bytes.
func anonymous(t *testing.T) uint64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("this system does not say how much memory a process has: ", err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			n, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Skip("there is no RssAnon")
	return 0
}

// onDisk returns the bytes that the files of a folder take on the disk.
func onDisk(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Large values with a handful of keys take next to no memory and no room on the disk;
// neither do checkpoints of them and starts with them.
func TestZerosCostNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if runtime.GOOS != "linux" {
		t.Skip("measured on Linux")
	}
	const each = 160 << 20
	dir := t.TempDir()
	o := Options{Fsync: Never}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	header := binary.LittleEndian.AppendUint64(nil, 0)
	for _, n := range []uint64{128 << 20 / 4, 0, 1} {
		header = binary.LittleEndian.AppendUint64(header, n)
	}
	for _, n := range []uint16{4, 20, 1} {
		header = binary.LittleEndian.AppendUint16(header, n)
	}
	before := anonymous(t)
	key := [][]byte{[]byte("key")}
	var answer [1]bool
	for _, do := range []func() error{
		func() error {
			f, _, err := s.CreateBloom([]byte("bloom"), BloomConfig{ErrorRate: 0.001, Capacity: each / 2})
			if err == nil {
				_, _, err = f.Add(answer[:], key)
			}
			return err
		},
		func() error {
			f, _, err := s.CreateBloom([]byte("redisbloom"), BloomConfig{ErrorRate: 0.001, Capacity: each / 2, Layout: LayoutRedisBloom})
			if err == nil {
				_, _, err = f.Add(answer[:], key)
			}
			return err
		},
		func() error {
			f, _, err := s.CreateBloom([]byte("window"), BloomConfig{ErrorRate: 0.001, Capacity: 4 * each, Span: time.Hour})
			if err == nil {
				_, _, err = f.Add(answer[:], key)
			}
			return err
		},
		func() error {
			_, err := s.LoadCuckoo([]byte("cuckoo"), 1, header, 0)
			if err == nil {
				_, err = s.Get([]byte("cuckoo")).(*Cuckoo).Add(key, func(_ int, e error) { err = e })
			}
			return err
		},
		func() error {
			c, _, err := s.CreateCountMin([]byte("countmin"), CountMinConfig{Width: each / 16, Depth: 4})
			if err == nil {
				_, err = c.Increment(make([]uint32, 1), key, []uint64{5})
			}
			return err
		},
		func() error {
			c, _, err := s.CreateTopK([]byte("topk"), TopKConfig{K: 3, Width: each / 32, Depth: 4})
			if err == nil {
				_, err = c.Add(key, nil, func(int, []byte, bool) {})
			}
			return err
		},
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	if s.Memory() < 5*each {
		t.Errorf("%d bytes are charged", s.Memory())
	}
	check := func(when string) {
		t.Helper()
		const limit = 96 << 20 // some huge pages for each value, and the database
		if m := anonymous(t); m > before+limit {
			t.Errorf("%s: %d MiB of memory are in use", when, (m-before)>>20)
		}
		if n := onDisk(t, dir); n > limit {
			t.Errorf("%s: %d MiB of the disk are in use", when, n>>20)
		}
		for _, name := range []string{"bloom", "redisbloom", "window"} {
			if s.Get([]byte(name)).(Filter).Has(answer[:], key); !answer[0] {
				t.Errorf("%s: %s has lost its key", when, name)
			}
		}
		if s.Get([]byte("cuckoo")).(*Cuckoo).Has(answer[:], key); !answer[0] {
			t.Errorf("%s: the cuckoo filter has lost its key", when)
		}
		var count [1]uint32
		if s.Get([]byte("countmin")).(*CountMin).Count(count[:], key); count[0] != 5 {
			t.Errorf("%s: count-min says %d", when, count[0])
		}
		if s.Get([]byte("topk")).(*TopK).Count(count[:], key); count[0] != 1 {
			t.Errorf("%s: top-k says %d", when, count[0])
		}
	}
	check("new")
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("after a checkpoint")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check("after a start")
}

// A file with holes has the bytes that were written, whatever their order.
func TestHolesAreZeros(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := files{fs: vfs.Default, dir: t.TempDir()}
	for n := range uint64(60) {
		var want []byte
		for range r.IntN(6) {
			piece := make([]byte, r.IntN(2*holePiece+1))
			if r.IntN(3) == 0 {
				for i := range piece {
					piece[i] = byte(r.Uint32())
				}
			}
			want = append(want, piece...)
			if r.IntN(4) == 0 { // to the end of a piece
				want = append(want, make([]byte, (holePiece-len(want)%holePiece)%holePiece)...)
			}
		}
		_, size, err := f.write(n, func(w io.Writer) error {
			for rest := want; len(rest) > 0; {
				k := min(len(rest), 1+r.IntN(100_000))
				if _, err := w.Write(rest[:k]); err != nil {
					return err
				}
				rest = rest[k:]
			}
			return nil
		}, always)
		if err != nil || size != uint64(len(want)) {
			t.Fatalf("%d bytes of %d, %v", size, len(want), err)
		}
		if got, err := os.ReadFile(f.path(n)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("a file of %d bytes has others, or %v", len(want), err)
		}
		ref, _, err := f.write(1000+n, func(w io.Writer) error {
			return summed(w, func(w io.Writer) error {
				_, err := w.Write(want)
				return err
			})
		}, always)
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.readSummed(ref)
		if err != nil || !bytes.Equal(c.bytes, want) {
			t.Fatalf("%d bytes are read as others, or %v", len(want), err)
		}
		c.release()
	}
}

// A file that was read and is not what was written is damaged. One that cannot be read may
// be whole: its error does not send the user to a backup.
func TestReadSummedErrors(t *testing.T) {
	f := files{fs: vfs.Default, dir: t.TempDir()}
	ref, _, err := f.write(1, func(w io.Writer) error {
		return summed(w, func(w io.Writer) error {
			_, err := w.Write(make([]byte, 3*holePiece))
			return err
		})
	}, always)
	if err != nil {
		t.Fatal(err)
	}
	name := f.path(1)
	broken := files{fs: unreadable{noLinks{vfs.Default}, &name}, dir: f.dir}
	want := fmt.Sprintf("reading %s: %v", name, syscall.EIO)
	if _, err := broken.readSummed(ref); !errors.Is(err, syscall.EIO) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		b    []byte
		says string
	}{
		{append(bytes.Clone(b[:len(b)-1]), b[len(b)-1]^1), fmt.Sprintf("its %d bytes do not match their checksum", len(b))},
		{b[:len(b)/2], fmt.Sprintf("its %d bytes do not match their checksum", len(b)/2)},
		{b[:3], "it has 3 bytes, too few for its checksum"},
	} {
		if err := os.WriteFile(name, change.b, 0o600); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s is damaged: %s; restore it from a backup", name, change.says)
		if _, err := f.readSummed(ref); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// always goes on.
func always() error { return nil }

// Holes of a file are not read at a start, and a byte that appears in one is noticed.
func TestByteInHole(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := model{}
	do(t, s, m, true, create("large", BloomConfig{ErrorRate: rare, Capacity: 1_000_000}), add("large", 0, 5))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, filesName, "*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	f, err := vfs.Default.OpenReadWrite(names[0], writeCategory)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	chunk := func(i int) []byte { return b[frame.PageSize+i*frame.ChunkSize:][:frame.ChunkSize] }
	holes, zeros := 0, -1
	for i := range (len(b) - frame.PageSize) / frame.ChunkSize {
		start := uint64(frame.PageSize + i*frame.ChunkSize)
		empty := pages.Zero(chunk(i))
		if hole := isHole(f, start, start+frame.ChunkSize); hole && !empty {
			t.Errorf("chunk %d has data and counts as a hole", i)
		} else if hole {
			holes++
		}
		if empty {
			zeros = i
		}
	}
	if zeros < 0 || runtime.GOOS == "linux" && holes == 0 {
		t.Fatalf("there are %d holes, and %d is the last chunk of zeros", holes, zeros)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	mustMatch(t, s, m)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{1}, int64(frame.PageSize+zeros*frame.ChunkSize+100)); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), names[0]) {
		t.Errorf("a byte in a hole was not noticed: %v, %v", s, err)
	}
}
