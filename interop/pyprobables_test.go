package interop

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"seen/bloom"
)

func init() {
	const n, p = 300, 0.03
	goldenCases = append(goldenCases, []goldenCase{
		{dir: "pyprobables-bloom", build: "pyprobables:type=bloom,hash=fnv", capacity: n, errorRate: p},
		{dir: "pyprobables-bloom", file: "filter.hex", build: "pyprobables:form=hex", capacity: n, errorRate: p},
		{dir: "pyprobables-bloom-bytes", spec: "pyprobables:keys=bytes", build: "pyprobables:keys=bytes", capacity: 214, errorRate: 0.05},
		{dir: "pyprobables-bloom-md5", spec: "pyprobables:hash=md5", build: "pyprobables:hash=md5", capacity: n, errorRate: p},
		{dir: "pyprobables-bloom-sha256", spec: "pyprobables:type=bloom,hash=sha256", build: "pyprobables:hash=sha256", capacity: n, errorRate: p},
		{dir: "pyprobables-cms", build: "pyprobables:type=countmin,width=500,depth=4", capacity: 1, errorRate: 0.01, often: true},
		{dir: "pyprobables-counting", build: "pyprobables:type=counting", capacity: n, errorRate: 0.05, often: true},
		{dir: "pyprobables-counting", file: "filter.hex", build: "pyprobables:type=counting,form=hex", capacity: n, errorRate: 0.05, often: true},
		{dir: "pyprobables-expanding", build: "pyprobables:type=expanding", capacity: 100, errorRate: 0.05},
	}...)
}

// pyProbes calculates the positions of a key by another way than the filters do: in
// whole numbers that do not wrap, from the definition.
func pyProbes(key, hash string, isBytes bool, m uint64, k int) (positions []uint64) {
	width := new(big.Int).Lsh(big.NewInt(1), 64)
	for i := range k {
		h := new(big.Int)
		switch hash {
		case "fnv":
			var symbols []int64
			if isBytes {
				for i := range len(key) {
					symbols = append(symbols, int64(key[i]))
				}
			} else {
				for _, r := range key {
					symbols = append(symbols, int64(r))
				}
			}
			h.SetString("14695981039346656037", 10)
			h.Add(h, big.NewInt(31*int64(i)))
			for _, s := range symbols {
				h.Xor(h, big.NewInt(s))
				h.Mul(h, big.NewInt(1099511628211))
				h.Mod(h, width)
			}
		default:
			text := []byte(key)
			for range i + 1 {
				if hash == "md5" {
					sum := md5.Sum(text)
					text = sum[:]
				} else {
					sum := sha256.Sum256(text)
					text = sum[:]
				}
			}
			text = slices.Clone(text[:8])
			slices.Reverse(text)
			h.SetBytes(text)
		}
		positions = append(positions, h.Mod(h, new(big.Int).SetUint64(m)).Uint64())
	}
	return positions
}

func TestPyBloomProbes(t *testing.T) {
	for _, c := range []struct{ dir, hash string }{
		{"pyprobables-bloom", "fnv"}, {"pyprobables-bloom-bytes", "fnv"}, {"pyprobables-bloom-md5", "md5"}, {"pyprobables-bloom-sha256", "sha256"},
	} {
		isBytes := c.dir == "pyprobables-bloom-bytes"
		g := readGolden(t, goldenCase{dir: c.dir})
		hashes := map[string]pyHash{"fnv": pyFNV, "md5": pyMD5, "sha256": pySHA256}
		f, err := openPyBloom(g.filter, pyOptions{Hash: hashes[c.hash], Bytes: isBytes})
		if err != nil {
			t.Fatal(err)
		}
		m, k := f.scheme.size()
		for i, key := range g.asked {
			want := true
			for _, at := range pyProbes(string(key), c.hash, isBytes, m, int(k)) {
				want = want && g.filter[at/8]>>(at%8)&1 != 0
			}
			if got := f.Has(key); got != want || want != (g.answers[i] == "true") {
				t.Fatalf("%s: key %q: Has says %v, the definition %v, the original %s", c.dir, key, got, want, g.answers[i])
			}
		}
	}
}

