package bloomfile_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seen/bloom"
	"seen/bloomfile"
	"seen/sketch"
)

// The files in testdata/v1 and v2 were written in these versions of the format and are
// read for ever. Those of a released version are never changed; -update is for new ones.
var update = flag.Bool("update", false, "write the golden files anew")

const (
	goldenDir  = "testdata/v1"
	goldenTwo  = "testdata/v2"
	goldenKeys = 500  // "golden 0" and on were added to each
	goldenAsks = 2000 // "golden 0" and on are asked of each
)

// goldenPath returns the path of a golden file without its extension.
func goldenPath(name string) string {
	if strings.HasPrefix(name, "v2-") {
		return filepath.Join(goldenTwo, name)
	}
	return filepath.Join(goldenDir, name)
}

func goldenKey(i int) string { return fmt.Sprintf("golden %d", i) }

// goldenTime is the clock of the windows.
func goldenTime() time.Time { return time.Unix(1_700_000_000, 0) }

// goldens makes what the golden files hold, with the keys added.
func goldens(t testing.TB) map[string]io.WriterTo {
	t.Helper()
	all := map[string]io.WriterTo{}
	put := func(name string, s io.WriterTo, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a, ok := s.(interface{ AddString(string) bool }); ok {
			for i := range goldenKeys {
				a.AddString(goldenKey(i))
			}
		}
		all[name] = s
	}
	c := bloom.Config{Capacity: goldenKeys, ErrorRate: 0.01}
	seeded, secret, tight, tiny := c, c, c, c
	seeded.Hash = bloom.Hash{Seed: 0xfedcba9876543210}
	secret.Hash = goldenSecret()
	tight.ErrorRate = 1e-6
	tiny.Capacity = 20 // overfull: most answers are wrong
	{
		f, err := bloom.NewClassic(c)
		put("classic", f, err)
		f, err = bloom.NewClassic(seeded)
		put("classic-seeded", f, err)
		f, err = bloom.NewClassic(secret)
		put("classic-secret", f, err)
	}
	{
		f, err := bloom.New(c)
		put("blocked", f, err)
		f, err = bloom.New(tight)
		put("blocked-tight", f, err)
		f, err = bloom.New(tiny)
		put("blocked-overfull", f, err)
	}
	{
		f, err := bloom.NewPartitioned(c)
		put("partitioned", f, err)
	}
	for _, bits := range []int{4, 8, 16} {
		k := c
		k.Params.CounterBits = bits
		f, err := newCounting(k)
		put(fmt.Sprintf("counting-%d", bits), f, err)
	}
	{
		f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 50, ErrorRate: 0.01, Growth: 2})
		put("scalable", f, err)
		f, err = bloom.NewScalable(bloom.ScalableConfig{Capacity: 50, ErrorRate: 0.01, Growth: 2, Hash: goldenNH()})
		put("scalable-nh", f, err)
	}
	{
		f, err := bloom.NewWindow(bloom.WindowConfig{Span: time.Hour, Generations: 3, Capacity: 300, ErrorRate: 0.01, Clock: goldenTime})
		put("window-time", f, err)
		f, err = bloom.NewWindow(bloom.WindowConfig{SpanKeys: 600, Generations: 3, ErrorRate: 0.01, NoRefresh: true})
		put("window-calls", f, err)
	}
	{
		f, err := bloom.NewCascade(bloom.CascadeConfig{Capacity: 100, ErrorRate: 0.05, Levels: 3})
		put("cascade", f, err)
	}
	{
		f, err := bloom.NewAdaptive(bloom.AdaptiveConfig{})
		put("adaptive-exact", f, err)
		f, err = bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 4096, ErrorRate: 0.01, Growth: 2})
		put("adaptive-filter", f, err)
	}
	for _, bits := range []int{8, 16, 32} {
		f, err := bloom.NewStatic(bloom.StaticConfig{Bits: bits, Hashes: hashesOfGolden(c)})
		put(fmt.Sprintf("static-%d", bits), f, err)
	}
	for name, k := range map[string]bloom.CuckooConfig{
		"cuckoo":        {Capacity: 1000},
		"cuckoo-grown":  {Capacity: 100, BucketSize: 3, Expansion: 2, Hash: goldenSecret()},
		"cuckoo-murmur": {Capacity: 1000, BucketSize: 4, MaxIterations: 50, Expansion: 1, Hash: bloom.Hash{Algorithm: bloom.Murmur64A}},
	} {
		f, err := bloom.NewCuckoo(k)
		put(name, f, err)
		for i := range goldenKeys {
			// Those that are removed again are not among the keys that are asked.
			if err := errors.Join(f.Add([]byte(goldenKey(i))), f.Add([]byte(goldenKey(-i-1)))); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				f.Remove([]byte(goldenKey(-i - 1)))
			}
		}
	}
	{
		f, err := sketch.NewHyperLogLog(sketch.HyperLogLogConfig{Precision: 8})
		put("hyperloglog", f, err)
		f, err = sketch.NewHyperLogLog(sketch.HyperLogLogConfig{Precision: 14})
		put("hyperloglog-few", f, err)
	}
	{
		f, err := sketch.NewFlajoletMartin(sketch.FlajoletMartinConfig{Maps: 64})
		put("flajolet-martin", f, err)
	}
	{
		f, err := sketch.NewCountMin32(sketch.CountMin32Config{Width: 301, Depth: 3})
		put("count-min-32", f, err)
		for i := range goldenKeys {
			f.Add([]byte(goldenKey(i)), uint64(i)*uint64(i)*uint64(i)*50)
		}
	}
	{
		f, err := sketch.NewTopK(sketch.TopKConfig{K: 20, Width: 30, Depth: 3, Seed: 5})
		put("top-k", f, err)
		put("top-k-dense", f, err) // with the keys in the order of early versions
		for i := range 20 * goldenKeys {
			f.Add([]byte(goldenKey(i % (1 + i%goldenKeys))))
		}
	}
	ruled := func(name, rules string, f bloom.View, err error) {
		put(name, f, err)
		if err := f.SetRules(rules); err != nil {
			t.Fatal(err)
		}
	}
	{
		f, err := bloom.New(c)
		ruled("blocked-rules", "email rule-23", f, err)
		s, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 50, ErrorRate: 0.01, Growth: 2})
		ruled("scalable-rules", "lower trim url url-keep-host", s, err)
		s, err = bloom.NewScalable(bloom.ScalableConfig{Capacity: 50, ErrorRate: 0.01, Growth: 2})
		ruled("v2-scalable-rules", "lower url url-drop=%C3%A9* url-drop=ref", s, err)
		f, err = bloom.New(c)
		ruled("v2-blocked-long", strings.Repeat("x", bloom.MaxRules), f, err)
		static, err := bloom.NewStatic(bloom.StaticConfig{ErrorRate: 0.01, Hashes: hashesOfGolden(c)})
		ruled("v2-static-rules", "email", static, err)
	}
	for name, conservative := range map[string]bool{"count-min-plain": false, "count-min-conservative": true} {
		f, err := sketch.NewCountMin(sketch.CountMinConfig{Width: 300, Depth: 4, Conservative: conservative})
		put(name, f, err)
		for i := range goldenKeys {
			f.AddString(goldenKey(i), uint64(i))
		}
	}
	return all
}

