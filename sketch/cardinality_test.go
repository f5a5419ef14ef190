package sketch

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/axiomhq/hyperloglog"
	"pgregory.net/rapid"

	"seen/bloom"
	"seen/internal/filtertest"
)

// cardinality is what HyperLogLog and FlajoletMartin both offer.
type cardinality[S any] interface {
	Add(key []byte) bool
	AddString(key string) bool
	AddHash(h uint64) bool
	Cardinality() float64
	StdErr() float64
	Merge(S) error
	Clear()
	Clone() S
	Equal(S) bool
}

func newHyperLogLog(t testing.TB, precision int, h bloom.Hash) *HyperLogLog {
	t.Helper()
	s, err := NewHyperLogLog(HyperLogLogConfig{Precision: precision, Hash: h})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newFlajoletMartin(t testing.TB, maps int, h bloom.Hash) *FlajoletMartin {
	t.Helper()
	s, err := NewFlajoletMartin(FlajoletMartinConfig{Maps: maps, Hash: h})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewCardinality(t *testing.T) {
	for precision := 4; precision <= 18; precision++ {
		s := newHyperLogLog(t, precision, bloom.Hash{Seed: 3})
		if s.Precision() != precision || s.Cardinality() != 0 || s.StdErr() != 0 || s.Hash() != (bloom.Hash{Seed: 3}) {
			t.Errorf("precision %d: precision %d, %v +- %v, %v", precision, s.Precision(), s.Cardinality(), s.StdErr(), s.Hash())
		}
	}
	for maps := 1; maps <= 65536; maps *= 2 {
		s := newFlajoletMartin(t, maps, bloom.Hash{Seed: 3})
		if want := 0.78 / math.Sqrt(float64(maps)); s.Maps() != maps || s.Cardinality() != 0 || math.Abs(s.StdErr()-want) > 1e-12 || s.Hash() != (bloom.Hash{Seed: 3}) {
			t.Errorf("%d maps: %d maps, %v +- %v, %v", maps, s.Maps(), s.Cardinality(), s.StdErr(), s.Hash())
		}
	}
	check := func(s any, isNil bool, err error, text string) {
		t.Helper()
		if !isNil || err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, %v; want an error with %q", s, err, text)
		}
	}
	noSecret := bloom.Hash{Algorithm: bloom.SipHash}
	for _, p := range []int{-1, 0, 3, 19, 64} {
		s, err := NewHyperLogLog(HyperLogLogConfig{Precision: p})
		check(s, s == nil, err, fmt.Sprintf("precision %d is not between 4 and 18", p))
	}
	for _, m := range []int{-2, 0, 3, 65537, 131072} {
		s, err := NewFlajoletMartin(FlajoletMartinConfig{Maps: m})
		check(s, s == nil, err, fmt.Sprintf("%d bitmaps are not a power of two from 1 to 65536", m))
	}
	h, err := NewHyperLogLog(HyperLogLogConfig{Precision: 14, Hash: noSecret})
	check(h, h == nil, err, "siphash needs a secret")
	f, err := NewFlajoletMartin(FlajoletMartinConfig{Maps: 64, Hash: noSecret})
	check(f, f == nil, err, "siphash needs a secret")
}

// sigmas is the distance at which a measured mean or square is called wrong: for
// all of the about 200 comparisons of these tests together a right sketch would be
// called wrong with a probability of 0.001.
const sigmas = 4.5

// checkErrors adds n fresh hashes to a sketch in many trials, and compares the
// relative errors with the documented standard error. Beyond chance the mean may
// be off by bias standard errors, and the root of the mean square larger by grow.
func checkErrors[S cardinality[S]](t *testing.T, s S, seed uint64, n, trials int, stdErr, grow, bias float64) {
	t.Helper()
	var sum, squares float64
	for trial := range trials {
		s.Clear()
		r := rand.NewPCG(seed, uint64(trial))
		for range n {
			s.AddHash(r.Uint64())
		}
		e := s.Cardinality()/float64(n) - 1
		sum += e
		squares += e * e
	}
	count := float64(trials)
	mean, rms := sum/count, math.Sqrt(squares/count)
	// The upper quantile of the chi-square distribution by Wilson and Hilferty.
	chi := math.Pow(1-2/(9*count)+sigmas*math.Sqrt(2/(9*count)), 1.5)
	meanLimit := stdErr * (bias + sigmas/math.Sqrt(count))
	rmsLimit := stdErr * (1 + grow) * chi
	t.Logf("%8d keys, %5d trials: mean error %+.4f (limit %.4f), root mean square %.4f (limit %.4f)", n, trials, mean, meanLimit, rms, rmsLimit)
	if math.Abs(mean) > meanLimit || rms > rmsLimit {
		t.Errorf("%d keys: mean error %+.4f (limit %.4f), root mean square %.4f (limit %.4f)", n, mean, meanLimit, rms, rmsLimit)
	}
}

// stdErrOf returns the standard error that a sketch of n keys claims.
func stdErrOf[S cardinality[S]](s S, n int) float64 {
	s.Clear()
	r := rand.NewPCG(1, 1)
	for range n {
		s.AddHash(r.Uint64())
	}
	return s.StdErr()
}

// trialsFor spends about the same time on each n.
func trialsFor(n int) int { return min(1000, max(3, 1000000/n)) }

func TestHyperLogLogErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	for _, c := range []struct {
		precision, most int
		constant        float64
	}{{4, 1e5, 1.106}, {7, 1e5, 1.046}, {10, 1e6, 1.04}, {14, 1e7, 1.04}, {18, 1e6, 1.04}} {
		t.Run(fmt.Sprint(c.precision), func(t *testing.T) {
			s := newHyperLogLog(t, c.precision, bloom.Hash{})
			registers := 1 << c.precision
			check := func(n int) {
				if n <= registers/8 {
					checkErrors(t, s, uint64(n), n, 3, 0, 0, 0)
					return
				}
				most := c.constant / math.Sqrt(float64(registers))
				stdErr := stdErrOf(s, n)
				checkErrors(t, s, uint64(n), n, trialsFor(n+registers/4), stdErr, 0.04, 0.2)
				if stdErr > most || stdErr < 0.6*most || n > 100*registers && stdErr < 0.99*most {
					t.Errorf("%d keys: standard error %v, and %v for many", n, stdErr, most)
				}
			}
			for n := 1; n <= c.most; n *= 10 {
				check(n)
			}
			// Where the hashes end and where the estimator's corrections are largest.
			for _, n := range []int{registers / 8, registers/8 + 1, registers, 5 * registers / 2, 5 * registers} {
				check(n)
			}
		})
	}
}

func TestFlajoletMartinErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	for _, c := range []struct {
		maps, most int
		// By how much the error exceeds 0.78/sqrt(maps); more than documented where
		// few bitmaps make its tails heavier than those of a normal distribution.
		grow float64
	}{{1, 1e4, 0.4}, {2, 1e4, 0.2}, {4, 1e4, 0.05}, {8, 1e5, 0.03}, {64, 1e6, 0.05}, {1024, 1e7, 0.05}, {16384, 1e6, 0.05}} {
		t.Run(fmt.Sprint(c.maps), func(t *testing.T) {
			s := newFlajoletMartin(t, c.maps, bloom.Hash{})
			check := func(n int) {
				bias := 0.05
				if n <= 20*c.maps {
					// Likelihood favours higher numbers when there are few bitmaps,
					// and so does the choice between the two estimates near its edge.
					bias = 0.1 + 1/math.Sqrt(float64(c.maps))
				}
				checkErrors(t, s, uint64(n), n, trialsFor(n+c.maps), stdErrOf(s, n), c.grow, bias)
			}
			for n := 1; n <= c.most; n *= 10 {
				check(n)
			}
			for _, load := range []int{1, 2, 4, 7, 8, 9, 12, 64} {
				check(load * c.maps)
			}
		})
	}
}

// TestCardinalityOfKeys adds keys as users have them, through each hash.
func TestCardinalityOfKeys(t *testing.T) {
	const n = 20000
	for _, hash := range []bloom.Hash{{}, {Seed: 99}, bloom.SecretHash([16]byte{1, 2, 3})} {
		for _, family := range filtertest.Families() {
			log := newHyperLogLog(t, 12, hash)
			fm := newFlajoletMartin(t, 1024, hash)
			var key []byte
			for i := range uint64(n) {
				key = family.At(key[:0], i)
				if log.Add(key); log.AddString(string(key)) {
					t.Fatalf("%s: HyperLogLog calls a key new that it was just given", family.Name)
				}
				if fm.Add(key); fm.AddString(string(key)) {
					t.Fatalf("%s: FlajoletMartin calls a key new that it was just given", family.Name)
				}
			}
			for name, s := range map[string]interface {
				Cardinality() float64
				StdErr() float64
			}{"HyperLogLog": log, "FlajoletMartin": fm} {
				if e := s.Cardinality()/n - 1; math.Abs(e) > sigmas*s.StdErr() {
					t.Errorf("%v, %s keys: %s is off by %.4f, standard error %.4f", hash, family.Name, name, e, s.StdErr())
				}
			}
		}
	}
}

