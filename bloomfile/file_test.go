package bloomfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"seen/bloom"
	"seen/internal/frame"
	"seen/sketch"
)

// hashes returns n random hashes.
func hashes(seed uint64, n int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 77))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = rng.Uint64()
	}
	return hs
}

// filled makes a blocked filter of several chunks, half full, and a random one in
// hundred of its answers wrong, so that answers tell filters apart.
func filled(t testing.TB, h bloom.Hash) *bloom.Filter {
	t.Helper()
	f, err := bloom.New(bloom.Config{Capacity: 300_000, ErrorRate: 0.01, Hash: h})
	if err != nil {
		t.Fatal(err)
	}
	f.AddHashes(nil, hashes(1, 300_000))
	return f
}

func written(t testing.TB, s io.WriterTo) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.seen")
	if err := Write(path, s); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t testing.TB, path string, o Options) *File {
	t.Helper()
	f, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// flip damages one byte of a file, in place.
func flip(t testing.TB, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0xff
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

func TestMappedAnswersAreThoseOfTheFilter(t *testing.T) {
	c := bloom.Config{Capacity: 20_000, ErrorRate: 0.01, Hash: bloom.Hash{Seed: 9}}
	filters := map[string]bloom.Set{}
	for name, make := range map[string]func(bloom.Config) (bloom.Set, error){
		"classic":     func(c bloom.Config) (bloom.Set, error) { return bloom.NewClassic(c) },
		"blocked":     func(c bloom.Config) (bloom.Set, error) { return bloom.New(c) },
		"partitioned": func(c bloom.Config) (bloom.Set, error) { return bloom.NewPartitioned(c) },
		"counting":    func(c bloom.Config) (bloom.Set, error) { return bloom.NewCounting(c) },
	} {
		f, err := make(c)
		if err != nil {
			t.Fatal(err)
		}
		filters[name] = f
	}
	for name, s := range filters {
		t.Run(name, func(t *testing.T) {
			hash := s.Hash()
			var keys [][]byte
			var texts []string
			var hs []uint64
			for i := range 40_000 {
				key := fmt.Appendf(nil, "key %d", i)
				if i < 20_000 {
					s.AddHash(hash.Sum(key))
				}
				keys, texts, hs = append(keys, key), append(texts, string(key)), append(hs, hash.Sum(key))
			}
			want := make([]bool, len(hs))
			count := s.HasHashes(want, hs)
			f := mustOpen(t, written(t, s), Options{})
			for i := range keys {
				a, err := f.Has(keys[i])
				b, err2 := f.HasString(texts[i])
				c, err3 := f.HasHash(hs[i])
				if a != want[i] || b != a || c != a || err != nil || err2 != nil || err3 != nil {
					t.Fatalf("key %d: %v %v %v, want %v; %v %v %v", i, a, b, c, want[i], err, err2, err3)
				}
			}
			for name, ask := range map[string]func(found []bool) (int, error){
				"HasKeys":    func(found []bool) (int, error) { return f.HasKeys(found, keys) },
				"HasStrings": func(found []bool) (int, error) { return f.HasStrings(found, texts) },
				"HasHashes":  func(found []bool) (int, error) { return f.HasHashes(found, hs) },
			} {
				got := make([]bool, len(hs))
				if n, err := ask(got); n != count || err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %d, %v, want %d; answers equal: %v", name, n, err, count, slices.Equal(got, want))
				}
			}
			if st, err := f.Stats(); err != nil || st != s.Stats() {
				t.Errorf("Stats %+v, %v, want %+v", st, err, s.Stats())
			}
			i := f.Info()
			if i.Type != name || i.Capacity != 20_000 || i.ErrorRate != 0.01 || i.Added != s.Stats().Added || i.Hash != hash || i.Writable {
				t.Errorf("Info %+v", i)
			}
			if info, err := os.Stat(f.path); err != nil || info.Size() != i.Size {
				t.Errorf("size %d, want %d", i.Size, info.Size())
			}
			v, err := Read(f.path, bloom.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			a, _ := v.AppendBinary(nil)
			if b, _ := s.AppendBinary(nil); !bytes.Equal(a, b) {
				t.Error("the filter that Read returns differs")
			}
			for err := range f.Check() {
				t.Error(err)
			}
		})
	}
}

func TestWrongFiles(t *testing.T) {
	b, _ := filled(t, bloom.Hash{}).AppendBinary(nil)
	dir := t.TempDir()
	newer := bytes.Clone(b)
	newer[8] = 3
	binary.LittleEndian.PutUint32(newer[4092:], crc32.ChecksumIEEE(newer[:4092]))
	for name, c := range map[string]struct {
		b    []byte
		want error
		text string
	}{
		"text":      {[]byte("some text\n"), ErrNotFrame, "not a seen file"},
		"empty":     {nil, ErrTruncated, "truncated: 0 bytes"},
		"head":      {b[:2000], ErrTruncated, "truncated: 2000 bytes"},
		"body":      {b[:len(b)/2], ErrTruncated, fmt.Sprintf("truncated: %d bytes of %d", len(b)/2, len(b))},
		"oversized": {append(bytes.Clone(b), 'x'), ErrOversized, "oversized: 1 bytes follow"},
		"newer":     {newer, ErrVersion, "newer format version 3"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, c.b, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {Writable: true}} {
			f, err := Open(path, o)
			if f != nil || !errors.Is(err, c.want) || !strings.HasPrefix(err.Error(), ""+path+": ") || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: Open: %v, want %q", name, err, c.text)
			}
		}
		if v, err := Read(path, bloom.LoadOptions{}); v != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: Read: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "missing"), Options{}); !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), "missing") != 1 {
		t.Errorf("missing: %v", err)
	}
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("folder: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
	if len(left) > 0 {
		t.Errorf("locks left: %v", left)
	}
}

