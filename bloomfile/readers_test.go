package bloomfile_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/frame"
)

// The readers in docs/readers are written from docs/FORMAT.md and do not share any
// code with the packages. They must give the same answers, the wrong ones included.

const readersDir = "../docs/readers"

// reader is the command line of one of them; the file's name comes last.
type reader []string

func readers(t *testing.T) map[string]reader {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "seen_reader")
	out, err := exec.Command("cc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", exe, filepath.Join(readersDir, "seen_reader.c")).CombinedOutput()
	if err != nil {
		t.Fatalf("cc: %v (make test installs what is needed)\n%s", err, out)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("%v (make test installs what is needed)", err)
	}
	// -B: no compiled module left in the source tree.
	return map[string]reader{"C": {exe}, "Python": {python, "-B", filepath.Join(readersDir, "seen_reader.py")}}
}

// ask runs a reader on keys.
func (r reader) ask(path string, keys [][]byte) (string, error) {
	cmd := exec.Command(r[0], append(r[1:len(r):len(r)], path)...)
	cmd.Stdin = bytes.NewReader(append(bytes.Join(keys, []byte("\n")), '\n'))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

// says returns what a reader writes to standard error when it is asked for nothing.
func (r reader) says(path string) (string, error) {
	cmd := exec.Command(r[0], append(r[1:len(r):len(r)], path)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	return stderr.String(), err
}

// answersOf is what a reader should print.
func answersOf(v bloom.View, keys [][]byte) string {
	var b strings.Builder
	h := v.Hash()
	for _, key := range keys {
		b.Write(key)
		b.WriteString([]string{"\tno\n", "\tmaybe\n"}[b2i(v.HasHash(h.Sum(key)))])
	}
	return b.String()
}

// randomKeys returns two keys of each length that may take another path of the
// hash, of any bytes but the newline.
func randomKeys() (added, absent [][]byte) {
	rng := rand.New(rand.NewPCG(11, 12))
	key := func(length int) []byte {
		b := make([]byte, length)
		for i := range b {
			if b[i] = byte(rng.Uint32()); b[i] == '\n' {
				b[i] = 'x'
			}
		}
		return b
	}
	lengths := []int{300, 1000, 1023, 1024, 1025, 1088, 1089, 2047, 2048, 2049, 5000}
	for n := range 260 {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		added, absent = append(added, key(n)), append(absent, key(n))
	}
	return added, absent
}

func compareReaders(t *testing.T, all map[string]reader, path string, v bloom.View, keys [][]byte) {
	t.Helper()
	want := answersOf(v, keys)
	for name, r := range all {
		got, err := r.ask(path, keys)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range b {
			if i >= len(a) || a[i] != b[i] {
				t.Errorf("%s: line %d of %d differs from the library's: %q", name, i, len(b), b[i])
				break
			}
		}
	}
}

func TestReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a C program")
	}
	all := readers(t)
	t.Run("golden files", func(t *testing.T) { readersOnGoldenFiles(t, all) })
	t.Run("random keys", func(t *testing.T) { readersOnRandomKeys(t, all) })
	t.Run("damage", func(t *testing.T) { readersRefuseDamage(t, all) })
	if _, err := os.Stat(filepath.Join(readersDir, "__pycache__")); err == nil {
		t.Error("a compiled module was left in the source tree")
	}
}