// TestHyperLogLogIsTheLibrarys compares registers and estimate with those of a
// sketch that the library itself has filled.
func TestHyperLogLogIsTheLibrarys(t *testing.T) {
	for precision := 4; precision <= 18; precision++ {
		s := newHyperLogLog(t, precision, bloom.Hash{})
		lib, err := hyperloglog.NewSketch(uint8(precision), false)
		if err != nil {
			t.Fatal(err)
		}
		add := func(h uint64) {
			s.AddHash(h)
			lib.InsertHash(h)
		}
		// Long runs of zeros beside random hashes.
		for shift := range 65 {
			add(1 << shift)
			add(math.MaxUint64 >> shift)
		}
		for _, h := range filtertest.RandomHashes(uint64(precision), 1<<precision) {
			add(h)
		}
		want, err := lib.MarshalBinary()
		if err != nil || string(s.dense) != string(want) {
			t.Errorf("precision %d: registers differ from the library's (%v)", precision, err)
		}
		if got := s.Cardinality(); got != float64(lib.Estimate()) {
			t.Errorf("precision %d: %v, library %d", precision, got, lib.Estimate())
		}
	}
}

// Registers that are all 0, which only another writer makes, have a standard error too.
func TestHyperLogLogOfEmptyRegisters(t *testing.T) {
	s := &HyperLogLog{precision: 10, dense: newDense(10)}
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read HyperLogLog
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if n, e := read.Cardinality(), read.StdErr(); n != 0 || !(e > 0.032 && e < 0.033) {
		t.Errorf("%v keys with a standard error of %v, want 0 and 1.04/32", n, e)
	}
}

func TestHyperLogLogIsExactForFewKeys(t *testing.T) {
	for precision := 4; precision <= 18; precision++ {
		s := newHyperLogLog(t, precision, bloom.Hash{})
		hashes := filtertest.RandomHashes(5, 1<<precision/8+1)
		last := len(hashes) - 1
		for i, h := range hashes[:last] {
			if !s.AddHash(h) || s.AddHash(h) || s.AddHash(hashes[0]) {
				t.Fatalf("precision %d: AddHash does not tell new hashes from known ones", precision)
			}
			if s.Cardinality() != float64(i+1) || s.StdErr() != 0 {
				t.Fatalf("precision %d: %v +- %v for %d keys", precision, s.Cardinality(), s.StdErr(), i+1)
			}
		}
		if !s.AddHash(hashes[last]) || s.AddHash(hashes[last]) {
			t.Errorf("precision %d: the hash that fills the sketch is not called new once", precision)
		}
		if s.exact != nil || s.StdErr() == 0 {
			t.Errorf("precision %d: still exact after %d keys", precision, len(hashes))
		}
	}
}

// checkSets splits random sets of hashes among sketches, merges them and compares
// with one sketch that got all hashes in another order.
func checkSets[S cardinality[S]](t *rapid.T, empty func() S) {
	pool := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) uint64 {
		// Often few one bits, so that long runs of zeros occur.
		return rapid.Uint64().Draw(t, "a") & (rapid.Uint64().Draw(t, "b") | 0xff<<56)
	}), 1, 60).Draw(t, "hashes")
	parts := []S{empty(), empty(), empty()}
	whole := empty()
	known := map[uint64]bool{}
	for _, h := range pool {
		if whole.AddHash(h) && known[h] {
			t.Fatalf("AddHash calls %#x new, which was added before", h)
		}
		if whole.AddHash(h) {
			t.Fatalf("AddHash calls %#x new twice", h)
		}
		known[h] = true
	}
	for i := len(pool) - 1; i >= 0; i-- {
		parts[rapid.IntRange(0, 2).Draw(t, "part")].AddHash(pool[i])
	}
	merged := parts[0].Clone()
	before := parts[1].Clone()
	for _, p := range []S{parts[1], parts[2], empty(), merged, parts[1]} {
		if err := merged.Merge(p); err != nil {
			t.Fatal(err)
		}
	}
	if !merged.Equal(whole) || merged.Cardinality() != whole.Cardinality() || merged.StdErr() != whole.StdErr() {
		t.Fatalf("merged: %v +- %v, one sketch: %v +- %v", merged.Cardinality(), merged.StdErr(), whole.Cardinality(), whole.StdErr())
	}
	if !parts[1].Equal(before) {
		t.Fatal("Merge changes its argument")
	}
	if c := merged.Cardinality(); math.Round(c) < 1 || math.IsInf(c, 0) || math.IsNaN(c) {
		t.Fatalf("cardinality %v of %d hashes", c, len(known))
	}
	merged.Clear()
	if !merged.Equal(empty()) || merged.Cardinality() != 0 || merged.Equal(whole) {
		t.Fatal("Clear leaves something, or Equal says too much")
	}
	if !merged.AddHash(pool[0]) {
		t.Fatal("a hash is not new after Clear")
	}
}

