package input

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// fixtures are testdata/lines.txt as the tools of each format write it.
var fixtures = []struct {
	file   string
	format Format
	// unmarked: the format has no end mark, so a cut between two of its blocks
	// looks like an end.
	unmarked bool
	// skippable is the size of a skippable frame at the start.
	skippable int
}{
	{file: "lines.txt", format: Plain, unmarked: true},
	{file: "lines.txt.gz", format: Gzip},
	{file: "lines.txt.zst", format: Zstd},
	{file: "pzstd.zst", format: Zstd, skippable: 12},
	{file: "lines.txt.xz", format: XZ},
	{file: "blocks.xz", format: XZ},
	{file: "lines.txt.bz2", format: Bzip2},
	{file: "lines.txt.lz4", format: LZ4},
	{file: "legacy.lz4", format: LZ4, unmarked: true},
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readAll reads every input of f in buffers of the given size.
func readAll(f *Files, size int) (content []byte, formats []Format, err error) {
	ctx := context.Background()
	p := make([]byte, size)
	for {
		file, ok := f.Next()
		if !ok {
			return content, formats, nil
		}
		for err == nil {
			var n int
			n, err = file.ReadContext(ctx, p)
			content = append(content, p[:n]...)
		}
		formats = append(formats, file.Format())
		file.Close()
		if err != io.EOF {
			return content, formats, err
		}
		err = nil
	}
}

// decode reads stored as standard input.
func decode(t *testing.T, stored []byte, o Options) ([]byte, Format, error) {
	t.Helper()
	o.Stdin = bytes.NewReader(stored)
	f, err := Open(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	content, formats, err := readAll(f, 3000)
	return content, formats[0], err
}

func TestEveryFormat(t *testing.T) {
	want := fixture(t, "lines.txt")
	for _, fx := range fixtures {
		for _, jobs := range []int{0, 1, 3} {
			stored := fixture(t, fx.file)
			for times := 1; times <= 3; times++ {
				got, format, err := decode(t, bytes.Repeat(stored, times), Options{Jobs: jobs})
				if err != nil || format != fx.format || !bytes.Equal(got, bytes.Repeat(want, times)) {
					t.Errorf("%s x %d, %d jobs: %d bytes, %v, %v; want %d bytes, %v",
						fx.file, times, jobs, len(got), format, err, times*len(want), fx.format)
				}
			}
		}
	}
}

func TestPlainOptionDecompressesNothing(t *testing.T) {
	for _, fx := range fixtures {
		stored := fixture(t, fx.file)
		got, format, err := decode(t, stored, Options{Plain: true})
		if err != nil || format != Plain || !bytes.Equal(got, stored) {
			t.Errorf("%s: %d bytes as %v, %v; want its %d bytes as they are", fx.file, len(got), format, err, len(stored))
		}
	}
}

func TestEveryTruncationIsAnError(t *testing.T) {
	want := fixture(t, "lines.txt")
	for _, fx := range fixtures {
		if fx.unmarked {
			continue
		}
		stored := fixture(t, fx.file)
		twice := append(bytes.Clone(stored), stored...)
		for n := 1; n < len(twice); n++ {
			// Each byte near a border between members, some of those far from it.
			if at := n % len(stored); at > 60 && at < len(stored)-60 && at%97 != 0 {
				continue
			}
			got, format, err := decode(t, twice[:n], Options{})
			if !bytes.HasPrefix(append(bytes.Clone(want), want...), got) && format != Plain {
				t.Fatalf("%s cut to %d bytes: delivered bytes that are not in the file", fx.file, n)
			}
			if n == len(stored) || format == Plain {
				continue // whole, or cut within the magic number
			}
			if n%len(stored) == fx.skippable {
				continue // a file may consist of a skippable frame
			}
			var e *Error
			if !errors.As(err, &e) || e.Name != StdinName {
				t.Fatalf("%s cut to %d of 2 x %d bytes: error %v, %d bytes delivered", fx.file, n, len(stored), err, len(got))
			}
			if text := err.Error(); !strings.Contains(text, fx.format.String()) {
				t.Fatalf("%s cut to %d bytes: %q does not name the format", fx.file, n, text)
			}
		}
	}
}

func TestDamageNeverChangesContent(t *testing.T) {
	want := fixture(t, "lines.txt")
	for _, fx := range fixtures {
		if fx.unmarked {
			continue
		}
		stored := fixture(t, fx.file)
		harmless := 0
		for i := range stored {
			if i > 60 && i < len(stored)-60 && i%41 != 0 {
				continue
			}
			bad := bytes.Clone(stored)
			bad[i] ^= 0x10
			got, format, err := decode(t, bad, Options{})
			switch {
			case format == Plain:
			case err == nil && !bytes.Equal(got, want):
				t.Fatalf("%s, byte %d flipped: other content and no error", fx.file, i)
			case err == nil:
				harmless++
			}
		}
		// Time stamps, names of systems and unused bits: a handful of bytes.
		if harmless > 16 {
			t.Errorf("%s: %d of %d flipped bytes went unnoticed", fx.file, harmless, len(stored))
		}
	}
}

func TestGarbageBehindTheLastMember(t *testing.T) {
	for _, fx := range fixtures {
		if fx.format == Plain {
			continue
		}
		_, _, err := decode(t, append(fixture(t, fx.file), "\nnot part of it\n"...), Options{})
		if err == nil {
			t.Errorf("%s with text behind it: no error", fx.file)
		}
	}
	for _, name := range []string{"lines.txt.gz", "lines.txt.xz"} {
		got, _, err := decode(t, append(fixture(t, name), make([]byte, 512)...), Options{})
		if err != nil || !bytes.Equal(got, fixture(t, "lines.txt")) {
			t.Errorf("%s padded with zero bytes: %v", name, err)
		}
	}
}

func TestEmptyInputs(t *testing.T) {
	for name, stored := range map[string][]byte{"nothing": nil, "bzip2": fixture(t, "empty.bz2")} {
		got, _, err := decode(t, stored, Options{})
		if err != nil || len(got) != 0 {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// Text that merely resembles a magic number is text.
func TestTextIsPlain(t *testing.T) {
	for _, text := range []string{
		"BZh9 is how bzip2 files start\n", "BZh", "BZh91AY&SX\n", "BZh01AY&SY", "BZhx1AY&SY", "B\n", "\x1f\x8b\n", "\x1f\x8b",
		"\xfd7zXZ", "\xfd7zXZ\n", "\x28\xb5\x2f", "\x50\x2a\x4d", "P*M", "\x04\x22\x4d\n", "P*\n", "Pa",
	} {
		got, format, err := decode(t, []byte(text), Options{})
		if err != nil || format != Plain || string(got) != text {
			t.Errorf("%q: %q as %v, %v", text, got, format, err)
		}
	}
}

// A format is decided on as soon as it can be: no read waits for bytes that
// could not change the answer.
func TestSniffNeverWaitsNeedlessly(t *testing.T) {
	for text, needed := range map[string]int{
		"a": 1, "B": 2, "Bx": 2, "BZh9\n": 5, "BZh91AY&SY": 10, "\x1f\x8b\x08": 3, "\x1fx": 2,
		"P": 2, "P\n": 2, "\x28\xb5\x2f\xfd": 4, "P*M\x18\x01\x00\x00\x00z\x28\xb5\x2f\xfd": 13,
	} {
		asked := 0
		r := iotest.OneByteReader(readerFunc(func(p []byte) (int, error) {
			if asked == len(text) {
				asked++
				return 0, io.EOF
			}
			p[0] = text[asked]
			asked++
			return 1, nil
		}))
		sniff(bufio.NewReaderSize(r, sniffSize))
		if asked != needed {
			t.Errorf("%q: asked for %d bytes, want %d", text, asked, needed)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestSkippableFramesBeforeLZ4(t *testing.T) {
	skip := "\x5f\x2a\x4d\x18\x03\x00\x00\x00abc"
	for _, n := range []int{1, 2} {
		got, format, err := decode(t, append([]byte(strings.Repeat(skip, n)), fixture(t, "lines.txt.lz4")...), Options{})
		if err != nil || format != LZ4 || !bytes.Equal(got, fixture(t, "lines.txt")) {
			t.Errorf("%d skippable frames: %d bytes as %v, %v", n, len(got), format, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, fx := range fixtures {
		b, err := os.ReadFile(filepath.Join("testdata", fx.file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("P*M\x18\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, stored []byte) {
		files, err := Open(nil, Options{Stdin: bytes.NewReader(stored)})
		if err != nil {
			t.Fatal(err)
		}
		file, _ := files.Next()
		defer file.Close()
		p := make([]byte, 64<<10)
		for total := 0; total < 4<<20; {
			n, err := file.ReadContext(t.Context(), p)
			total += n
			if err == io.EOF {
				return
			}
			if err != nil {
				if n != 0 {
					t.Fatalf("%d bytes together with %v", n, err)
				}
				var e *Error
				if !errors.As(err, &e) {
					t.Fatalf("%v is no *Error", err)
				}
				return
			}
		}
	})
}

// tail must keep the same bytes however the file is cut into reads.
func TestTailAcrossReads(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		data := make([]byte, rng.IntN(60))
		for i := range data {
			data[i] = byte(max(rng.IntN(8)-4, 0)) // more than half of them zero
		}
		var got tail
		for p := data; len(p) > 0; {
			n := 1 + rng.IntN(len(p))
			got.note(p[:n])
			p = p[n:]
		}
		trimmed := bytes.TrimRight(data, "\x00")
		zeros := len(data) - len(trimmed)
		var want [footerSize]byte
		copy(want[max(footerSize-len(trimmed), 0):], trimmed[max(len(trimmed)-footerSize, 0):])
		if got.last != want || got.zero != int64(zeros) {
			t.Fatalf("%v: kept %v and %d zeros, want %v and %d", data, got.last, got.zero, want, zeros)
		}
	}
}
