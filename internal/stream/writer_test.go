package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"seen/internal/stream/keyspec"
)

// sizes records the lengths of the writes it gets.
type sizes struct {
	bytes.Buffer
	calls  []int
	last   *byte // of the last call, its first byte
	limit  int   // calls after which it fails, once
	failed bool
}

var errFull = errors.New("the disk is full")

func (s *sizes) Write(p []byte) (int, error) {
	if s.limit > 0 && len(s.calls) == s.limit && !s.failed {
		s.failed = true
		return 0, errFull
	}
	s.calls = append(s.calls, len(p))
	s.last = &p[0]
	return s.Buffer.Write(p)
}

func TestWriterAgainstModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		lengths := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 5, 80, 3000, directSize - 1, directSize, gatherSize, gatherSize + 1}), 0, 40).Draw(rt, "lengths")
		var content strings.Builder
		for i, n := range lengths {
			content.WriteString(strings.Repeat(string(rune('a'+i%26)), n) + "\n")
		}
		verdicts := rapid.SliceOfN(rapid.Bool(), len(lengths), len(lengths)).Draw(rt, "keep")
		how := rapid.SampledFrom([]string{"all", "keep", "mark"}).Draw(rt, "how")
		counters := new(Counters)
		out := new(sizes)
		buffered := rapid.Bool().Draw(rt, "line buffered")
		w := NewWriter(out, WriterOptions{LineBuffered: buffered, Counters: counters})
		want, kept, at := "", 0, 0
		c := Config{Jobs: 1, BlockSize: rapid.SampledFrom([]int{10, 100_000, DefaultBlockSize}).Draw(rt, "block size")}
		err := Run(rt.Context(), open(rt, files(rt, dir, content.String()), nil), c, func(b *Block) error {
			keep := verdicts[at : at+b.Len()]
			at += b.Len()
			for i, k := range keep {
				mark := ""
				if how == "mark" {
					mark = fmt.Sprintf("%v\t", k)
				}
				if k || how != "keep" {
					want += mark + string(b.Line(i))
					kept++
				}
			}
			var err error
			switch how {
			case "all":
				err = w.Write(b, nil)
			case "keep":
				err = w.Write(b, keep)
			case "mark":
				err = w.WritePrefixed(b, nil, func(i int) []byte { return fmt.Appendf(nil, "%v\t", keep[i]) })
			}
			if buffered && out.String() != want {
				rt.Fatal("something was held back")
			}
			return err
		})
		if err == nil {
			err = w.Flush()
		}
		if err != nil || out.String() != want {
			rt.Fatalf("%d bytes written, want %d, %v", out.Len(), len(want), err)
		}
		if k, d := counters.Kept.Load(), counters.Dropped.Load(); int(k) != kept || int(k+d) != len(lengths) {
			rt.Fatalf("%d kept and %d dropped, want %d of %d", k, d, kept, len(lengths))
		}
	})
}