func TestMergeIsOneSketch(t *testing.T) {
	t.Run("HyperLogLog", rapid.MakeCheck(func(t *rapid.T) {
		precision := rapid.IntRange(4, 9).Draw(t, "precision")
		checkSets(t, func() *HyperLogLog {
			s, err := NewHyperLogLog(HyperLogLogConfig{Precision: precision})
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	}))
	t.Run("FlajoletMartin", rapid.MakeCheck(func(t *rapid.T) {
		maps := 1 << rapid.IntRange(0, 7).Draw(t, "log maps")
		checkSets(t, func() *FlajoletMartin {
			s, err := NewFlajoletMartin(FlajoletMartinConfig{Maps: maps})
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	}))
}

func TestCardinalityRefusesUnlikeSketches(t *testing.T) {
	log, fm := newHyperLogLog(t, 10, bloom.Hash{}), newFlajoletMartin(t, 64, bloom.Hash{})
	checkUnlike(t, log, newHyperLogLog(t, 11, bloom.Hash{}), "their precision differs: 10 and 11")
	checkUnlike(t, log, newHyperLogLog(t, 10, bloom.Hash{Seed: 2}), "their key hash differs: xxh3, seed 0 and xxh3, seed 2")
	checkUnlike(t, fm, newFlajoletMartin(t, 128, bloom.Hash{}), "their number of bitmaps differs: 64 and 128")
	checkUnlike(t, fm, newFlajoletMartin(t, 64, bloom.Hash{Seed: 2}), "their key hash differs: xxh3, seed 0 and xxh3, seed 2")
}

func checkUnlike[S cardinality[S]](t *testing.T, a, b S, text string) {
	t.Helper()
	before := a.Clone()
	if a.Equal(b) {
		t.Errorf("equal although %s", text)
	}
	b.AddHash(1)
	if err := a.Merge(b); !errors.Is(err, ErrIncompatible) || !strings.HasSuffix(err.Error(), text) || !a.Equal(before) {
		t.Errorf("%v, want %q and no change", err, text)
	}
}

func TestClonesAreIndependent(t *testing.T) {
	exact, dense := newHyperLogLog(t, 10, bloom.Hash{}), newHyperLogLog(t, 4, bloom.Hash{})
	for _, h := range filtertest.RandomHashes(1, 3) {
		dense.AddHash(h)
	}
	checkClone(t, exact)
	checkClone(t, dense)
	checkClone(t, newFlajoletMartin(t, 64, bloom.Hash{}))
}

func checkClone[S cardinality[S]](t *testing.T, s S) {
	t.Helper()
	c := s.Clone()
	if !c.AddHash(0) || c.Equal(s) || !s.AddHash(0) || !c.Equal(s) {
		t.Errorf("%T shares memory with its clone", s)
	}
}

func TestNoAllocations(t *testing.T) {
	key, text := []byte("https://example.org/"), "https://example.org/"
	log := newHyperLogLog(t, 8, bloom.Hash{})
	for _, h := range filtertest.RandomHashes(1, 100) {
		log.AddHash(h)
	}
	fm := newFlajoletMartin(t, 64, bloom.Hash{})
	plain := newCountMin(t, CountMinConfig{Width: 100, Depth: 5})
	conservative := newCountMin(t, CountMinConfig{Width: 100, Depth: 32, Conservative: true, Hash: bloom.SecretHash([16]byte{1})})
	h := uint64(0)
	for name, call := range map[string]func(){
		"HyperLogLog":    func() { h += rowStep; log.Add(key); log.AddString(text); log.AddHash(h) },
		"FlajoletMartin": func() { h += rowStep; fm.Add(key); fm.AddString(text); fm.AddHash(h); fm.Cardinality() },
		"CountMin": func() {
			h += rowStep
			plain.Add(key, 1)
			plain.AddString(text, 1)
			plain.CountString(text)
			plain.AddHash(h, 1)
		},
		"conservative": func() {
			h += rowStep
			conservative.Add(key, 1)
			conservative.AddString(text, 1)
			conservative.Count(key)
		},
	} {
		if n := testing.AllocsPerRun(200, call); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
