package kernel

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"seen/internal/keyhash"
)

// model is the layout written down once more, from the package comment: a set of
// positions per hash, in a map of bits.
type model struct {
	layout Layout
	bits   map[uint64]bool
}

func (m *model) positions(h uint64) []uint64 {
	var at []uint64
	for j := range uint64(m.layout.Lines) {
		line, _ := bits.Mul64(h, m.layout.RegionLines)
		g := h * 0x9e3779b97f4a7c15
		choices := uint64(1)
		for i := range uint64(m.layout.Lanes) {
			choices = choices * (8 - i) / (i + 1)
		}
		skip := (g & 0xffff) * choices >> 16
		set := 0
		for ; ; set++ {
			if bits.OnesCount(uint(set)) == m.layout.Lanes {
				if skip == 0 {
					break
				}
				skip--
			}
		}
		for lane := range uint64(8) {
			if set>>lane&1 == 1 {
				bit := g >> (16 + 6*lane) & 63
				at = append(at, ((j*m.layout.RegionLines+line)*8+lane)*64+bit)
			}
		}
		x := h * 0xd1342543de82ef95
		h = x ^ x>>32
	}
	return at
}

func (m *model) add(h uint64) (isNew bool) {
	for _, at := range m.positions(h) {
		isNew = isNew || !m.bits[at]
		m.bits[at] = true
	}
	return isNew
}

func (m *model) has(h uint64) bool {
	for _, at := range m.positions(h) {
		if !m.bits[at] {
			return false
		}
	}
	return true
}

// tested is a way to do the four operations.
type tested struct {
	name     string
	add, has func(l Layout, words []uint64, h uint64) bool
	addBatch func(l Layout, words []uint64, added []bool, hs []uint64) int
	hasBatch func(l Layout, words []uint64, found []bool, hs []uint64) int
}

// implementations lists every way that this machine has; files for single
// processors add theirs.
var implementations = []tested{
	{"reference", Layout.addRef, Layout.hasRef, Layout.addBatchRef, Layout.hasBatchRef},
	{
		"dispatched",
		func(l Layout, words []uint64, h uint64) bool { return prepared(l, words).AddHash(h) },
		func(l Layout, words []uint64, h uint64) bool { return prepared(l, words).HasHash(h) },
		Layout.AddBatch, Layout.HasBatch,
	},
}

func prepared(l Layout, words []uint64) *Prepared {
	p := l.Prepare(words, keyhash.Hash{})
	return &p
}

func TestImplementationsEqualModel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes many combinations")
	}
	for _, impl := range implementations {
		t.Run(impl.name, func(t *testing.T) {
			for lines := 1; lines <= 3; lines++ {
				for lanes := 1; lanes <= 8; lanes++ {
					for _, regionLines := range []uint64{1, 2, 7, 64, 1000} {
						l := Layout{regionLines, lines, lanes}
						checkAgainstModel(t, l, impl.add, impl.has, impl.addBatch, impl.hasBatch)
					}
				}
			}
		})
	}
}

func checkAgainstModel(t *testing.T, l Layout,
	add, has func(l Layout, words []uint64, h uint64) bool,
	addBatch, hasBatch func(l Layout, words []uint64, answers []bool, hs []uint64) int,
) {
	t.Helper()
	r := rand.New(rand.NewPCG(l.RegionLines, uint64(l.Lines*10+l.Lanes)))
	m := model{l, map[uint64]bool{}}
	words := make([]uint64, l.Words())
	for range 20 {
		hs := make([]uint64, r.IntN(80))
		for i := range hs {
			switch {
			case i > 0 && r.IntN(3) == 0:
				hs[i] = hs[r.IntN(i)]
			case r.IntN(20) == 0:
				hs[i] = ^uint64(0) << r.IntN(65)
			default:
				hs[i] = r.Uint64()
			}
		}
		found := make([]bool, len(hs))
		count := hasBatch(l, words, found, hs)
		if hasBatch(l, words, nil, hs) != count {
			t.Fatalf("%+v: HasBatch counts differently without answers", l)
		}
		for i, h := range hs {
			if want := m.has(h); found[i] != want || has(l, words, h) != want {
				t.Fatalf("%+v: hash %x: batch says %v, single %v, model %v", l, h, found[i], has(l, words, h), want)
			}
			if found[i] {
				count--
			}
		}
		if count != 0 {
			t.Fatalf("%+v: HasBatch counts %d too many", l, count)
		}
		if r.IntN(2) == 0 {
			for _, h := range hs {
				if got, want := add(l, words, h), m.add(h); got != want {
					t.Fatalf("%+v: adding %x says new: %v, model %v", l, h, got, want)
				}
			}
			continue
		}
		added := make([]bool, len(hs))
		count = addBatch(l, words, added, hs)
		for i, h := range hs {
			want := m.add(h)
			if added[i] != want {
				t.Fatalf("%+v: adding %x in a batch says new: %v, model %v", l, h, added[i], want)
			}
			if want {
				count--
			}
		}
		if count != 0 {
			t.Fatalf("%+v: AddBatch counts %d too many", l, count)
		}
	}
	for i, w := range words {
		for b := range uint64(64) {
			if at := uint64(i)*64 + b; w>>b&1 != 0 != m.bits[at] {
				t.Fatalf("%+v: bit %d differs from the model", l, at)
			}
		}
	}
}

func TestLaneBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for lanes := 1; lanes <= 8; lanes++ {
		l := Layout{RegionLines: 1, Lines: 1, Lanes: lanes}
		for range 1000 {
			h := r.Uint64()
			words := make([]uint64, LineWords)
			l.addRef(words, h)
			if line := l.LaneBits(h); [LineWords]uint64(words) != line {
				t.Fatalf("LaneBits of %x are %x, the reference sets %x", h, line, words)
			}
		}
	}
}

func FuzzImplementations(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint8(0), uint16(3))
	f.Add(^uint64(0), uint64(0), uint8(23), uint16(0))
	f.Fuzz(func(t *testing.T, a, b uint64, shape uint8, size uint16) {
		l := Layout{RegionLines: uint64(size%512) + 1, Lines: int(shape%3) + 1, Lanes: int(shape/3%8) + 1}
		for _, impl := range implementations {
			m := model{l, map[uint64]bool{}}
			words := make([]uint64, l.Words())
			hs := []uint64{a, b, a ^ b, a + b, a}
			for _, h := range hs {
				if impl.has(l, words, h) != m.has(h) || impl.add(l, words, h) != m.add(h) || !impl.has(l, words, h) {
					t.Fatalf("%s differs from the model at %+v, hash %x", impl.name, l, h)
				}
			}
			// More than the prefetch runs ahead, with repetitions.
			for i := range 60 {
				hs = append(hs, hs[i]*hs[i/2]+a)
			}
			found, added := make([]bool, len(hs)), make([]bool, len(hs))
			impl.hasBatch(l, words, found, hs)
			for i, h := range hs {
				if found[i] != m.has(h) {
					t.Fatalf("%s differs from the model at %+v, hash %d of a batch from %x and %x", impl.name, l, i, a, b)
				}
			}
			impl.addBatch(l, words, added, hs)
			for i, h := range hs {
				if added[i] != m.add(h) {
					t.Fatalf("%s differs from the model at %+v, hash %d added from %x and %x", impl.name, l, i, a, b)
				}
			}
		}
	})
}

func TestNoAllocations(t *testing.T) {
	l := Layout{RegionLines: 10, Lines: 2, Lanes: 5}
	words, hs, answers := make([]uint64, l.Words()), make([]uint64, 100), make([]bool, 100)
	p := l.Prepare(words, keyhash.Hash{})
	key, text := make([]byte, 300), "text"
	keys := [][]byte{key[:10], key, key[:200]}
	n := testing.AllocsPerRun(10, func() {
		l.AddBatch(words, answers, hs)
		l.HasBatch(words, nil, hs)
		l.AddKeys(words, answers[:len(keys)], keys)
		l.HasKeys(words, nil, keys)
		p.AddHash(1)
		p.HasHash(1)
		for _, n := range []int{0, 16, 60, 300} {
			p.AddKey(key[:n])
			p.HasKey(key[:n])
		}
		p.AddString(text)
		p.HasString(text)
	})
	if n != 0 {
		t.Errorf("the calls allocate %v times", n)
	}
}

func (l Layout) addBatchRef(words []uint64, added []bool, hs []uint64) int {
	return l.batchRef(true, words, added, hs)
}

func (l Layout) hasBatchRef(words []uint64, found []bool, hs []uint64) int {
	return l.batchRef(false, words, found, hs)
}