func TestWritePrefixedLeavesOut(t *testing.T) {
	out := new(sizes)
	w := NewWriter(out, WriterOptions{})
	err := Run(t.Context(), open(t, nil, strings.NewReader("a\nb\nc\n")), Config{}, func(b *Block) error {
		return w.WritePrefixed(b, []bool{true, false, true}, func(i int) []byte { return []byte{byte('0' + i), ':'} })
	})
	if err != nil || w.Flush() != nil || out.String() != "0:a\n2:c\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// Runs of kept records are not copied when they are long, and not written one by
// one when they are short.
func TestWritesAreLarge(t *testing.T) {
	content := strings.Repeat("a line of no great length\n", 100_000)
	names := files(t, t.TempDir(), content)
	for every, most := range map[int]int{1: 12, 2: 12, 10: 3} {
		out := new(sizes)
		w := NewWriter(out, WriterOptions{})
		var keep []bool
		err := Run(t.Context(), open(t, names, nil), Config{Jobs: 1}, func(b *Block) error {
			keep = keep[:0]
			for i := range b.Len() {
				keep = append(keep, every == 1 || i%every == 0)
			}
			err := w.Write(b, keep)
			if every == 1 && out.last != &b.Data[0] {
				t.Error("a long run was copied")
			}
			return err
		})
		if err != nil || w.Flush() != nil || len(out.calls) > most {
			t.Errorf("every %dth line: %d writes, want at most %d, %v", every, len(out.calls), most, err)
		}
		if every == 1 && slices.Min(out.calls) < directSize {
			t.Errorf("a write of %d bytes among %v", slices.Min(out.calls), out.calls)
		}
	}
}

func TestWriteErrorStays(t *testing.T) {
	for _, length := range []int{1, directSize} {
		names := files(t, t.TempDir(), strings.Repeat("x", length)+"\n")
		const limit = 2
		out := &sizes{limit: limit}
		w := NewWriter(out, WriterOptions{LineBuffered: true})
		var errs []error
		err := Run(t.Context(), open(t, slices.Repeat(names, 5), nil), Config{}, func(b *Block) error {
			errs = append(errs, w.Write(b, nil))
			return nil
		})
		if err != nil || len(out.calls) != limit || slices.Index(errs, errFull) != limit || !errors.Is(errs[4], errFull) {
			t.Errorf("%d bytes: %d writes, errors %v, %v", length, len(out.calls), errs, err)
		}
		if err := w.Flush(); !errors.Is(err, errFull) {
			t.Errorf("%d bytes: afterwards %v", length, err)
		}
	}
}

func TestHeaderIsNeitherKeptNorDropped(t *testing.T) {
	k := key(t, keyspec.Options{Keys: []string{"csv:a"}})
	counters := new(Counters)
	out := new(sizes)
	w := NewWriter(out, WriterOptions{Counters: counters, LineBuffered: true})
	err := Run(t.Context(), open(t, nil, strings.NewReader("a,b\n1,2\n")), Config{Key: k}, func(b *Block) error {
		return w.Write(b, nil)
	})
	if err != nil || out.String() != "a,b\n1,2\n" || counters.Kept.Load() != 1 || counters.Dropped.Load() != 0 {
		t.Errorf("%q, %d kept, %d dropped, %v", out.String(), counters.Kept.Load(), counters.Dropped.Load(), err)
	}
}

func TestBrokenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	out := NewWriter(w, WriterOptions{LineBuffered: true})
	err = Run(t.Context(), open(t, nil, strings.NewReader("a\n")), Config{}, func(b *Block) error { return out.Write(b, nil) })
	if !IsBrokenPipe(err) {
		t.Errorf("%v is not taken for a broken pipe", err)
	}
	if IsBrokenPipe(nil) || IsBrokenPipe(io.EOF) || IsBrokenPipe(errFull) || !IsBrokenPipe(fmt.Errorf("x: %w", io.ErrClosedPipe)) {
		t.Error("IsBrokenPipe is wrong")
	}
	cut := fmt.Errorf("no answer: %w", &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)})
	if !errors.Is(cut, syscall.EPIPE) || IsBrokenPipe(cut) {
		t.Error("a connection that broke is taken for the output")
	}
}

// Runs of kept records may begin and end anywhere in a group of verdicts and go
// on over several.
func TestRunsOverGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for n := range 4 * group {
		for _, turn := range []int{1, 2, 10, 100} {
			b := &Block{Offsets: []uint32{0}}
			var keep []bool
			var want []byte
			kept, is := 0, false
			for i := range n {
				if rng.IntN(turn) == 0 {
					is = !is
				}
				line := fmt.Appendf(nil, "%d\n", i)
				if is {
					want = append(want, line...)
					kept++
				}
				keep = append(keep, is)
				b.Data = append(b.Data, line...)
				b.Offsets = append(b.Offsets, uint32(len(b.Data)))
			}
			counters := new(Counters)
			out := new(sizes)
			w := NewWriter(out, WriterOptions{Counters: counters})
			if err := errors.Join(w.Write(b, keep), w.Flush()); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Bytes(), want) || counters.Kept.Load() != uint64(kept) || counters.Dropped.Load() != uint64(n-kept) {
				t.Fatalf("of %v: wrote %q, counted %d kept and %d dropped", keep, out, counters.Kept.Load(), counters.Dropped.Load())
			}
		}
	}
}