// TestPyHex reads what export_hex has written, and writes it.
func TestPyHex(t *testing.T) {
	for _, c := range []string{"pyprobables-bloom", "pyprobables-bloom-bytes", "pyprobables-counting"} {
		text := readGolden(t, goldenCase{dir: c, file: "filter.hex"})
		binary := readGolden(t, goldenCase{dir: c})
		spec := Spec{Name: "pyprobables"}
		for _, content := range [][]byte{text.filter, []byte(strings.ToUpper(string(text.filter)) + "\n"), binary.filter} {
			f, err := Open(content, spec)
			if err != nil {
				t.Fatal(c, err)
			}
			for form, want := range map[string][]byte{"": binary.filter, "binary": binary.filter, "hex": text.filter} {
				to := spec
				if form != "" {
					to = spec.with("form", form)
				}
				var b bytes.Buffer
				w, err := Rewrap(f, to)
				if err != nil {
					t.Fatal(c, err)
				}
				if n, err := w.WriteTo(&b); err != nil || n != int64(b.Len()) || !bytes.Equal(b.Bytes(), want) {
					t.Errorf("%s: %d bytes in form %q differ from the original's, %v", c, n, form, err)
				}
			}
		}
	}
	f, err := Create(Spec{Name: "pyprobables"}.with("type", "counting"), 10, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Rewrap(f, Spec{Name: "pyprobables"}.with("type", "bloom")); !errors.Is(err, ErrNotConvertible) {
		t.Errorf("counters became bits: %v", err)
	}
}

// TestPyText tells text from bytes.
func TestPyText(t *testing.T) {
	text, err := newPyBloom(pyConfig{Capacity: 100, ErrorRate: 0.001})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := newPyBloom(pyConfig{Capacity: 100, ErrorRate: 0.001, pyOptions: pyOptions{Bytes: true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"ascii", "größer"} {
		for _, f := range []*pyBloom{text, raw} {
			if isNew, err := f.Add([]byte(key)); !isNew || err != nil {
				t.Fatal(isNew, err)
			}
		}
	}
	if _, err := text.Add([]byte("\xff")); err == nil || text.Has([]byte("\xff")) {
		t.Errorf("a key that is not text was added, %v", err)
	}
	if _, err := raw.Add([]byte("\xff")); err != nil || !raw.Has([]byte("\xff")) {
		t.Error("bytes were not added", err)
	}
	asText := *raw
	asText.scheme = text.scheme
	if !asText.Has([]byte("ascii")) || asText.Has([]byte("größer")) {
		t.Error("code points above 127 and their bytes do not differ")
	}
	if err := text.Union(raw); !errors.Is(err, bloom.ErrIncompatible) || !strings.Contains(err.Error(), "different keys: str and bytes") {
		t.Error(err)
	}
	if text.KeyKind() != KeyText || raw.KeyKind() != KeyBytes {
		t.Error("kinds of keys", text.KeyKind(), raw.KeyKind())
	}
}

func TestPyUnion(t *testing.T) {
	c := pyConfig{Capacity: 5, ErrorRate: 0.01} // 6 bytes, which are not a whole word
	var filters [3]*pyBloom                     // the last with the keys of both others
	for i := range filters {
		var err error
		if filters[i], err = newPyBloom(c); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 12 {
		key := binary.LittleEndian.AppendUint32(nil, uint32(i))
		for _, f := range []*pyBloom{filters[i%2], filters[2]} {
			if _, err := f.Add(key); err != nil {
				t.Fatal(err)
			}
		}
	}
	one, both := written(t, filters[0]), written(t, filters[2])
	parsed, err := openPyBloom(one, c.pyOptions)
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.Union(filters[1]); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a filter that was parsed was changed: %v", err)
	}
	if _, err := parsed.Add([]byte("x")); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a filter that was parsed was changed: %v", err)
	}
	clone, err := cloned(parsed)
	if err != nil {
		t.Fatal(err)
	}
	if err := clone.Union(filters[1]); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written(t, clone), both) {
		t.Error("the union is not the filter of all keys")
	}
	if !bytes.Equal(written(t, parsed), one) {
		t.Error("the change of a clone changed the original")
	}
	other, err := newPyCounting(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := clone.Union(other); !errors.Is(err, bloom.ErrIncompatible) {
		t.Error(err)
	}
}

// TestPyCounters fills counters up.
func TestPyCounters(t *testing.T) {
	f, err := newPyCounting(pyConfig{Capacity: 3, ErrorRate: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newPyCountMin(7, 3)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(f.bits.b, math.MaxUint32-1)
	for at := 0; at < len(s.bits.b); at += 4 {
		binary.LittleEndian.PutUint32(s.bits.b[at:], math.MaxInt32-1)
	}
	for range 3 {
		for i := range byte(100) {
			for _, a := range []Adder{f, s} {
				if _, err := a.Add([]byte{i}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if n := f.Stats().Stuck; n != 1 {
		t.Errorf("%d counters are full", n)
	}
	if st := s.Stats(); st.Stuck != 21 || st.Added != 300 || s.Count([]byte{5}) != math.MaxInt32 {
		t.Errorf("%+v, and a count of %d", st, s.Count([]byte{5}))
	}
	binary.LittleEndian.PutUint32(s.bits.b, uint32(1<<32-5)) // -5: something was removed too often
	s.bits.b = s.bits.b[:4]
	s.scheme.m, s.scheme.k = 1, 1
	if s.Has([]byte("x")) || s.Count([]byte("x")) != 0 {
		t.Error("a counter below zero counts")
	}
	if isNew, err := s.Add([]byte("x")); !isNew || err != nil || int32(binary.LittleEndian.Uint32(s.bits.b)) != -4 {
		t.Error(isNew, err, s.bits.b)
	}
}

// TestPySketchSize has the sizes that pyprobables derives, from its documentation: a
// confidence of 0.99 and an error rate of 0.01 make 200 by 7.
func TestPySketchSize(t *testing.T) {
	width, depth, err := pyCountMinFor(0.99, 0.01)
	if err != nil || width != 200 || depth != 7 {
		t.Errorf("%d by %d, %v", width, depth, err)
	}
	for _, bad := range [][2]float64{{0, 0.1}, {1, 0.1}, {0.5, 0}, {0.5, -1}, {math.NaN(), 0.1}, {0.5, 1e-12}, {0.5, math.NaN()}} {
		if width, depth, err := pyCountMinFor(bad[0], bad[1]); err == nil {
			t.Errorf("%v makes %d by %d", bad, width, depth)
		}
	}
}

func TestPyHostile(t *testing.T) {
	foot := func(body int, capacity, added uint64, rate float32) []byte {
		return pyFooter{capacity, added, rate}.append(make([]byte, body), false)
	}
	chain := func(body int, count uint64) []byte {
		return pyFooter{100, 0, 0.05}.append(binary.LittleEndian.AppendUint64(make([]byte, body), count), false)
	}
	sketch := func(body int, width, depth uint32) []byte {
		b := binary.LittleEndian.AppendUint32(make([]byte, body), width)
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(b, depth), 0)
	}
	size := int(bytesOf(624)) // of 100 keys at 0.05
	if _, err := openPyBloom(foot(size, 100, 0, 0.05), pyOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := openPyExpanding(chain(2*(8+size), 2), pyOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "a short footer": make([]byte, 19), "no bits": foot(0, 100, 0, 0.05), "a byte too few": foot(size-1, 100, 0, 0.05),
		"a byte too many": foot(size+1, 100, 0, 0.05), "capacity 0": foot(0, 0, 0, 0.05), "rate 0": foot(size, 100, 0, 0), "rate 1": foot(0, 100, 0, 1),
		"rate above 1": foot(size, 100, 0, 2), "a negative rate": foot(size, 100, 0, -0.1), "rate NaN": foot(size, 100, 0, float32(math.NaN())),
		"no probe": foot(9, 100, 0, 0.9), "more than memory": foot(size, math.MaxUint64, 0, 0.05), "no filter": chain(0, 0),
		"a filter too many": chain(8+size, 2), "filters beyond 64 bits": chain(0, 1<<61), "odd filters": chain(8+size+1, 1),
		"width 0": sketch(0, 0, 5), "depth 0": sketch(0, 5, 0), "a large sketch": sketch(4, 1<<31, 999), "too many rows": sketch(4*2000, 1, 2000),
	} {
		for class, parse := range map[string]func() (Foreign, error){
			"bloom":     func() (Foreign, error) { return foreign(openPyBloom(b, pyOptions{})) },
			"counting":  func() (Foreign, error) { return foreign(openPyCounting(b, pyOptions{})) },
			"expanding": func() (Foreign, error) { return foreign(openPyExpanding(b, pyOptions{})) },
			"countmin":  func() (Foreign, error) { return foreign(openPyCountMin(b, pyOptions{})) },
		} {
			if f, err := parse(); !errors.Is(err, ErrBadData) || f != nil {
				t.Errorf("%s as %s: %v, %v", name, class, f, err)
			}
		}
	}
	if _, err := openPyBloom(foot(size, 100, 0, 0.05), pyOptions{Hash: "sha9"}); err == nil {
		t.Error("hash sha9 exists")
	}
	for _, c := range []pyConfig{{}, {Capacity: 1}, {Capacity: 1, ErrorRate: 1}, {Capacity: 1 << 62, ErrorRate: 0.1}, {Capacity: 5, ErrorRate: 0.9}, {Capacity: 5, ErrorRate: 1e-50}} {
		if f, err := newPyBloom(c); err == nil {
			t.Errorf("%+v makes %+v", c, f)
		}
	}
}

func FuzzPyprobables(f *testing.F) {
	for _, c := range []string{"pyprobables-bloom", "pyprobables-counting"} {
		f.Add(readGolden(f, goldenCase{dir: c}).filter)
		f.Add(readGolden(f, goldenCase{dir: c, file: "filter.hex"}).filter)
	}
	f.Add(readGolden(f, goldenCase{dir: "pyprobables-cms"}).filter)
	f.Add(readGolden(f, goldenCase{dir: "pyprobables-expanding"}).filter)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, spec := range []string{"pyprobables", "pyprobables:type=bloom,hash=md5", "pyprobables:type=counting,hash=sha256", "pyprobables:type=expanding,keys=bytes", "pyprobables:type=countmin"} {
			s, err := ParseSpec(spec)
			if err != nil {
				t.Fatal(err)
			}
			exerciseForeign(t, b, s)
		}
	})
}

// exerciseForeign opens b, which may be anything, and does with the filter, if it is
// one, what must not fail.
func exerciseForeign(t *testing.T, b []byte, s Spec, more ...string) {
	before := bytes.Clone(b)
	f, err := Open(b, s)
	if (err == nil) != (f != nil) {
		t.Fatalf("%v: a value and an error, or neither: %v", s, err)
	}
	if err != nil {
		return
	}
	again, err := Open(written(t, f), s)
	if err != nil {
		t.Fatalf("%v: what it writes cannot be opened: %v", s, err)
	}
	owner := findFormatOf(t, f)
	copied, err := Clone(f)
	changes := err == nil
	if _, isTable := f.(*levelDBTable); !changes && owner.clone != nil && !isTable {
		t.Fatal(err)
	}
	for _, key := range append([]string{"", "a", "größer", "\xff", "12345678", "a key of some length"}, more...) {
		has := f.Has([]byte(key))
		if again.Has([]byte(key)) != has || changes && copied.Has([]byte(key)) != has {
			t.Fatalf("%v: key %q: %v, and otherwise when it was written and read again, or copied", s, key, has)
		}
		if !changes {
			continue
		}
		isNew, err := copied.(Adder).Add([]byte(key))
		// The counters of a sketch may be below 0, where more was taken out than went in.
		_, isSketch := f.(*pyCountMin)
		if err == nil && (isNew && has || !isSketch && !copied.Has([]byte(key))) {
			t.Fatalf("%v: key %q is new, and was there, or is not there after it", s, key)
		}
		copied, _ = Clone(f)
	}
	f.Stats()
	if d := f.Describe(); d.System == "" || d.Format == "" {
		t.Fatalf("%+v", d)
	}
	if !bytes.Equal(b, before) {
		t.Fatal("the bytes were changed")
	}
}