// TestOpenReadsTheHeaderOnly opens 100 GB, nearly all of it a hole; reading them
// would take minutes. Questions touch two chunks each.
func TestOpenReadsTheHeaderOnly(t *testing.T) {
	const regionLines = 100_000_000_000 / 64 / 2
	const length = 2 * regionLines * 64
	h := &frame.Header{Type: frame.TypeBlocked, Parts: []frame.Part{{
		Kind: frame.KindBlocked, Lines: 2, Lanes: 8, K: 16, M: length * 8, Length: length,
	}}}
	head, err := frame.AppendHeader(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	l, err := h.Layout()
	if err != nil {
		t.Fatal(err)
	}
	// Every chunk is zeros, so every checksum is the same; the last may be short.
	sum := crc32.ChecksumIEEE(make([]byte, frame.ChunkSize))
	table := make([]byte, l.Total-l.BodyEnd)
	for i := range l.Chunks {
		binary.LittleEndian.PutUint32(table[4*i:], sum)
	}
	frame.SealTable(table)
	path := filepath.Join(t.TempDir(), "large")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(head); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(table, int64(l.BodyEnd)); err != nil {
		t.Skipf("this file system holds no file of %d bytes: %v", l.Total, err)
	}
	f := mustOpen(t, path, Options{})
	for _, hash := range hashes(5, 25) {
		if found, err := f.HasHash(hash); found || err != nil {
			t.Fatalf("%v, %v in an empty filter", found, err)
		}
	}
	touched := 0
	for i := range l.Chunks {
		if f.verified.has(i) {
			touched++
		}
	}
	if touched == 0 || touched > 50 {
		t.Errorf("25 questions verified %d chunks", touched)
	}
}

func TestSecretIsNeededForKeysOnly(t *testing.T) {
	hash := bloom.Hash{Algorithm: bloom.SipHash, Secret: [16]byte{1, 2, 3}}
	s := filled(t, hash)
	s.Add([]byte("key"))
	path := written(t, s)
	f := mustOpen(t, path, Options{Secret: hash.Secret})
	if found, err := f.Has([]byte("key")); !found || err != nil {
		t.Errorf("with the secret: %v, %v", found, err)
	}
	if f.Info().Hash != hash {
		t.Errorf("hash %v", f.Info().Hash)
	}
	f = mustOpen(t, path, Options{})
	var missing *bloom.SecretError
	for name, ask := range map[string]func() error{
		"Has":        func() error { _, err := f.Has([]byte("key")); return err },
		"Hash":       func() error { _, err := f.Hash(); return err },
		"HasString":  func() error { _, err := f.HasString("key"); return err },
		"HasKeys":    func() error { _, err := f.HasKeys(nil, [][]byte{{1}}); return err },
		"HasStrings": func() error { _, err := f.HasStrings(nil, []string{"key"}); return err },
	} {
		if err := ask(); !errors.As(err, &missing) || missing.KeyID != hash.KeyID() || missing.Given {
			t.Errorf("%s without the secret: %v", name, err)
		}
	}
	if found, err := f.HasHash(hash.SumString("key")); !found || err != nil {
		t.Errorf("hash without the secret: %v, %v", found, err)
	}
	if _, err := f.Stats(); err != nil || f.Info().KeyID != hash.KeyID() {
		t.Errorf("Stats: %v, Info %+v", err, f.Info())
	}
	if _, err := Open(path, Options{Secret: [16]byte{9}}); !errors.As(err, &missing) || !missing.Given {
		t.Errorf("with another secret: %v", err)
	}
}

func TestSketchIsDescribedNotAsked(t *testing.T) {
	s, err := sketch.NewHyperLogLog(sketch.HyperLogLogConfig{Precision: 12})
	if err != nil {
		t.Fatal(err)
	}
	f := mustOpen(t, written(t, s), Options{})
	if f.Info().Type != "hyperloglog" {
		t.Errorf("Info %+v", f.Info())
	}
	for err := range f.Check() {
		t.Error(err)
	}
	if _, err := f.HasHash(1); err == nil || !strings.Contains(err.Error(), "hyperloglog sketch") {
		t.Errorf("HasHash: %v", err)
	}
	if _, err := f.Stats(); err == nil {
		t.Error("Stats of a sketch")
	}
}

// TestLongHeader opens a file whose part table takes several pages.
func TestLongHeader(t *testing.T) {
	h := &frame.Header{Type: frame.TypeCountMin}
	var parts [][]byte
	for range 100 {
		h.Parts = append(h.Parts, frame.Part{Kind: frame.KindBytes, Length: 3})
		parts = append(parts, []byte("abc"))
	}
	b, err := frame.Append(nil, h, parts)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	f := mustOpen(t, path, Options{})
	if i := f.Info(); i.Parts != 100 || i.Size != int64(len(b)) {
		t.Errorf("Info %+v", i)
	}
	for err := range f.Check() {
		t.Error(err)
	}
	flip(t, path, int64(f.layout.Offsets[50])+3)
	n := 0
	for range f.Check() {
		n++
	}
	if n != 2 { // the chunk and the padding
		t.Errorf("%d complaints about damaged padding", n)
	}
	if err := os.WriteFile(path, b[:5000], 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{}); !errors.Is(err, ErrTruncated) {
		t.Errorf("half a header: %v", err)
	}
}

// TestReadFromPipe reads what has no size and cannot be mapped.
func TestReadFromPipe(t *testing.T) {
	s := filled(t, bloom.Hash{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		defer w.Close()
		s.WriteTo(w)
	}()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Open: %v", err)
	}
	v, err := Read(path, bloom.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !v.(*bloom.Filter).Equal(s) {
		t.Error("another filter came out of the pipe")
	}
}

// TestMistakesOfCallersStayPanics: only what the file does to us is an error.
func TestMistakesOfCallersStayPanics(t *testing.T) {
	f := mustOpen(t, written(t, filled(t, bloom.Hash{})), Options{})
	defer func() {
		if r := fmt.Sprint(recover()); !strings.Contains(r, "2 answers were asked for 1 keys") {
			t.Errorf("recovered %q", r)
		}
	}()
	f.HasHashes(make([]bool, 2), []uint64{1})
}

func TestHasDoesNotAllocate(t *testing.T) {
	f := mustOpen(t, written(t, filled(t, bloom.Hash{})), Options{})
	key := []byte("some key")
	hs := hashes(1, 100)
	found := make([]bool, len(hs))
	if _, err := f.Stats(); err != nil { // verifies everything
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		f.Has(key)
		f.HasString("some key")
		f.HasHash(5)
		f.HasHashes(found, hs)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestClosedFile(t *testing.T) {
	f := mustOpen(t, written(t, filled(t, bloom.Hash{})), Options{})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Close":   f.Close(),
		"Has":     func() error { _, err := f.Has(nil); return err }(),
		"HasHash": func() error { _, err := f.HasHash(1); return err }(),
		"Add":     func() error { _, err := f.Add(nil); return err }(),
		"Sync":    f.Sync(),
		"Stats":   func() error { _, err := f.Stats(); return err }(),
	} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for err := range f.Check() {
		if !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
	}
	if f.Info().Type != "blocked" {
		t.Error("the header is forgotten")
	}
}