// hashesOfGolden returns the hashes of the keys.
func hashesOfGolden(c bloom.Config) (hs []uint64) {
	for i := range goldenKeys {
		hs = append(hs, c.Hash.SumString(goldenKey(i)))
	}
	return hs
}

func goldenSecret() bloom.Hash {
	return bloom.Hash{Algorithm: bloom.SipHash, Secret: [16]byte([]byte("sixteen secrets!"))}
}

func goldenNH() bloom.Hash {
	return bloom.Hash{Algorithm: bloom.NH, Secret: [16]byte([]byte("a key in a file!"))}
}

// newCounting makes a counting filter of the given width, sized for c's capacity.
func newCounting(c bloom.Config) (*bloom.Counting, error) {
	bits := c.Params.CounterBits
	c.Params.CounterBits = 0
	f, err := bloom.NewCounting(c)
	if err != nil || bits == 4 {
		return f, err
	}
	p := f.Params()
	p.CounterBits = bits
	return bloom.NewCounting(bloom.Config{Params: p})
}

// goldenAnswers writes down what v says to each key: Y or n, or a number.
func goldenAnswers(t testing.TB, path string) string {
	t.Helper()
	f, err := bloomfile.Open(path, bloomfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err := range f.Check() {
		t.Error(err)
	}
	var b strings.Builder
	switch f.Info().Type {
	case "count-min":
		s := readSketch(t, path, new(sketch.CountMin))
		for i := range goldenAsks {
			fmt.Fprintf(&b, "%d ", s.CountString(goldenKey(i)))
		}
	case "count-min-32":
		s := readSketch(t, path, new(sketch.CountMin32))
		for i := range goldenAsks {
			fmt.Fprintf(&b, "%d ", s.Count([]byte(goldenKey(i))))
		}
	case "top-k", "top-k-dense":
		s := readSketch(t, path, new(sketch.TopK))
		for _, e := range s.List() {
			fmt.Fprintf(&b, "%s: %d; ", e.Key, e.Count)
		}
		for i := range goldenAsks {
			fmt.Fprintf(&b, "%d ", s.Count([]byte(goldenKey(i))))
		}
	case "hyperloglog":
		fmt.Fprintf(&b, "%.6f", readSketch(t, path, new(sketch.HyperLogLog)).Cardinality())
	case "flajolet-martin":
		fmt.Fprintf(&b, "%.6f", readSketch(t, path, new(sketch.FlajoletMartin)).Cardinality())
	default:
		o := bloom.LoadOptions{Clock: goldenTime}
		if f.Info().KeyID != 0 {
			o.Secret = goldenSecret().Secret
		}
		v, err := bloomfile.Read(path, o)
		if err != nil {
			t.Fatal(err)
		}
		h := v.Hash()
		for i := range goldenAsks {
			b.WriteByte("nY"[b2i(v.HasHash(h.SumString(goldenKey(i))))])
		}
	}
	return b.String()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func readSketch[S io.ReaderFrom](t testing.TB, path string, s S) S {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := s.ReadFrom(f); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGoldenFiles(t *testing.T) {
	all := goldens(t)
	if *update {
		for name, s := range all {
			if name == "top-k-dense" {
				continue
			}
			path := goldenPath(name) + ".seen"
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), bloomfile.Write(path, s)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(goldenPath(name)+".answers", []byte(goldenAnswers(t, path)+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	paths, err := filepath.Glob("testdata/v*/*.seen")
	if err != nil || len(paths) != len(all) {
		t.Fatalf("%d golden files for %d values, %v", len(paths), len(all), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".seen")
		t.Run(name, func(t *testing.T) {
			answers := goldenAnswers(t, path)
			want, err := os.ReadFile(strings.TrimSuffix(path, ".seen") + ".answers")
			if err != nil || answers+"\n" != string(want) {
				t.Errorf("answers differ from the recorded ones, %v", err)
			}
			if first := strings.TrimRight(answers[:min(goldenKeys, len(answers))], "Y"); len(answers) == goldenAsks && first != "" && name != "window-calls" {
				t.Errorf("a key is missing: %s", first)
			}
			// Today's writer: were its bytes others, so should be the version, or
			// the file's name.
			var b bytes.Buffer
			if _, err := all[name].WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(b.Bytes(), file) && name != "top-k-dense" {
				t.Errorf("the same keys now make %d bytes that differ from the file's %d, %v", b.Len(), len(file), err)
			}
		})
	}
}

// TestGoldenErrorRates makes sure that the recorded answers test something: some
// absent keys are taken for seen, about as many as the formula says.
func TestGoldenErrorRates(t *testing.T) {
	const asks = goldenAsks - goldenKeys
	for name, p := range map[string]float64{"classic": 0.01, "classic-seeded": 0.01, "blocked": 0.01, "partitioned": 0.01, "counting-8": 0.01} {
		answers, err := os.ReadFile(filepath.Join(goldenDir, name+".answers"))
		if err != nil {
			t.Fatal(err)
		}
		wrong := float64(bytes.Count(answers[goldenKeys:], []byte("Y")))
		// Fixed keys: this cannot flake. Four standard deviations of the binomial.
		if limit := 4 * math.Sqrt(asks*p); wrong == 0 || math.Abs(wrong-asks*p) > limit {
			t.Errorf("%s: %v of %d absent keys are taken for seen, want %v ± %.0f", name, wrong, asks, asks*p, limit)
		}
	}
}