func readersOnGoldenFiles(t *testing.T, all map[string]reader) {
	var keys [][]byte
	for i := range goldenAsks {
		keys = append(keys, []byte(goldenKey(i)))
	}
	for _, name := range []string{
		"classic", "classic-seeded", "blocked", "blocked-tight", "blocked-overfull", "partitioned",
		"counting-4", "counting-8", "counting-16", "scalable", "scalable-nh",
		"blocked-rules", "scalable-rules", "v2-scalable-rules", "v2-blocked-long",
	} {
		t.Run(name, func(t *testing.T) {
			path := goldenPath(name) + ".seen"
			v, err := bloomfile.Read(path, bloom.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			compareReaders(t, all, path, v, keys)
			for lang, r := range all {
				said, err := r.says(path)
				_, rules, _ := strings.Cut(said, " were made with ")
				words := strings.Fields(rules)
				slices.Sort(words)
				if err != nil || strings.Join(words, " ") != v.Rules() || rules == "" && said != "" {
					t.Errorf("%s says %q of the keys, %v; want %q", lang, said, err, v.Rules())
				}
			}
		})
	}
	for _, name := range []string{"classic-secret", "static-8", "cascade", "window-time", "hyperloglog"} {
		for lang, r := range all {
			if out, err := r.ask(filepath.Join(goldenDir, name+".seen"), keys); err == nil || out != "" {
				t.Errorf("%s answers from a file it does not know, %s", lang, name)
			}
		}
	}
}

// readersOnRandomKeys uses filters of every layout, some with many chunks, and
// keys of every length that the hashes tell apart.
func readersOnRandomKeys(t *testing.T, all map[string]reader) {
	added, absent := randomKeys()
	for _, hash := range []bloom.Hash{{Seed: 0x9e3779b97f4a7c15}, goldenNH()} {
		t.Run(hash.Algorithm.String(), func(t *testing.T) { readersOnRandomKeysHashed(t, all, hash, added, absent) })
	}
}

func readersOnRandomKeysHashed(t *testing.T, all map[string]reader, hash bloom.Hash, added, absent [][]byte) {
	c := bloom.Config{Capacity: 200_000, ErrorRate: 0.02, Hash: hash}
	var sets []bloom.Set
	for _, make := range []func() (bloom.Set, error){
		func() (bloom.Set, error) { return bloom.NewClassic(c) },
		func() (bloom.Set, error) { return bloom.NewPartitioned(c) },
		func() (bloom.Set, error) { return bloom.NewCounting(c) },
		func() (bloom.Set, error) {
			return bloom.NewScalable(bloom.ScalableConfig{Capacity: 20_000, ErrorRate: 0.2, Hash: c.Hash})
		},
		func() (bloom.Set, error) {
			f, err := bloom.New(c)
			if err != nil {
				return nil, err
			}
			// Every number of lanes, whatever sizing would choose.
			p := f.Params()
			for lanes := 1; lanes <= 8; lanes++ {
				lines := lanes%3 + 1
				p.Lines, p.Lanes, p.K, p.M = lines, lanes, lines*lanes, uint64(lines)*300*512
				g, err := bloom.New(bloom.Config{Params: p, Hash: c.Hash})
				if err != nil {
					return nil, err
				}
				sets = append(sets, g)
			}
			return f, nil
		},
	} {
		s, err := make()
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, s)
	}
	filler := rand.New(rand.NewPCG(13, 14))
	for i, s := range sets {
		h := s.Hash()
		for _, key := range added {
			s.AddHash(h.Sum(key))
		}
		// Full enough that some answers are wrong.
		for range s.Stats().Bits / uint64(s.Stats().Probes) / 2 {
			s.AddHash(filler.Uint64())
		}
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := bloomfile.Write(path, s); err != nil {
			t.Fatal(err)
		}
		compareReaders(t, all, path, s, append(added, absent...))
	}
	// A file that was changed in place says so in its state area.
	path := filepath.Join(t.TempDir(), "changed")
	if err := bloomfile.Write(path, sets[0]); err != nil {
		t.Fatal(err)
	}
	f, err := bloomfile.Open(path, bloomfile.Options{Writable: true})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.AddKeys(nil, absent); n == 0 || err != nil {
		t.Fatal(n, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, key := range absent {
		sets[0].AddHash(c.Hash.Sum(key))
	}
	compareReaders(t, all, path, sets[0], append(added, absent...))
}

func readersRefuseDamage(t *testing.T, all map[string]reader) {
	sound, err := os.ReadFile(filepath.Join(goldenDir, "scalable.seen"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(at int) []byte {
		b := bytes.Clone(sound)
		b[at] ^= 4
		return b
	}
	dirty := bytes.Clone(sound)
	copy(dirty[frame.StateOffset:], frame.AppendState(nil, frame.State{Mark: frame.MarkDirty}))
	for name, b := range map[string][]byte{
		"magic": flipped(2), "header": flipped(530), "header checksum": flipped(4095), "body": flipped(5000),
		"checksum": flipped(len(sound) - 6), "table checksum": flipped(len(sound) - 1),
		"truncated": sound[:len(sound)-1], "half": sound[:3000], "empty": nil, "oversized": append(bytes.Clone(sound), 0),
		"dirty": dirty,
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		for lang, r := range all {
			if out, err := r.ask(path, [][]byte{[]byte("golden 1")}); err == nil || out != "" || !strings.Contains(err.Error(), "seen_reader") {
				t.Errorf("%s accepts a file with damage of the %s: %q, %v", lang, name, out, err)
			}
		}
	}
}
